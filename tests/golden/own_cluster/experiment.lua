-- A cluster file beside the experiment has priority over the shipped ones.
return experiment {
  name = "own_cluster",
  model = "gpt-1.3b",
  hardware = {
    cluster = "my-cluster",
    nodes = 4,
    account = "abc@a100",
    qos = "qos_gpu-t3",
    reservation = "maintenance_7",
    constraint = "a100&nvme",
    environment = { NCCL_DEBUG = "INFO", GREETING = "it's $(date) \"quoted\"", THREADS = 8 },
    options = { "--exclusive", "--mail-type=FAIL" },
  },
  batch = { global_batch = 128 },
  strategies = { ddp {} },
}
