return experiment { model = "gpt-1.3b", hardware = { cluster = "dgx-a100" }, strategies = { ddp {} } }
