-- Which layout trains a 200B-parameter model fastest on 384 A100, and does anything else come near?
return experiment {
  name = "200b",
  doc = "a 200B GPT on 48 nodes of 8 A100-80GB, 300B tokens",
  model = "gpt-199b",
  hardware = { cluster = "jean-zay", partition = "a100-80g", nodes = 48 },
  batch = { global_batch = 2048, rampup = { start = 192, step = 64, samples = 9765625 } },
  tokens = 300e9,
  budget = { gpu_hours = 3e6, deadline_days = 200, reserve_nodes = 4 },
  strategies = {
    megatron {
      tensor_parallel = { 4, 8 },
      pipeline_parallel = { 6, 8, 10, 12, 16, 24 },
      micro_batch = { 1, 2, 4 },
      zero_stage = 1,
    },
    deepspeed { stage = 3, micro_batch = { 1, 2 } },
    fsdp { micro_batch = { 1, 2 } },
  },
  constraints = {
    ["the pipe is full"] = function(r) return r.accumulate >= r.pipeline_parallel end,
  },
}
