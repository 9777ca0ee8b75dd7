return experiment { model = "gpt-1.3b", hardware = { cluster = "jeanzay", gpus = 8 }, strategies = { ddp {} } }
