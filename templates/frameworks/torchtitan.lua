-- PyTorch's torchtitan: 0.2.2 is configured by a TOML file and started by torchtitan_driver.py, which
-- registers the run's Llama and our loader; main by a Python function and in the sizes of its registry.
local flavors = {
  ["8B"] = { 32, 4096, 32, 8, 128256 }, ["70B"] = { 80, 8192, 64, 8, 128256 }, ["405B"] = { 126, 16384, 128, 8, 128256 },
}

-- The section [optimizer], or its keyword arguments.
local function optimizer(fields)
  for _, rate in ipairs(titan_rates) do fields[rate[1]] = training[rate[2]] end
  return fields
end

local function flavor()
  local _ = model.layers, model.hidden, model.heads, model.kv_heads, model.vocab
  for name, size in pairs(flavors) do
    if model.layers == size[1] and model.hidden == size[2] and model.heads == size[3] and model.kv_heads == size[4] and
       model.vocab == size[5] then
      return name
    end
  end
  refuse("model", "torchtitan has the sizes of its registry: Llama 3 with 8B, 70B and 405B", "use one of them, such as llama-3-8b")
  return "8B"
end

local function refuse_what()
  local t = training
  if model.family == "moe" then
    local _ = model.experts, model.experts_per_token, model.expert_hidden
    refuse("model", "torchtitan's mixtures of experts have the sizes of its registry, which are not rendered", "use framework = \"megatron-lm@0.19\"")
  elseif model.family ~= "llama" then
    refuse("model", "torchtitan trains Llama", "use llama-3-8b")
  end
  if t.init ~= "" then refuse("training.init", "torchtitan does not read our checkpoints", "leave it out") end
  if t.dropout > 0 or t.attention_dropout > 0 then refuse("training.dropout", "torchtitan has none", "use 0") end
  if t.evaluate_every > 0 then refuse("training.evaluate_every", "its data is not split as ours", "set 0") end
  if run.rampup_samples > 0 then refuse("batch.rampup", "its batch does not grow", "leave it out") end
  refuse_unless(settings.optimizer, "adamw", "optimizer")
  refuse_unless(settings.compression, "none", "compression")
  refuse_unless(settings.zero_stage, 0, "zero_stage", "sharding is FSDP's there: use fsdp { ... }")
  refuse_unless(settings.fill_bubbles, false, "fill_bubbles")
  refuse_unless(settings.stage_layers, "", "stage_layers")
  refuse_unless(settings.partition_rule, "balanced", "partition_rule")
  refuse_unless(settings.expert_parallel, 1, "expert_parallel")
  refuse_unless(settings.offload_activations, false, "offload_activations")
  refuse_unless(settings.offload_fraction, 1.0, "offload_fraction")
  refuse_unless(settings.prefetch, 1, "prefetch")
  refuse_unless(settings.tied_scatter, "once", "tied_scatter")
  refuse_unless(settings.overlap_param_gather, false, "overlap_param_gather")
  if settings.offload == "optimizer" then refuse("offload", "torchtitan offloads all or nothing", "use full") end
  if settings.dtype == "fp8" then
    unequal("dtype", "its fp8 needs torchao beside it, and gains speed with --compile.enable only", "give args = { \"--compile.enable\" }")
  elseif settings.dtype ~= "bf16" and settings.dtype ~= "fp32" then
    refuse("dtype", "torchtitan has bf16, fp32 and fp8", "use bf16")
  end
  if run.strategy == "deepspeed" then refuse("strategy", "DeepSpeed's stages are DeepSpeed's", "use fsdp { ... }") end
  local _ = t.split, t.init_std, t.loss_scale, t.loss_scale_window, settings.flash_attention, settings.fused_kernels
  _ = settings.master_weights, settings.gradient_as_bucket_view, settings.bucket_mb, settings.reduce_dtype
  _ = settings.fp32_accumulate, settings.vocab_multiple, settings.stage_partition, settings.overlap, settings.overlap_grad_reduce
  unequal("training.seed", "first weights come from the framework's own random numbers and its own spread", nil)
  unequal("training.weight_decay", "torchtitan decays all parameters, ours no norms", nil)
  unequal("fp32_accumulate", "torchtitan reduces gradients in fp32", "set fp32_accumulate = true where the strategy has it")
  unequal("hardware.time", "torchtitan cannot be told to save before its limit", "give checkpoint_every")
end

-- Its own loader, schedule and registry, which main has and our driver of 0.2.2 replaces.
local function refuse_main()
  local t = training
  if settings.dtype == "fp8" then refuse("dtype", "fp8 is not rendered for the configurations of main", "use framework = \"torchtitan@0.2.2\"") end
  if t.data ~= "" then refuse("training.data", "torchtitan reads datasets by name", "leave it out: c4 is read") end
  if t.schedule == "constant" then refuse("training.schedule", "it decays linearly or by cosine", "use cosine") end
  if t.decay_steps > 0 and t.decay_steps ~= run.total_steps then refuse("training.decay_steps", "it decays over all steps", "set 0") end
  local _ = model.head_dim, model.ffn_hidden, model.norm_epsilon, model.rope_theta, model.rope_factor, model.rope_low
  _ = model.rope_high, model.rope_original, model.tied
  unequal("training.data", "torchtitan reads c4 by name, with its own tokenizer", nil)
end

-- The size of our model as the arguments of torchtitan's Llama 3. Its MLP has ffn_hidden's multiple
-- that lies above a width which follows from the multiplier: half of ffn_hidden, so once.
local function size()
  if model.tied then refuse("model.tied", "torchtitan's Llama 3 does not tie its head", "set tied = false") end
  if model.head_dim * model.heads ~= model.hidden then
    refuse("model.head_dim", "torchtitan's heads divide the width", "leave it as by default")
  end
  if padded_vocab() ~= model.vocab then
    unequal("model.vocab", "its softmax has the padded vocabulary, ours only the tokens that exist", "use a multiple of 128")
  end
  local _ = training.data, training.schedule, training.min_learning_rate, training.decay_steps
  return {
    dim = model.hidden, n_layers = model.layers, n_heads = model.heads, n_kv_heads = model.kv_heads,
    vocab_size = padded_vocab(), multiple_of = model.ffn_hidden, ffn_dim_multiplier = model.ffn_hidden / (8 * model.hidden // 3) / 2,
    norm_eps = model.norm_epsilon, rope_theta = model.rope_theta,
    rope_scaling_args = { scaling_factor = model.rope_factor, low_freq_factor = model.rope_low,
                          high_freq_factor = model.rope_high, original_max_position_embeddings = model.rope_original },
  }
end

-- Ranks that shard, and the number of mirror groups.
local function degrees()
  if run.strategy == "ddp" or run.strategy == "megatron" then return run.data_parallel, 1 end
  if settings.sharding ~= "hybrid" then return 1, run.data_parallel end
  local group = settings.hybrid_shard_group > 0 and settings.hybrid_shard_group or run.gpus_per_node
  if run.context_parallel > 1 then
    refuse("context_parallel", "torchtitan counts it beside the ranks that shard, not within hybrid's groups", "use sharding = \"full\"")
  end
  return run.data_parallel // group, group
end

local function parallelism()
  local mirrors, shards = degrees()
  local out = {
    data_parallel_replicate_degree = mirrors, data_parallel_shard_degree = shards,
    tensor_parallel_degree = run.tensor_parallel, pipeline_parallel_degree = run.pipeline_parallel,
    context_parallel_degree = run.context_parallel,
    -- With a pipeline, "default" does not reshard weights.
    fsdp_reshard_after_forward = settings.sharding == "grad_op" and "never" or
      run.pipeline_parallel > 1 and "default" or "always",
    enable_async_tensor_parallel = settings.overlap_tensor or nil,
  }
  if run.tensor_parallel > 1 and settings.sequence_parallel == false then
    unequal("sequence_parallel", "torchtitan shards norms along the sequence wherever tensors are shared", "set sequence_parallel = true")
  end
  if run.pipeline_parallel > 1 then
    local chunks = settings.interleave or 1
    -- It counts embedding and head as a layer each, and defines stages by the maximum of layers per
    -- stage.
    local parts, items = run.pipeline_parallel * chunks, model.layers + 2
    local each = (items + parts - 1) // parts
    if (items + each - 1) // each ~= parts then
      refuse("interleave", string.format("torchtitan cuts %d layers and two ends into parts of %d, which are not %d", model.layers,
             each, parts), "use another pipeline_parallel or interleave")
    end
    out.pipeline_parallel_schedule = chunks > 1 and "Interleaved1F1B" or "1F1B"
    out.pipeline_parallel_layers_per_stage = each
    out.pipeline_parallel_microbatch_size = run.micro_batch
  end
  return out
end

local function old()
  local t = training
  local local_batch = run.pipeline_parallel > 1 and run.micro_batch * run.accumulate or run.micro_batch
  local narrow = settings.dtype == "fp8"
  return toml {
    job = { description = run.id },
    model = { name = "orch", flavor = "orch", converters = narrow and { "quantize.linear.float8" } or nil },
    -- One scale for each tensor; the head stays in 16 bits, and weights are gathered in them.
    ["quantize.linear.float8"] = narrow and { filter_fqns = { "output" } } or nil,
    optimizer = optimizer { name = "AdamW" },
    lr_scheduler = { warmup_steps = t.warmup_steps }, -- the driver's schedule has the rest
    training = { local_batch_size = local_batch, global_batch_size = run.global_batch, seq_len = model.seq,
                 max_norm = t.clip, steps = run.total_steps, enable_cpu_offload = settings.offload == "full",
                 mixed_precision_param = settings.dtype == "fp32" and "float32" or "bfloat16",
                 mixed_precision_reduce = "float32" },
    debug = { seed = t.seed },
    parallelism = parallelism(),
    activation_checkpoint = { mode = settings.recompute },
    checkpoint = { enable = t.checkpoint_every > 0, interval = math.max(1, t.checkpoint_every),
                   last_save_model_only = false, keep_latest_k = t.keep_checkpoints },
    metrics = { log_freq = t.log_every, disable_color_printing = true },
  }
end

-- Python keyword arguments from a table, sorted.
local function keywords(fields)
  local out = {}
  for key, value in pairs(fields) do
    local text = type(value) == "string" and '"' .. value .. '"' or type(value) == "number" and number(value) or
      (value and "True" or "False")
    out[#out + 1] = key .. "=" .. text
  end
  return table.concat(out, ", ")
end

local function new(name)
  local t, shape = training, parallelism()
  shape.pipeline_parallel_microbatch_size = nil
  local train = { num_tokens_per_microbatch_per_dp_rank = run.micro_batch * model.seq,
                  num_tokens_per_train_step = run.global_batch * model.seq, max_context_length = model.seq,
                  max_norm = t.clip, steps = run.total_steps, enable_cpu_offload = settings.offload == "full",
                  mixed_precision_param = settings.dtype == "bf16" and "bfloat16" or "float32" }
  if run.pipeline_parallel > 1 then train.num_pp_microbatches = run.accumulate end
  return table.concat({
    "from torchtitan.components.lr_scheduler import LRSchedulersContainer",
    "from torchtitan.components.metrics import MetricsProcessor",
    "from torchtitan.components.optimizer import OptimizersContainer",
    "from torchtitan.config import ActivationCheckpointConfig, ParallelismConfig, TrainingConfig",
    "from torchtitan.models.llama3 import config_registry",
    "", "",
    "def run():",
    "    config = config_registry.llama3_" .. string.lower(name) .. "()",
    "    config.training = TrainingConfig(" .. keywords(train) .. ")",
    "    config.optimizer = OptimizersContainer.Config(" .. keywords(optimizer {}) .. ")",
    "    config.lr_scheduler = LRSchedulersContainer.Config(" .. keywords { warmup_steps = t.warmup_steps,
      decay_type = t.schedule, min_lr_factor = t.min_learning_rate / t.learning_rate } .. ")",
    "    config.parallelism = ParallelismConfig(" .. keywords(shape) .. ")",
    "    config.activation_checkpoint = ActivationCheckpointConfig(" .. keywords { mode = settings.recompute } .. ")",
    "    config.metrics = MetricsProcessor.Config(" .. keywords { log_freq = t.log_every } .. ")",
    "    config.checkpoint.interval = " .. number(math.max(1, t.checkpoint_every)),
    "    config.debug.seed = " .. number(t.seed),
    "    return config", "",
  }, "\n")
end

local function render_main()
  refuse_main()
  return {
    needs = { TORCHTITAN_ASSETS = "the folder with the model's tokenizer (hf_assets_path)" },
    files = { ["orch_torchtitan.py"] = new(flavor()) },
    argv = { "-m", "torchtitan.train", "--module", "orch_torchtitan", "--config", "run",
             "--hf_assets_path", expand "$TORCHTITAN_ASSETS", "--dump_folder", in_run("checkpoints") },
    environment = { PYTHONPATH = expand "$ORCH_RUN_FOLDER:$PYTHONPATH" },
  }
end

return {
  doc = "PyTorch's torchtitan: Llama in any size by a driver of ours (0.2.2), or in those of its registry (main)",
  versions = { "0.2.2", "main" },
  package = "torchtitan",
  programs = { "torchtitan.train", "torchtitan/train.py", "run_train.sh" },
  read = function() return read_torchtitan(flavors) end,
  render = function()
    read_ours()
    refuse_what()
    local made = at_least("main") and render_main() or {
      files = { ["torchtitan.toml"] = old(), ["torchtitan_model.json"] = json(size()) },
      copies = { "torchtitan_driver.py", "torch_driver.py" },
      argv = { in_run("torchtitan_driver.py"), "--run", in_run("run.json"), "--attempt", expand "$ORCH_ATTEMPT_FOLDER",
               "--job.config_file", in_run("torchtitan.toml"), "--job.dump_folder", in_run("checkpoints") },
    }
    made.version = { "python3", "-c", "import importlib.metadata as m; print(m.version('torchtitan'))" }
    made.owns = { ["--training."] = "training", ["--parallelism."] = "the strategy", ["--optimizer."] = "training",
                  ["--lr_scheduler."] = "training", ["--activation_checkpoint.mode"] = "recompute",
                  ["--model."] = "model" }
    return made
  end,
}
