-- Megatron-LM on two nodes, one task per GPU, with an argument, a variable and a line of setup of the
-- strategy's own. All of it is part of the run.
return experiment {
  name = "framework_megatron_lm",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", nodes = 2 },
  batch = { global_batch = 64 },
  tokens = 300e9,
  steps = 50,
  training = { warmup_steps = 5, data = "/data/text_document" },
  strategies = {
    megatron {
      tensor_parallel = 2, pipeline_parallel = 2, interleave = 1, sequence_parallel = true, zero_stage = 1,
      overlap_grad_reduce = true, recompute = "selective", fp32_accumulate = true, flash_attention = true,
      micro_batch = 2, framework = "megatron-lm@0.12.1", args = { "--num-workers", 4 },
      environment = { MEGATRON_LM = expand "$WORK/Megatron-LM", NCCL_DEBUG = "it's $HOME" },
      setup = "module load cuda",
    },
  },
}
