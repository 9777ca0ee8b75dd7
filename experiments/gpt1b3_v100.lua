-- A 1.3B on two V100 nodes, 32 GB and 16 GB: with and without recomputation, and a batch ramp-up.
return experiment {
  name = "gpt1b3_v100",
  doc = "gpt-1.3b on 2 nodes of 4 V100, 32 GB against 16 GB",
  model = "gpt-1.3b",
  hardware = { cluster = "jean-zay", partition = { "v100-32g", "v100-16g" }, nodes = 2 },
  batch = { global_batch = 512, rampup = { start = 32, step = 32, samples = 2000000 } },
  tokens = 300e9,
  strategies = {
    megatron {
      dtype = "fp16",
      tensor_parallel = { 1, 2, 4 },
      pipeline_parallel = { 1, 2, 4 },
      micro_batch = { 1, 2, 4 },
      recompute = { "full", "none" },
      engine = "deepspeed",
      zero_stage = 1,
      fp32_accumulate = true,
    },
  },
}
