-- zip{} can be used in any section; here the number of GPUs grows with the partition.
return experiment {
  name = "zip_batch",
  model = "gpt-1.3b",
  hardware = { cluster = "jean-zay", zip { partition = { "v100-32g", "a100-80g" }, gpus = { 8, 16 } } },
  batch = { zip { global_batch = { 64, 128 }, micro_batch = { 1, 2 } } },
  strategies = { ddp { dtype = "fp16" } },
}
