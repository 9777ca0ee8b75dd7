-- Checks that need the templates: names and versions of frameworks, with a suggestion.
return experiment {
  name = "bad_framework_name",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64, micro_batch = 1 },
  tokens = 300e9,
  strategies = {
    ddp { framework = "megatron-ml@0.12" },
    ddp { framework = "megatron-lm@0.21" },
    ddp { framework = "megatron-lm" },
    ddp { framework = "../../etc/passwd" },
    ddp { framework = "common" },
    ddp { framework = "broken" },
    ddp { framework = "odd" },
  },
}
