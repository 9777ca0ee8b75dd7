return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  strategies = {
    megatron {
      tensor_parallel = function(r) return r.pipeline_parallel end,
      pipeline_parallel = function(r) return r.accumulate end,
      accumulate = function(r) return r.tensor_parallel end,
    },
  },
}
