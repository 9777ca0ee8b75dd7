-- A Llama of 1.2B on one H200: trainers of ours, torchtitan and megatron.core on the same samples.
local function ours(options)
  options.fused_kernels = true
  return options
end

return experiment {
  name = "one_h200_llama",
  doc = "llama-1.2b on one H200: orch's trainers, torchtitan and megatron.core",
  model = llama { name = "llama-1.2b", layers = 24, hidden = 2048, heads = 32, kv_heads = 4, ffn_hidden = 5632,
                  vocab = 32000, seq = 4096, tied = false },
  hardware = { cluster = "h200", gpus = 1 },
  batch = { global_batch = 4, micro_batch = 2 },
  tokens = 10e9,
  steps = 30,
  training = { warmup_steps = 10, keep_checkpoints = 0 },
  strategies = {
    ddp(ours {}),
    megatron(ours { recompute = "none", fp32_accumulate = true }),
    zero3(ours {}),
    fsdp { framework = "torchtitan@0.2.2" },
    fsdp { framework = "torchtitan@0.2.2", args = { "--compile.enable" } },
    megatron { framework = "megatron-core@0.16", recompute = "none" },
  },
}
