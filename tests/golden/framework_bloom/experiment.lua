-- The public job of BLOOM, bigscience-workshop/bigscience train/tr11-176B-ml: 48 nodes of 8 A100, one
-- torchrun per node. What it says of its tokenizer, data and tensorboard is its own, in args.
return experiment {
  name = "framework_bloom",
  model = "bloom-176b",
  hardware = { cluster = "jean-zay", partition = "a100-80g", nodes = 48, account = "six@a100", time = "100:00:00" },
  batch = { global_batch = 2048, micro_batch = 2, rampup = { start = 192, step = 16, samples = 9765625 } },
  tokens = 220e6 * 2048,
  training = {
    learning_rate = 6e-5, min_learning_rate = 6e-6, warmup_steps = 909, decay_steps = 105546, init_std = 0.0048, dropout = 0.1, attention_dropout = 0.1,
    seed = 42, checkpoint_every = 100, evaluate_every = 1000, evaluate_batches = 1,
  },
  strategies = {
    megatron {
      tensor_parallel = 4, pipeline_parallel = 12, stage_partition = "transformer|embedding", zero_stage = 1,
      recompute = "full", dtype = "bf16", fp32_accumulate = true, launch_blocking = true, engine = "deepspeed",
      framework = "megatron-deepspeed-bloom", launch = "node",
      args = { "--tokenizer-type", "PretrainedFromHF", "--tokenizer-name-or-path", "bigscience/tokenizer",
               "--train-weighted-split-paths-path", "data/train-splits.txt",
               "--valid-weighted-split-paths-path", "data/valid-splits.txt",
               "--num-workers", 2, "--valid-num-workers", 0, "--exit-duration-in-mins", 5990 },
      environment = { MEGATRON_DEEPSPEED = expand "$WORK/code/Megatron-DeepSpeed" },
    },
  },
}
