-- A value of the environment may be any text: it is quoted, so the shell gets it as written.
return experiment {
  name = "hostile_environment",
  doc = "a \27[31mred\27[0m doc\nin two lines",
  model = "gpt-1.3b",
  hardware = {
    cluster = "dgx-a100",
    gpus = 8,
    environment = {
      COMMAND = "$(touch owned) `touch owned`",
      QUOTES = "it's \"quoted\" \\ and $HOME",
      LINES = "one\ntwo\n#SBATCH --wrap=id",
      DASHES = "--help",
    },
  },
  batch = { global_batch = 8 },
  strategies = { ddp {} },
  constraints = { ["a \27[31mname\n"] = function(r) return true end },
}
