-- Which layout trains a 200B-parameter model fastest on 384 A100, and does anything else come near?
return experiment {
  name = "200b",
  doc = "a 200B GPT on 48 nodes of 8 A100-80GB, 300B tokens",
  model = "gpt-199b",
  hardware = { cluster = "jean-zay", partition = "a100-80g", nodes = 48 },
  -- 1536 divides by the 384 data-parallel ranks of ZeRO as well as by Megatron's 3 to 16. Small batches may begin on
  -- fewer nodes, or no micro-batch of FSDP could be larger than 1.
  batch = { global_batch = 1536, rampup = { start = 384, step = 384, samples = 9765625, fewer_nodes = true } },
  tokens = 300e9,
  budget = { gpu_hours = 3e6, deadline_days = 200, reserve_nodes = 4 },
  -- flash_attention = false: as in 2022, the time of the software that they are priced as.
  strategies = {
    megatron {
      tensor_parallel = { 4, 8 },
      pipeline_parallel = { 6, 8, 10, 12, 16, 24 },
      micro_batch = { 1, 2, 4 },
      engine = "deepspeed",
      recompute = { "full", "selective" },
      sequence_parallel = true,
      zero_stage = 1,
      fp32_accumulate = true,
      flash_attention = false,
    },
    deepspeed { stage = 3, engine = "framework", recompute = "full", flash_attention = false,
                tensor_parallel = { 1, 8 }, micro_batch = { 1, 4, 16, 32 } },
    fsdp { engine = "framework", recompute = "full", flash_attention = false,
           tensor_parallel = { 1, 8 }, micro_batch = { 1, 4, 16, 32 } },
  },
  constraints = {
    ["the pipe is full"] = function(r) return r.accumulate >= r.pipeline_parallel end,
  },
}
