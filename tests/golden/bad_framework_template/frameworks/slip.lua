return {
  render = function()
    return { argv = { model.layer } }
  end,
}
