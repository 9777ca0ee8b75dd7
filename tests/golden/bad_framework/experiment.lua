-- Every mistake at once: names, versions, arguments without a framework, secrets.
return experiment {
  name = "bad_framework",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 2, environment = { HF_TOKEN = "hf_do_not_show_me" } },
  batch = { global_batch = 64, micro_batch = 1 },
  tokens = 300e9,
  strategies = {
    ddp { framework = 7 },
    ddp { args = { "--x" }, launch = "node" },
    ddp { framework = "torch", launch = "rank", args = { "--hub-token=do_not_show_me", true } },
    ddp { framework = "torch", args = "--x", environment = { WANDB_API_KEY = "do_not_show_me", A = expand "$(id)" } },
    ddp { framework = "torch", setup = { "module load cuda" },
          environment = { HTTPS_PROXY = "https://me:do_not_show_me@proxy" } },
  },
}
