-- nanoGPT and derived programs: "iter 10: loss 9.9000, time 250.10ms, mfu 41.20%".

return {
  framework = "nanogpt",
  lines = {
    { name = "iteration", has = ", time ", kind = "step", weight = 8, scale = { step_seconds = 1e-3 },
      match = [[^iter (?<step>\d+): loss (?<loss>[-+\w.]+), time (?<step_seconds>[\d.]+)ms]] },
    { name = "batch", has = "tokens per iteration will be: ", begins_run = true, weight = 3,
      match = [[tokens per iteration will be: (?<batch_tokens>[\d,]+)]] },
    { name = "size", has = "number of parameters: ", weight = 2,
      match = [[^number of parameters: (?<params>[\d.]+[KMB])\s*$]] },
  },
}
