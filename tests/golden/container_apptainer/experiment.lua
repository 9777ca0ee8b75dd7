-- Our own trainer, which is part of the image, in a container of its strategy.
return experiment {
  name = "container_apptainer",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  trainer = "/opt/orch/bin/orch-train-megatron",
  strategies = {
    megatron { micro_batch = 2, container = { image = "/images/torch 2.sif", runtime = "apptainer", mounts = { "/data" }, workdir = "/work" } },
  },
}
