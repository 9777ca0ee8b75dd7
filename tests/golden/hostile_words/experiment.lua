-- All values that are written to #SBATCH lines.
return experiment {
  model = "gpt-1.3b",
  hardware = {
    cluster = "dgx-a100",
    gpus = 8,
    account = "abc $(touch owned)",
    qos = "high\n#SBATCH --wrap=id",
    reservation = "'; touch owned; '",
    constraint = "a100\" --wrap=\"id",
    time = "--wrap=id",
    hint = "-n",
    gres = "gpu:8 --wrap=id",
    options = { "-o/etc/passwd", "--output=/etc/passwd", "--mail-user=a b", "--comment=`id`", "", "--wrap=id", "\0" },
    environment = { ["A=B"] = "x", ["$(id)"] = "y", ["-n"] = "z", ["LD PRELOAD"] = "w", folder = "/", UID = 0, SLURM_JOB_ID = 1, MASTER_PORT = 1, OK = "a\0b" },
  },
  strategies = { ddp {} },
}
