-- The user's own template beside the experiment, for the user's own program.
return experiment {
  name = "framework_own",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 1 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  strategies = { ddp { micro_batch = 2, framework = "mine", args = { "--odd", "a 'b' $HOME" } } },
}
