-- Models by name. An experiment says model = "bloom-7b", or preset("bloom-7b", { seq = 1024 }).
-- Sizes are the published ones; add your own as gpt{} (GPT-2 style) or bloom{} (ALiBi, embedding
-- layer-norm). Names are the labels under which they were published.

local models = {
  -- Reference sizes of the literature.
  ["gpt-145b"] = gpt { layers = 80, hidden = 12288, heads = 96, vocab = 50257, seq = 2048 },
  ["gpt-175b"] = gpt { layers = 96, hidden = 12288, heads = 96, vocab = 50257, seq = 2048 },
  ["gpt-310b"] = gpt { layers = 96, hidden = 16384, heads = 128, vocab = 50257, seq = 2048 },
  ["gpt-530b"] = gpt { layers = 105, hidden = 20480, heads = 128, vocab = 50257, seq = 2048 },

  -- The 1.3B of two V100 nodes, GPT-3's smaller sizes, and the 104B.
  ["gpt-1.3b"] = gpt { layers = 24, hidden = 2048, heads = 16, vocab = 50257, seq = 2048 },
  ["gpt-2.7b"] = gpt { layers = 32, hidden = 2560, heads = 32, vocab = 50257, seq = 2048 },
  ["gpt-6.7b"] = gpt { layers = 32, hidden = 4096, heads = 32, vocab = 50257, seq = 2048 },
  ["gpt-13b"] = gpt { layers = 40, hidden = 5120, heads = 40, vocab = 50257, seq = 2048 },
  ["gpt-104b"] = gpt { layers = 64, hidden = 11600, heads = 80, vocab = 50257, seq = 2048 },

  -- GPT-2 on V100, 1024 tokens; the labels of their tables count in 2^30.
  ["gpt-18b"] = gpt { layers = 40, hidden = 6144, heads = 32, vocab = 50257, seq = 1024 },
  ["gpt-23b"] = gpt { layers = 40, hidden = 7168, heads = 32, vocab = 50257, seq = 1024 },
  ["gpt-28b"] = gpt { layers = 48, hidden = 7168, heads = 32, vocab = 50257, seq = 1024 },
  ["gpt-36b"] = gpt { layers = 48, hidden = 8192, heads = 32, vocab = 50257, seq = 1024 },
  ["gpt-48b"] = gpt { layers = 64, hidden = 8192, heads = 32, vocab = 50257, seq = 1024 },
  ["gpt-61b"] = gpt { layers = 64, hidden = 9216, heads = 32, vocab = 50257, seq = 1024 },
  ["gpt-91b"] = gpt { layers = 64, hidden = 11264, heads = 32, vocab = 50257, seq = 1024 },
  ["gpt-109b"] = gpt { layers = 64, hidden = 12288, heads = 32, vocab = 50257, seq = 1024 },

  ["bloom-7b"] = bloom { layers = 30, hidden = 4096, heads = 32, vocab = 250880, seq = 2048 },
  ["bloom-176b"] = bloom { layers = 70, hidden = 14336, heads = 112, vocab = 250880, seq = 2048 },

  -- For a laptop.
  ["gpt-tiny"] = gpt { layers = 4, hidden = 128, heads = 4, vocab = 512, seq = 128 },
}

-- Slices of a GPT of a trillion parameters: n of its 128 layers.
for _, n in ipairs { 1, 2, 4, 8, 16, 32, 64, 128 } do
  models["gpt-1t-" .. n .. "l"] =
    gpt { layers = n, hidden = 25600, heads = 160, vocab = 51200, seq = 2048 }
end

-- Candidates on the way to a 176B on 384 A100: { layers, hidden, heads }, 250,000 tokens.
local candidates = {
  { 72, 14336, 64 }, { 80, 14400, 64 }, { 80, 13824, 64 }, { 84, 13824, 64 }, { 78, 13824, 96 },
  { 84, 13312, 64 }, { 96, 12288, 64 }, { 106, 12288, 96 }, { 100, 12288, 64 }, { 82, 13312, 64 },
  { 94, 13312, 128 }, { 70, 14336, 112 }, { 82, 14336, 112 }, { 77, 14400, 64 }, { 81, 14400, 64 },
  { 72, 14400, 64 }, { 78, 14400, 64 },
}
for _, c in ipairs(candidates) do
  models[string.format("gpt-%dx%d", c[1], c[2])] =
    gpt { layers = c[1], hidden = c[2], heads = c[3], vocab = 250000, seq = 2048 }
end

-- Slices and thin versions of the same, on which tuning and a hang were studied. Where the source gives
-- no heads, 64.
for _, c in ipairs {
  { 8, 14400, 32 }, { 6, 14336, 64 }, { 10, 14336, 64 }, { 20, 14336, 64 }, { 40, 14336, 64 },
  { 80, 4096, 64 }, { 80, 10240, 64 }, { 80, 12288, 64 },
} do
  models[string.format("gpt-%dx%d", c[1], c[2])] =
    gpt { layers = c[1], hidden = c[2], heads = c[3], vocab = 250000, seq = 2048 }
end

-- The two first drafts of a 200B, with 150,257 tokens.
models["gpt-199b"] = gpt { layers = 80, hidden = 14336, heads = 112, vocab = 150257, seq = 2048 }
models["gpt-206b"] = gpt { layers = 96, hidden = 13312, heads = 104, vocab = 150257, seq = 2048 }

return models
