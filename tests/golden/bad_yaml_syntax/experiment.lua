return experiment { model = "gpt-1.3b", hardware = { cluster = "mine", gpus = 8 }, strategies = { ddp {} } }
