local t = {}
t[1] = t
t.model = t
return experiment { name = "cycle", model = t, hardware = { cluster = "dgx-a100", gpus = t }, strategies = { ddp { micro_batch = t } } }
