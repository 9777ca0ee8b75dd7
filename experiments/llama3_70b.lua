-- Llama 3 70B on 64 nodes of 8 H100: three ways to lay it out, 15T tokens.
return experiment {
  name = "llama3_70b",
  model = "llama-3-70b",
  hardware = { cluster = "dgx-h100", nodes = 64 },
  batch = { global_batch = 2048, micro_batch = 1 },
  tokens = 15e12,
  strategies = {
    megatron { tensor_parallel = { 4, 8 }, pipeline_parallel = { 2, 4, 8 }, sequence_parallel = true,
               zero_stage = 1, recompute = "selective", fp32_accumulate = true },
    fsdp { recompute = "full" },
    deepspeed { stage = 3, recompute = "full" },
  },
}
