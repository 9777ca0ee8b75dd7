-- Every reason of every run is kept: ranks and GPUs that differ, a batch and heads that are not
-- divisible, too many nodes, a format that the GPU does not support.
return experiment {
  name = "rejected_reasons",
  model = gpt { layers = 24, hidden = 2050, heads = 20, vocab = 50257, seq = 2048 },
  hardware = { cluster = "jean-zay", partition = "v100-32g", gpus = { 8, 4000, 30 } },
  batch = { global_batch = 100 },
  strategies = { megatron { tensor_parallel = { 3, 8 }, pipeline_parallel = 1 } },
}
