-- The same 175B run for Megatron-LM, for DeepSpeed's fork of Megatron and for our own trainer: what
-- orch run writes into each folder is what that program is started with (start, launch.json and its
-- own files), and what cannot be made equal is listed below the plan.
-- The programs are checkouts of yours: name their folders in the environment.
local function same(options)
  options.tensor_parallel, options.pipeline_parallel = 8, 12
  options.zero_stage, options.recompute, options.dtype = 1, "full", "bf16"
  options.fp32_accumulate, options.fused_kernels = true, true
  return megatron(options)
end

return experiment {
  name = "frameworks_175b",
  doc = "one 175B run, three programs: Megatron-LM, Megatron-DeepSpeed, orch",
  model = gpt { name = "gpt-175b", layers = 96, hidden = 12288, heads = 96, vocab = 51200, seq = 2048 },
  hardware = { cluster = "dgx-a100", nodes = 48 },
  batch = { global_batch = 1536, micro_batch = 1 },
  tokens = 300e9,
  steps = 50,
  training = { learning_rate = 6e-5, min_learning_rate = 6e-6, warmup_steps = 10, init_std = 0.006,
               data = "data/text_document" },
  strategies = {
    same {},
    same { framework = "megatron-lm@0.12",
           environment = { MEGATRON_LM = expand "$WORK/Megatron-LM" } },
    same { framework = "megatron-deepspeed@0.16", launch = "node",
           environment = { MEGATRON_DEEPSPEED = expand "$WORK/Megatron-DeepSpeed" } },
  },
}
