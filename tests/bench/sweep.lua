-- 10,000 runs that all pass: 5 x 5 x 4 x 4 x 25 combinations, one function and one constraint each.
local sizes = {}
for i = 1, 25 do sizes[i] = 64 * i end

return experiment {
  name = "bench",
  model = gpt { layers = 96, hidden = 12288, heads = 96, vocab = 51200, seq = 2048 },
  hardware = { cluster = "dgx-a100", gpus = 512 },
  batch = {
    micro_batch = { 1, 2, 4, 8 },
    accumulate = function(r) return r.pipeline_parallel * 4 end,
  },
  tokens = { 100e9, 200e9, 300e9, 400e9, 500e9 },
  strategies = {
    megatron {
      tensor_parallel = { 1, 2, 4, 8 },
      pipeline_parallel = { 1, 2, 4, 8, 16 },
      vocab_multiple = sizes,
    },
  },
  constraints = { ["pipe full"] = function(r) return r.accumulate >= r.pipeline_parallel end },
}
