return {
  render = function()
    while true do end
  end,
}
