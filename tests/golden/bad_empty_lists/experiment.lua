return experiment {
  name = "",
  model = {},
  hardware = { cluster = {}, gpus = {} },
  batch = { micro_batch = {} },
  strategies = {},
}
