-- Every mistake in a container, at once.
return experiment {
  name = "bad_container",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 1, container = { runtime = "docker", image = "-x", mounts = { "data" }, workdir = "here" } },
  batch = { global_batch = 64 },
  tokens = 300e9,
  strategies = {
    ddp { container = { image = "torch", runtime = "charliecloud", mounts = { "/a:/b:ro", "/$HOME" } } },
    ddp { micro_batch = 2, container = { imag = "/x", runtime = "podman", gpu = 1 } },
    ddp { micro_batch = 4, container = "torch" },
  },
}
