-- An unknown stack would be estimated as another one.
return experiment {
  name = "bad_stack",
  model = "gpt-1.3b",
  hardware = { cluster = "jean-zay", partition = "a100-80g", nodes = 1 },
  batch = { global_batch = 64 },
  strategies = { fsdp { stack = "hf-deepsped-2022" }, megatron {}, ddp { stack = "deepspeed-2022" } },
}
