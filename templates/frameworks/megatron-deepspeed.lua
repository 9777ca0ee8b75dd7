-- deepspeedai/Megatron-DeepSpeed (Microsoft's fork, last changed in July 2025) with DeepSpeed 0.14
-- or later; the version is DeepSpeed's.
local function refuse_layout()
  if run.strategy ~= "megatron" and run.strategy ~= "deepspeed" then
    refuse("strategy", "it trains with Megatron's parallelism and DeepSpeed's stages", "use megatron { ... } or deepspeed { ... }")
  end
  refuse_unless(settings.interleave, 1, "interleave", "DeepSpeed's pipeline has no interleaving")
  refuse_unless(settings.overlap_grad_reduce, false, "overlap_grad_reduce")
  refuse_unless(settings.overlap_param_gather, false, "overlap_param_gather")
  refuse_unless(settings.overlap_tensor, false, "overlap_tensor")
  refuse_unless(settings.expert_parallel, 1, "expert_parallel")
  refuse_unless(settings.overlap, true, "overlap")
  if run.pipeline_parallel > 1 then
    refuse_unless(settings.stage_partition, "uniform", "stage_partition", "the fork deals layers only")
  end
  if settings.recompute == "selective" then refuse("recompute", "with DeepSpeed it recomputes whole layers or nothing", "use full") end
  if run.context_parallel > 1 then refuse("context_parallel", "it has none", "use tensor_parallel") end
  if model.family ~= "gpt" then
    refuse("model", "the fork has no embedding norm, and only gpt is rendered for it", "use gpt, or framework = \"megatron-deepspeed-bloom\"")
  end
  if settings.partition_rule == "portions" then refuse("partition_rule", "DeepSpeed balances from 0.12.5 on", "use balanced") end
end

return {
  doc = "DeepSpeed's fork of Megatron (deepspeedai/Megatron-DeepSpeed): gpt",
  versions = { "0.14", "0.15", "0.16", "0.17", "0.18", "0.19" },
  programs = { "pretrain_gpt.py" },
  read = function() return read_megatron_deepspeed() end,
  render = function()
    read_ours()
    refuse_megatron()
    refuse_layout()
    local stage = settings.stage or settings.zero_stage or 0
    local argv = { expand "$MEGATRON_DEEPSPEED/pretrain_gpt.py",
                   "--tensor-model-parallel-size", number(run.tensor_parallel) }
    if run.pipeline_parallel > 1 then
      add(argv, "--pipeline-model-parallel-size", run.pipeline_parallel)
    else
      add(argv, "--no-pipeline-parallel")
    end
    if settings.sequence_parallel and run.tensor_parallel > 1 then add(argv, "--sequence-parallel") end
    megatron_model(argv)
    if model.norm_epsilon ~= 1e-5 then add(argv, "--layernorm-epsilon", model.norm_epsilon) end
    megatron_training(argv)
    if settings.flash_attention then add(argv, "--use-flash-attn-v2") end
    if not settings.fused_kernels then
      add(argv, "--no-masked-softmax-fusion", "--no-bias-gelu-fusion", "--no-bias-dropout-fusion")
      unequal("fused_kernels", "without its fusion it computes GELU exactly, orch by tanh: losses differ in the fourth digit",
              "set fused_kernels = true")
    end
    add(argv, "--tokenizer-type", "NullTokenizer", "--vocab-size", model.vocab - 1,
        "--make-vocab-size-divisible-by", settings.vocab_multiple or 128, "--split", training.split)
    local prefix = data_prefix()
    if prefix then
      add(argv, "--data-path", prefix, "--data-impl", "mmap")
    else
      refuse("training.data", "it makes no synthetic tokens", "name data")
    end
    local config = {
      train_micro_batch_size_per_gpu = run.micro_batch, train_batch_size = run.global_batch,
      gradient_clipping = training.clip, zero_optimization = { stage = stage },
      steps_per_print = 2000, wall_clock_breakdown = false,
    }
    if settings.offload == "optimizer" or settings.offload == "full" then
      if stage == 0 then refuse("offload", "DeepSpeed offloads from stage 1 on", "set zero_stage = 1") end
      config.zero_optimization.offload_optimizer = { device = "cpu", pin_memory = true }
      add(argv, "--cpu-optimizer")
    end
    if settings.offload == "full" then
      if stage < 3 then refuse("offload", "weights are offloaded in stage 3", "set stage = 3, or offload = \"optimizer\"") end
      config.zero_optimization.offload_param = { device = "cpu", pin_memory = true }
    end
    if settings.dtype == "bf16" then
      config.data_types = { grad_accum_dtype = settings.fp32_accumulate and "fp32" or "bf16" }
    end
    deepspeed_precision(config)
    if settings.recompute == "full" then add(argv, "--checkpoint-activations", "--deepspeed-activation-checkpointing") end
    add(argv, "--exit-signal-handler", "--deepspeed", "--deepspeed_config", in_run("ds_config.json"), "--zero-stage", stage)
    return {
      argv = argv,
      files = { ["ds_config.json"] = json(config) },
      needs = { MEGATRON_DEEPSPEED = "the folder of a checkout of deepspeedai/Megatron-DeepSpeed" },
      environment = { CUDA_DEVICE_MAX_CONNECTIONS = "1" },
      version = { "python3", "-c", "import deepspeed; print(deepspeed.__version__)" },
      stop = { signal = "TERM" },
      owns = { ["--fp16"] = "dtype", ["--bf16"] = "dtype", ["--checkpoint-activations"] = "recompute",
               ["--sequence-parallel"] = "sequence_parallel", ["--cpu-optimizer"] = "offload",
               ["--use-flash-attn"] = "flash_attention", ["--train-samples"] = "steps" },
    }
  end,
}
