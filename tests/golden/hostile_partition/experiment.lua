return experiment { model = "gpt-1.3b", hardware = { cluster = "dgx-a100", partition = "p\n#SBATCH --wrap=id", gpus = 8 }, strategies = { ddp {} } }
