-- GPT-2 of 18B to 109B on Jean Zay's V100: Megatron with tensor parallel inside the node and the
-- pipeline across, against ZeRO-3 with and without full offload.
return experiment {
  name = "gpt2_v100",
  doc = "GPT-2 sizes on V100-32GB: Megatron 3D against ZeRO-3",
  model = { "gpt-18b", "gpt-36b", "gpt-48b", "gpt-61b", "gpt-109b" },
  hardware = { cluster = "jean-zay", partition = "v100-32g", gpus = 64 },
  batch = { global_batch = 1024 },
  tokens = 300e9,
  strategies = {
    megatron {
      dtype = "fp16",
      engine = "megatron",
      tensor_parallel = 4,
      pipeline_parallel = { 4, 8, 16 },
      micro_batch = { 1, 4, 8 },
    },
    zero3 {
      dtype = "fp16",
      engine = "framework",
      recompute = "full",
      micro_batch = { 4, 8, 16 },
      offload = { "none", "full" },
    },
  },
}
