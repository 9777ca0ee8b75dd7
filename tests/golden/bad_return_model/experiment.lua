return gpt { layers = 24, hidden = 2048, heads = 16, vocab = 50257, seq = 2048 }
