-- A framework in a container that SLURM's srun starts (Pyxis), with one launcher per node.
return experiment {
  name = "container_pyxis",
  model = "gpt-1.3b",
  hardware = {
    cluster = "dgx-a100", nodes = 2,
    container = { image = "nvcr.io#nvidia/nemo:25.04", runtime = "pyxis", mounts = { "/data:/data:ro", "/scratch/it's mine:/work" } },
  },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  training = { data = "/data/text_document" },
  strategies = { megatron { tensor_parallel = 2, flash_attention = true, fp32_accumulate = true, micro_batch = 2,
                            framework = "megatron-lm@0.12", launch = "node", environment = { MEGATRON_LM = "/opt/Megatron-LM" } } },
}
