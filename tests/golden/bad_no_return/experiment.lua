local e = experiment { model = "gpt-1.3b", hardware = { cluster = "local", gpus = 1 }, strategies = { ddp {} } }
