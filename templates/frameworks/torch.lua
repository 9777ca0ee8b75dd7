-- Plain PyTorch through torch_driver.py, which lies beside this file and is copied into the run's
-- folder: DDP with PyTorch's hooks, FSDP2, or DeepSpeed. First weights, samples and rules are ours.
local function refuse_model()
  if model.family ~= "gpt" and model.family ~= "bloom" then
    refuse("model", "the driver builds gpt and bloom", "use one of them")
  end
  if model.ffn_hidden ~= 4 * model.hidden or model.kv_heads ~= model.heads or model.head_dim * model.heads ~= model.hidden then
    refuse("model", "the driver's MLP is four times as wide as the model, and every head has its own key", "leave them as by default")
  end
  local _ = model.norm_epsilon
end

local function refuse_layout()
  if run.strategy == "megatron" or run.tensor_parallel * run.pipeline_parallel * run.context_parallel > 1 then
    refuse("strategy", "the driver shares work by data only", "use ddp, fsdp, zero3 or deepspeed, with tensor_parallel = 1")
  end
  refuse_formats()
  refuse_unless(settings.optimizer, "adamw", "optimizer")
  refuse_unless(settings.offload_activations, false, "offload_activations")
  refuse_unless(settings.offload_fraction, 1.0, "offload_fraction")
  refuse_unless(settings.tied_scatter, "once", "tied_scatter")
  refuse_unless(settings.master_weights, true, "master_weights")
  refuse_unless(settings.fused_kernels, false, "fused_kernels", "PyTorch's own kernels are used")
  refuse_unless(settings.overlap, true, "overlap", "PyTorch reduces under backward")
  refuse_unless(settings.prefetch, 1, "prefetch", "FSDP2 gathers one layer ahead")
  if run.rampup_samples > 0 then refuse("batch.rampup", "the driver's batch does not grow", "leave it out") end
  if training.init ~= "" then refuse("training.init", "the driver begins with the first weights of the run's seed", "leave it out") end
  if settings.offload == "optimizer" and run.strategy ~= "deepspeed" then
    refuse("offload", "FSDP2 offloads all or nothing", "use full")
  end
  if settings.dtype == "fp16" and run.strategy ~= "ddp" then refuse("dtype", "the driver scales losses with DDP only", "use bf16") end
end

return {
  doc = "plain PyTorch by a driver of ours: DDP, DDP + PowerSGD, FSDP2, DeepSpeed; gpt and bloom",
  versions = {},
  render = function()
    read_ours()
    refuse_model()
    refuse_layout()
    local _ = settings.recompute, settings.flash_attention, settings.dtype, settings.stage, settings.sharding
    _ = settings.hybrid_shard_group, settings.compression, settings.powersgd_rank, settings.powersgd_start
    _ = settings.powersgd_min_compression_rate, settings.bucket_mb, settings.gradient_as_bucket_view, settings.reduce_dtype
    local t = training
    _ = t.learning_rate, t.min_learning_rate, t.schedule, t.warmup_steps, t.decay_steps, t.weight_decay
    _ = t.beta1, t.beta2, t.epsilon, t.clip, t.init_std, t.seed, t.loss_scale, t.loss_scale_window, t.data, t.split
    _ = t.evaluate_every, t.evaluate_batches, t.checkpoint_every
    _ = model.layers, model.hidden, model.heads, model.vocab, model.seq
    if t.dropout > 0 or t.attention_dropout > 0 then
      unequal("training.dropout", "what is dropped comes from PyTorch's random numbers", "use 0")
    end
    if t.keep_checkpoints ~= 2 then unequal("training.keep_checkpoints", "the driver keeps all", nil) end
    unequal("checkpoints", "the driver's are PyTorch's own; orch export does not read them", nil)
    return {
      argv = { in_run("torch_driver.py"), "--run", in_run("run.json"), "--attempt", expand "$ORCH_ATTEMPT_FOLDER" },
      copies = { "torch_driver.py" },
      environment = { PYTORCH_CUDA_ALLOC_CONF = "expandable_segments:True" },
      version = { "python3", "-c", "import torch; print(torch.__version__)" },
      stop = { signal = "USR1" },
    }
  end,
}
