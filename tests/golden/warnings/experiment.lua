-- The same as "strict", but with warnings only: the runs stay, with their warnings counted.
return experiment {
  name = "warnings",
  model = "gpt-199b",
  hardware = { cluster = "jean-zay", partition = "a100-80g", nodes = 48 },
  batch = { global_batch = 2048 },
  strategies = { megatron { tensor_parallel = 8, pipeline_parallel = { 4, 12 }, micro_batch = 4, zero_stage = 1, engine = "deepspeed" } },
}
