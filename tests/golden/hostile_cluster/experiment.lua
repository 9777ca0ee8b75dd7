return experiment { model = "gpt-1.3b", hardware = { cluster = { "../gpus", "a\0b\n", "$(id)", "" }, gpus = 8 }, strategies = { ddp {} } }
