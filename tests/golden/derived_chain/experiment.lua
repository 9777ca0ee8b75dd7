-- accumulate follows from pipeline_parallel, which follows from tensor_parallel.
return experiment {
  name = "derived_chain",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 64 },
  strategies = {
    megatron {
      tensor_parallel = { 2, 4, 8 },
      pipeline_parallel = function(r) return r.gpus // (4 * r.tensor_parallel) end,
      accumulate = function(r) return 8 * r.pipeline_parallel end,
    },
  },
}
