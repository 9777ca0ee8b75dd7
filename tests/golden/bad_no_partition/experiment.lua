return experiment { model = "gpt-1.3b", hardware = { cluster = "jean-zay", gpus = 8 }, strategies = { ddp {} } }
