return experiment { model = "bloom7b", hardware = { cluster = "dgx-a100", gpus = 8 }, strategies = { ddp {} } }
