return {
  render = function()
    return { argv = { {} }, stop = { signal = "KILL" }, files = { ["../x"] = "" }, arg = 1,
             environment = { SLURM_JOB_ID = "1" } }
  end,
}
