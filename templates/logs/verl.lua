-- verl: "step:7 - actor/entropy:0.3 - timing_s/step:45.2 - perf/throughput:812.5", with keys in any order.
-- The throughput is that of one GPU.

local GB = 2 ^ 30
local function value(key, target)
  return [[(?=(?:.*? - ]] .. key .. [[:(?:np\.float64\()?(?<]] .. target .. [[>[-+\d.e]+))?)]]
end

return {
  framework = "verl",
  lines = {
    { name = "program", has = "verl.trainer.", weight = 2 },
    { name = "step", has = "timing_s/step:", kind = "step", weight = 8, scale = { max_reserved = GB },
      match = [[(?:^|\s)step:(?<step>\d+) -]] .. value("timing_s/step", "step_seconds") .. value("train/loss", "loss")
        .. value("perf/throughput", "tokens_per_second_per_gpu")
        .. value("perf/max_memory_reserved_gb", "max_reserved") },
    { name = "loss", has = " - train/loss:", kind = "step", weight = 7, without = { "timing_s/step:" },
      match = [[(?:^|\s)step:(?<step>\d+) -]] .. value("train/loss", "loss") },
    { name = "steps", has = "Total training steps: ", weight = 1,
      match = [[Total training steps: (?<steps_planned>\d+)]] },
  },
}
