return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  strategies = {
    megatron {
      tensor_parallel = function(r) return r.gpus + nil end,
      micro_batch = function(r) return r.tensor_paralel end,
      accumulate = function(r) error("no batch for " .. r.gpus .. " GPUs") end,
    },
  },
}
