-- Megatron-LM with scaled rotary embeddings, samples cut over ranks, interleaved stages and 8 bits.
return experiment {
  name = "framework_megatron_llama",
  model = "llama-3.1-70b",
  hardware = { cluster = "dgx-h100", nodes = 16 },
  batch = { global_batch = 128, micro_batch = 1 },
  tokens = 300e9,
  steps = 50,
  training = { data = "/data/text_document" },
  strategies = {
    megatron { tensor_parallel = 4, pipeline_parallel = 4, context_parallel = 2, interleave = 5, sequence_parallel = true,
               zero_stage = 1, dtype = "fp8", recompute = "none", cross_entropy = "fused", overlap_grad_reduce = true,
               overlap_param_gather = true, fp32_accumulate = true, framework = "megatron-lm@0.13" },
  },
}
