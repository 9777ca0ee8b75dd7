-- megatron.core by megatron_core_driver.py: the model, tensor and pipeline parallelism and optimizer of
-- the package, without Megatron-LM's launcher. First weights (of gpt), samples and rules are ours.
local function refuse_what()
  local t = training
  if model.family ~= "gpt" and model.family ~= "llama" then refuse("model", "the driver builds gpt and llama", "use one of them") end
  if model.qk_norm or model.qkv_bias or model.rope_factor ~= 0 and model.rope_factor ~= 1 then
    refuse("model", "qk_norm, qkv_bias and rope_factor are not built by the driver", "use a llama without them")
  end
  if run.strategy ~= "megatron" then refuse("strategy", "megatron.core has Megatron's parallelism", "use megatron { ... }") end
  if settings.dtype ~= "bf16" and settings.dtype ~= "fp32" then refuse("dtype", "the driver has bf16 and fp32", "use bf16") end
  if (settings.zero_stage or 0) > 1 then refuse("zero_stage", "the driver shards the optimizer only", "use zero_stage = 1") end
  if run.context_parallel > 1 then refuse("context_parallel", "it needs Transformer Engine's attention", "use 1, or framework = \"megatron-lm@0.19\"") end
  if run.pipeline_parallel > 1 and model.layers % run.pipeline_parallel ~= 0 then
    refuse("pipeline_parallel", "the driver cuts layers into equal stages", "use a divisor of the layers")
  end
  if t.init ~= "" then refuse("training.init", "the driver begins with the first weights of the run's seed", "leave it out") end
  if t.evaluate_every > 0 then refuse("training.evaluate_every", "the driver does not evaluate", "set 0") end
  if t.checkpoint_every > 0 then refuse("training.checkpoint_every", "the driver saves nothing", "set 0") end
  if run.rampup_samples > 0 then refuse("batch.rampup", "the driver's batch does not grow", "leave it out") end
  refuse_unless(settings.optimizer, "adamw", "optimizer")
  refuse_unless(settings.offload, "none", "offload", "use framework = \"megatron-lm@0.19\"")
  refuse_unless(settings.offload_activations, false, "offload_activations")
  refuse_unless(settings.interleave, 1, "interleave")
  refuse_unless(settings.stage_partition, "uniform", "stage_partition")
  refuse_unless(settings.partition_rule, "balanced", "partition_rule")
  refuse_unless(settings.stage_layers, "", "stage_layers")
  refuse_unless(settings.overlap_param_gather, false, "overlap_param_gather")
  refuse_unless(settings.overlap_tensor, false, "overlap_tensor")
  refuse_unless(settings.expert_parallel, 1, "expert_parallel")
  refuse_unless(settings.fill_bubbles, false, "fill_bubbles")
  refuse_unless(settings.recompute_modules, "", "recompute_modules")
end

return {
  doc = "megatron.core by a driver of ours: gpt and llama",
  versions = { "0.16" },
  package = "megatron-core",
  render = function()
    read_ours()
    refuse_what()
    local t = training
    local _ = t.learning_rate, t.min_learning_rate, t.schedule, t.warmup_steps, t.decay_steps, t.weight_decay
    _ = t.beta1, t.beta2, t.epsilon, t.clip, t.init_std, t.seed, t.loss_scale, t.loss_scale_window, t.data, t.split
    _ = settings.recompute, settings.sequence_parallel, settings.fp32_accumulate, settings.overlap_grad_reduce
    _ = settings.zero_stage, settings.vocab_multiple
    if t.dropout > 0 or t.attention_dropout > 0 then
      unequal("training.dropout", "what is dropped comes from PyTorch's random numbers", "use 0")
    end
    if model.family ~= "gpt" then
      unequal("training.seed", "the first weights come from the framework's own random numbers", nil)
    end
    if padded_vocab() ~= model.vocab then
      unequal("model.vocab", "its softmax has the padded vocabulary, ours only the tokens that exist", "use a multiple of 128")
    end
    if settings.sequence_parallel and run.tensor_parallel > 1 then
      unequal("sequence_parallel", "its norms have it with Transformer Engine or Apex only, and end the run without", "set sequence_parallel = false")
    end
    if settings.flash_attention or settings.fused_kernels then
      unequal("fused_kernels", "attention and fusions are Transformer Engine's, and PyTorch's plain operations where it is not installed", nil)
    end
    unequal("checkpoints", "the driver saves none", nil)
    unequal("hardware.time", "the driver cannot be told to save before its limit", nil)
    local rope = model.rope or false
    return {
      argv = { in_run("megatron_core_driver.py"), "--run", in_run("run.json"), "--attempt", expand "$ORCH_ATTEMPT_FOLDER" },
      copies = { "megatron_core_driver.py", "torch_driver.py" },
      files = { ["megatron_core.json"] = json {
        layers = model.layers, hidden = model.hidden, heads = model.heads, kv_heads = model.kv_heads, seq = model.seq,
        head_dim = model.head_dim, ffn_hidden = model.ffn_hidden, padded_vocab = padded_vocab(), tied = model.tied,
        norm_epsilon = model.norm_epsilon, rms_norm = model.rms_norm or false, swiglu = model.swiglu or false,
        rope = rope, rope_theta = rope and model.rope_theta or 10000,
      } },
      environment = { CUDA_DEVICE_MAX_CONNECTIONS = "1", PYTORCH_CUDA_ALLOC_CONF = "expandable_segments:True" },
      version = { "python3", "-c", "import megatron.core as m; print(m.__version__)" },
      owns = {},
    }
  end,
}
