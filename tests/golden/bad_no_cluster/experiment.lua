return experiment { model = "gpt-1.3b", hardware = { gpus = 8 }, strategies = { ddp {}, fsdp {} } }
