-- Models by name. An experiment says model = "bloom-7b", or preset("bloom-7b", { seq = 1024 }).
-- Sizes are the published ones; add your own as gpt{} (GPT-2 style), bloom{} (ALiBi, embedding
-- layer-norm), llama{} (Llama, Mistral, Qwen), moe{} (experts) or transformer{} (every part chosen).
-- Names are the labels under which they were published.

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

  -- Llama 2 and 3, Mistral, Qwen 2.5 and 3 as published; seq is what they were trained at.
  ["llama-2-7b"] = llama { layers = 32, hidden = 4096, heads = 32, ffn_hidden = 11008, vocab = 32000, seq = 4096 },
  ["llama-2-13b"] = llama { layers = 40, hidden = 5120, heads = 40, ffn_hidden = 13824, vocab = 32000, seq = 4096 },
  ["llama-2-70b"] = llama { layers = 80, hidden = 8192, heads = 64, kv_heads = 8, ffn_hidden = 28672, vocab = 32000, seq = 4096 },
  ["llama-3-8b"] = llama { layers = 32, hidden = 4096, heads = 32, kv_heads = 8, ffn_hidden = 14336, vocab = 128256, seq = 8192, rope_theta = 5e5 },
  ["llama-3-70b"] = llama { layers = 80, hidden = 8192, heads = 64, kv_heads = 8, ffn_hidden = 28672, vocab = 128256, seq = 8192, rope_theta = 5e5 },
  ["llama-3.1-8b"] = llama { layers = 32, hidden = 4096, heads = 32, kv_heads = 8, ffn_hidden = 14336, vocab = 128256, seq = 8192, rope_theta = 5e5, rope_factor = 8 },
  ["llama-3.1-70b"] = llama { layers = 80, hidden = 8192, heads = 64, kv_heads = 8, ffn_hidden = 28672, vocab = 128256, seq = 8192, rope_theta = 5e5, rope_factor = 8 },
  ["llama-3.1-405b"] = llama { layers = 126, hidden = 16384, heads = 128, kv_heads = 8, ffn_hidden = 53248, vocab = 128256, seq = 8192, rope_theta = 5e5, rope_factor = 8 },
  ["llama-3.2-1b"] = llama { layers = 16, hidden = 2048, heads = 32, kv_heads = 8, ffn_hidden = 8192, vocab = 128256, seq = 8192, rope_theta = 5e5, rope_factor = 32, tied = true },
  ["llama-3.2-3b"] = llama { layers = 28, hidden = 3072, heads = 24, kv_heads = 8, ffn_hidden = 8192, vocab = 128256, seq = 8192, rope_theta = 5e5, rope_factor = 32, tied = true },
  ["mistral-7b"] = llama { layers = 32, hidden = 4096, heads = 32, kv_heads = 8, ffn_hidden = 14336, vocab = 32000, seq = 8192 },
  ["qwen2-0.5b"] = llama { layers = 24, hidden = 896, heads = 14, kv_heads = 2, ffn_hidden = 4864, vocab = 151936, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qkv_bias = true, tied = true },
  ["qwen2-1.5b"] = llama { layers = 28, hidden = 1536, heads = 12, kv_heads = 2, ffn_hidden = 8960, vocab = 151936, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qkv_bias = true, tied = true },
  ["qwen2-7b"] = llama { layers = 28, hidden = 3584, heads = 28, kv_heads = 4, ffn_hidden = 18944, vocab = 152064, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qkv_bias = true },
  ["qwen2-72b"] = llama { layers = 80, hidden = 8192, heads = 64, kv_heads = 8, ffn_hidden = 29568, vocab = 152064, seq = 4096, rope_theta = 1e6, qkv_bias = true },
  ["qwen2.5-0.5b"] = llama { layers = 24, hidden = 896, heads = 14, kv_heads = 2, ffn_hidden = 4864, vocab = 151936, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qkv_bias = true, tied = true },
  ["qwen2.5-1.5b"] = llama { layers = 28, hidden = 1536, heads = 12, kv_heads = 2, ffn_hidden = 8960, vocab = 151936, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qkv_bias = true, tied = true },
  ["qwen2.5-3b"] = llama { layers = 36, hidden = 2048, heads = 16, kv_heads = 2, ffn_hidden = 11008, vocab = 151936, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qkv_bias = true, tied = true },
  ["qwen2.5-7b"] = llama { layers = 28, hidden = 3584, heads = 28, kv_heads = 4, ffn_hidden = 18944, vocab = 152064, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qkv_bias = true },
  ["qwen2.5-14b"] = llama { layers = 48, hidden = 5120, heads = 40, kv_heads = 8, ffn_hidden = 13824, vocab = 152064, seq = 4096, rope_theta = 1e6, qkv_bias = true },
  ["qwen2.5-32b"] = llama { layers = 64, hidden = 5120, heads = 40, kv_heads = 8, ffn_hidden = 27648, vocab = 152064, seq = 4096, rope_theta = 1e6, qkv_bias = true },
  ["qwen2.5-72b"] = llama { layers = 80, hidden = 8192, heads = 64, kv_heads = 8, ffn_hidden = 29568, vocab = 152064, seq = 4096, rope_theta = 1e6, qkv_bias = true },
  ["qwen3-0.6b"] = llama { layers = 28, hidden = 1024, heads = 16, kv_heads = 8, head_dim = 128, ffn_hidden = 3072, vocab = 151936, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qk_norm = true, tied = true },
  ["qwen3-1.7b"] = llama { layers = 28, hidden = 2048, heads = 16, kv_heads = 8, head_dim = 128, ffn_hidden = 6144, vocab = 151936, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qk_norm = true, tied = true },
  ["qwen3-4b"] = llama { layers = 36, hidden = 2560, heads = 32, kv_heads = 8, head_dim = 128, ffn_hidden = 9728, vocab = 151936, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qk_norm = true, tied = true },
  ["qwen3-8b"] = llama { layers = 36, hidden = 4096, heads = 32, kv_heads = 8, head_dim = 128, ffn_hidden = 12288, vocab = 151936, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qk_norm = true },
  ["qwen3-14b"] = llama { layers = 40, hidden = 5120, heads = 40, kv_heads = 8, head_dim = 128, ffn_hidden = 17408, vocab = 151936, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qk_norm = true },
  ["qwen3-32b"] = llama { layers = 64, hidden = 5120, heads = 64, kv_heads = 8, head_dim = 128, ffn_hidden = 25600, vocab = 151936, seq = 4096, rope_theta = 1e6, norm_epsilon = 1e-6, qk_norm = true },

  -- Mixtures of experts: planned and estimated, not trained here.
  ["mixtral-8x7b"] = moe { layers = 32, hidden = 4096, heads = 32, kv_heads = 8, ffn_hidden = 14336, experts = 8, experts_per_token = 2, vocab = 32000, seq = 4096, rope_theta = 1e6 },
  ["qwen3-30b-a3b"] = moe { layers = 48, hidden = 2048, heads = 32, kv_heads = 4, head_dim = 128, expert_hidden = 768, experts = 128, experts_per_token = 8, vocab = 151936, seq = 4096, rope_theta = 1e6, qk_norm = true },
  ["deepseek-v3"] = moe {
    layers = 61, hidden = 7168, heads = 128, head_dim = 128, ffn_hidden = 18432, dense_layers = 3,
    experts = 256, experts_per_token = 8, shared_experts = 1, expert_hidden = 2048, router_bias = true,
    q_rank = 1536, kv_rank = 512, rope_dim = 64, value_dim = 128, vocab = 129280, seq = 4096,
  },

  -- For a laptop.
  ["llama-tiny"] = llama { layers = 4, hidden = 128, heads = 4, kv_heads = 2, ffn_hidden = 384, vocab = 512, seq = 128 },
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
