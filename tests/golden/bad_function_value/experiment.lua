return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  batch = { micro_batch = function(r) return -1 end, accumulate = function(r) return {} end },
  strategies = { megatron { tensor_parallel = function(r) return 1.5 end, pipeline_parallel = function() end, recompute = function() return "ful" end } },
}
