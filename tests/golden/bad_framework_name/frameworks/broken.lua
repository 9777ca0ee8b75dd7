return {
  render = function()
    return {
  end,
}
