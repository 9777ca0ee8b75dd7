-- A table without experiment{} is read as one.
return { model = "gpt-1.3b", hardware = { cluster = "dgx-a100", gpus = 8 }, strategies = { ddp {} } }
