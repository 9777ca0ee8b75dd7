return experiment {
  name = "a\nb",
  model = gpt { name = "x\27[31m", layers = 24, hidden = 2048, heads = 16, vocab = 50257, seq = 2048 },
  hardware = { cluster = "a\0b", partition = "p\n#SBATCH --wrap=id", gpus = 8 },
  strategies = { ddp {} },
}
