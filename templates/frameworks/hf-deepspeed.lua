-- Hugging Face's run_clm.py with DeepSpeed; the version is that of transformers.
local function zero(stage)
  local bucket = 500000000
  local config = { stage = stage, contiguous_gradients = true, overlap_comm = settings.overlap ~= false,
                   reduce_bucket_size = bucket }
  if stage < 3 then config.allgather_bucket_size = bucket end
  if stage == 3 then
    config.stage3_prefetch_bucket_size = 50000000
    config.stage3_param_persistence_threshold = 100000
    config.stage3_max_live_parameters = 1000000000
    config.stage3_max_reuse_distance = 1000000000
    config.sub_group_size = 1000000000
  end
  local cpu = { device = "cpu", pin_memory = true }
  if settings.offload == "optimizer" or settings.offload == "full" then
    config.offload_optimizer = { device = "cpu", pin_memory = true }
    if settings.offload_fraction ~= 1.0 then
      if stage < 3 then refuse("offload_fraction", "DeepSpeed shares the optimizer with the host in stage 3", "use 1") end
      config.offload_optimizer.ratio = settings.offload_fraction
    end
    if stage == 2 then config.round_robin_gradients = true end
  end
  if settings.offload == "full" then
    if stage < 3 then refuse("offload", "weights are offloaded in stage 3", "use stage = 3, or offload = \"optimizer\"") end
    config.offload_param = cpu
  end
  return config
end

return {
  doc = "Hugging Face's run_clm.py with DeepSpeed: gpt2 and bloom",
  versions = { "4.57", "5" },
  programs = { "run_clm.py" },
  read = function() return read_run_clm("hf-deepspeed") end,
  render = function()
    read_ours()
    if run.strategy ~= "deepspeed" and run.strategy ~= "zero3" and run.strategy ~= "ddp" then
      refuse("strategy", "DeepSpeed has the stages of ZeRO", "use deepspeed { stage = ... }, zero3 or ddp")
    end
    refuse_unless(settings.prefetch, 1, "prefetch", "DeepSpeed prefetches by bytes")
    refuse_unless(settings.offload_activations, false, "offload_activations")
    local made = run_clm()
    local stage = run.strategy == "zero3" and 3 or settings.stage or 0
    local config = {
      train_micro_batch_size_per_gpu = run.micro_batch, gradient_accumulation_steps = run.accumulate,
      gradient_clipping = training.clip, zero_optimization = zero(stage), steps_per_print = 2000,
      wall_clock_breakdown = false,
      optimizer = { type = "AdamW", params = { lr = training.learning_rate, betas = { training.beta1, training.beta2 },
                    eps = training.epsilon, weight_decay = training.weight_decay } },
    }
    if settings.reduce_dtype == "fp32" then config.communication_data_type = "fp32" end
    deepspeed_precision(config)
    unequal("training.weight_decay", "DeepSpeed's own optimizer decays all parameters, ours no biases and norms", nil)
    add(made.argv, "--deepspeed", in_run("ds_config.json"))
    if settings.recompute == "full" then add(made.argv, "--gradient_checkpointing") end
    made.files = { ["ds_config.json"] = json(config) }
    return made
  end,
}
