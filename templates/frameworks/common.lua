-- Functions that the templates of frameworks share: each is a global in them. The run is in run,
-- model, settings, training and job; README.md lists the fields.
local common = {}

-- A string whose $NAMES are expanded where the program is started.
function common.expand(text) return { expand = text } end

function common.in_run(name) return { expand = "$ORCH_RUN_FOLDER/" .. name } end

function common.in_attempt(name) return { expand = "$ORCH_ATTEMPT_FOLDER/" .. name } end

-- A number in the format that every command-line parser accepts.
function common.number(value)
  if math.type(value) == "integer" then return string.format("%d", value) end
  return string.format("%.14g", value)
end

-- add(argv, "--lr", 3e-4): appends arguments to a list; false and nil add nothing.
function common.add(list, ...)
  for i = 1, select("#", ...) do
    local word = (select(i, ...))
    if type(word) == "number" then word = common.number(word) end
    if word then list[#list + 1] = word end
  end
end

-- True if the requested version is this one of the template's list, or a later one.
function common.at_least(version)
  for i, known in ipairs(framework.versions) do
    if known == version then return framework.place >= i end
  end
  error("version " .. version .. " is not in the list of the template")
end

-- refuse_formats("fp8"): otherwise the framework would silently train in another format.
function common.refuse_formats(more)
  local dtype = settings.dtype
  if dtype == "bf16" or dtype == "fp16" or dtype == "fp32" or dtype == "tf32" or dtype == more then return end
  refuse("dtype", framework.name .. " is not told of " .. dtype .. " here", "use bf16")
end

-- refuse_unless(settings.offload, "none", "offload", why): refuses any value but this one or nil.
function common.refuse_unless(value, wanted, place, fix)
  if value == nil or value == wanted then return end
  refuse(place, framework.name .. " has no " .. place .. " = " .. tostring(value), fix or
         ("leave it at " .. tostring(wanted)))
end

-- The prefix of the data relative to the run's folder; false for synthetic tokens.
function common.data_prefix()
  if training.data == "" then return false end
  if string.sub(training.data, 1, 1) == "/" then return training.data end
  return common.in_run(run.paths_from .. "/" .. training.data)
end

-- True if the experiment has this flag among its own arguments.
function common.given(flag)
  for _, word in ipairs(run.args) do
    if word == flag or string.sub(word, 1, #flag + 1) == flag .. "=" then return true end
  end
  return false
end

-- The vocabulary padded as in our trainers.
function common.padded_vocab()
  local multiple = (settings.vocab_multiple or 128) * run.tensor_parallel
  return (model.vocab + multiple - 1) // multiple * multiple
end

function common.decay_steps() return training.decay_steps > 0 and training.decay_steps or run.total_steps end

-- Marks fields as read that no framework needs.
function common.read_ours()
  local _ = training.tensorboard, training.log_every, training.collective_timeout, training.keep_checkpoints
  _ = settings.launch_blocking -- a variable of the job
  _ = model.params
end

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t" }
local function quoted(text)
  local out = {}
  for i = 1, #text do
    local c = string.sub(text, i, i)
    out[i] = escapes[c] or c
  end
  return '"' .. table.concat(out) .. '"'
end

local function encode(value, indent)
  if type(value) == "string" then return quoted(value) end
  if type(value) == "number" then return common.number(value) end
  if type(value) ~= "table" then return tostring(value) end
  local parts, inner = {}, indent .. "  "
  if value[1] ~= nil then
    for i, item in ipairs(value) do parts[i] = encode(item, inner) end
    return "[" .. table.concat(parts, ", ") .. "]"
  end
  for key, item in pairs(value) do parts[#parts + 1] = inner .. quoted(key) .. ": " .. encode(item, inner) end
  if #parts == 0 then return "{}" end
  return "{\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "}"
end

-- A table as JSON, with sorted keys.
function common.json(value) return encode(value, "") .. "\n" end

-- Sections of plain values as TOML: { training = { steps = 10 } }.
function common.toml(sections)
  local out = {}
  for section, fields in pairs(sections) do
    out[#out + 1] = "[" .. section .. "]"
    for key, value in pairs(fields) do out[#out + 1] = key .. " = " .. encode(value, "") end
    out[#out + 1] = ""
  end
  return table.concat(out, "\n")
end

-- The precision settings of ds_config.json, as numbers and not "auto", so that the file shows what
-- ran.
function common.deepspeed_precision(config)
  if settings.dtype == "bf16" then config.bf16 = { enabled = true } end
  if settings.dtype ~= "fp16" then return end
  local power = 0
  while 2 ^ power < training.loss_scale do power = power + 1 end
  config.fp16 = { enabled = true, loss_scale = 0, loss_scale_window = training.loss_scale_window,
                  hysteresis = 2, min_loss_scale = 1, initial_scale_power = power }
end

-- DeepSpeed's section zero_optimization.
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

-- ds_config.json of a run: numbers and not "auto". Its optimizer is PyTorch's AdamW, or, for what is
-- offloaded, DeepSpeed's for the CPU, which is compiled at the start (with nvcc, where there is a GPU);
-- DEEPSPEED_TORCH_ADAM = "1" in the strategy's environment takes PyTorch's for that too.
function common.deepspeed_config()
  local t = training
  local stage = run.strategy == "zero3" and 3 or settings.stage or 0
  local offloads = settings.offload ~= nil and settings.offload ~= "none"
  local torch_adam = not offloads or job.environment.DEEPSPEED_TORCH_ADAM == "1"
  local config = {
    train_micro_batch_size_per_gpu = run.micro_batch, gradient_accumulation_steps = run.accumulate,
    gradient_clipping = t.clip, zero_optimization = zero(stage), steps_per_print = 2000,
    wall_clock_breakdown = false,
    optimizer = { type = "AdamW", params = { lr = t.learning_rate, betas = { t.beta1, t.beta2 }, eps = t.epsilon,
                  weight_decay = t.weight_decay, torch_adam = torch_adam } },
  }
  if offloads and torch_adam then config.zero_force_ds_cpu_optimizer = false end
  if settings.reduce_dtype == "fp32" then config.communication_data_type = "fp32" end
  common.deepspeed_precision(config)
  return config
end

-- What all frameworks refuse that share work by DeepSpeed's stages.
function common.refuse_deepspeed()
  if run.strategy ~= "deepspeed" and run.strategy ~= "zero3" and run.strategy ~= "ddp" then
    refuse("strategy", "DeepSpeed has the stages of ZeRO", "use deepspeed { stage = ... }, zero3 or ddp")
  end
  common.refuse_unless(settings.prefetch, 1, "prefetch", "DeepSpeed prefetches by bytes")
  common.refuse_unless(settings.offload_activations, false, "offload_activations")
end

-- Our driver of Hugging Face's Trainer: its arguments for any way of sharing the work.
function common.trainer_driver()
  local t, bloom = training, model.family == "bloom"
  if model.family ~= "gpt" and not bloom then refuse("model", "the driver builds gpt2 and bloom", "use gpt or bloom") end
  common.refuse_driver_sizes()
  if t.init ~= "" then refuse("training.init", "the driver begins with the first weights of the run's seed", "leave it out") end
  if run.rampup_samples > 0 then refuse("batch.rampup", "the Trainer's batch does not grow", "leave it out") end
  if t.evaluate_every > 0 then refuse("training.evaluate_every", "the driver does not evaluate", "set 0") end
  if settings.recompute == "selective" then refuse("recompute", "the Trainer recomputes whole layers or nothing", "use full") end
  common.refuse_formats()
  common.refuse_unless(settings.optimizer, "adamw", "optimizer")
  common.refuse_unless(settings.compression, "none", "compression", "use framework = \"torch\", whose hook does it")
  common.refuse_unless(settings.fused_kernels, false, "fused_kernels")
  common.refuse_unless(settings.tied_scatter, "once", "tied_scatter")
  common.refuse_unless(settings.master_weights, true, "master_weights")
  common.refuse_unless(settings.gradient_as_bucket_view, true, "gradient_as_bucket_view")
  common.refuse_unless(settings.bucket_mb, 25.0, "bucket_mb")
  if run.tensor_parallel * run.pipeline_parallel * run.context_parallel > 1 then
    refuse("strategy", "the Trainer shares work by data only", "use tensor_parallel = 1 and pipeline_parallel = 1")
  end
  if common.padded_vocab() ~= model.vocab then
    unequal("model.vocab", "its softmax has the padded vocabulary, ours only the tokens that exist", "use a multiple of 128")
  end
  if t.dropout > 0 or t.attention_dropout > 0 then
    unequal("training.dropout", "what is dropped comes from PyTorch's random numbers", "use 0")
  end
  local _ = settings.flash_attention, t.data, t.split, t.init_std, t.min_learning_rate, t.schedule, t.decay_steps
  _ = t.loss_scale, t.loss_scale_window
  unequal("flash_attention", "transformers takes the attention kernel that PyTorch chooses", nil)
  unequal("hardware.time", "the Trainer cannot be told to save before its limit", "give checkpoint_every")
  unequal("checkpoints", "they are the Trainer's own; orch export does not read them", nil)
  local argv = { common.in_run("hf_driver.py") }
  add(argv, "--run", common.in_run("run.json"), "--attempt", common.expand "$ORCH_ATTEMPT_FOLDER",
      "--per_device_train_batch_size", run.micro_batch, "--gradient_accumulation_steps", run.accumulate,
      "--max_steps", run.total_steps, "--learning_rate", t.learning_rate, "--warmup_steps", t.warmup_steps)
  common.add_fields(argv, common.trainer_rates, t)
  add(argv, "--logging_steps", t.log_every)
  if settings.dtype == "bf16" or settings.dtype == "fp16" then add(argv, "--" .. settings.dtype, "true") end
  if settings.dtype == "tf32" then add(argv, "--tf32", "true") end
  if t.checkpoint_every > 0 then
    add(argv, "--save_strategy", "steps", "--save_steps", t.checkpoint_every, "--save_total_limit", t.keep_checkpoints)
  else
    add(argv, "--save_strategy", "no")
  end
  add(argv, "--report_to", "none", "--disable_tqdm", "true", "--output_dir", common.in_run("checkpoints"))
  return {
    argv = argv, copies = { "hf_driver.py", "torch_driver.py" },
    environment = { HF_HUB_OFFLINE = "1", HF_DATASETS_OFFLINE = "1", TRANSFORMERS_OFFLINE = "1" },
    version = { "python3", "-c", "import accelerate, transformers; print(transformers.__version__)" },
    owns = { ["--bf16"] = "dtype", ["--fp16"] = "dtype", ["--tf32"] = "dtype", ["--deepspeed"] = "strategies",
             ["--fsdp"] = "strategies", ["--gradient_checkpointing"] = "recompute", ["--num_train_epochs"] = "steps" },
  }
end

-- Our drivers build gpt and bloom in their usual shape.
function common.refuse_driver_sizes()
  if model.ffn_hidden ~= 4 * model.hidden or model.kv_heads ~= model.heads or model.head_dim * model.heads ~= model.hidden then
    refuse("model", "the driver's MLP is four times as wide as the model, and every head has its own key", "leave them as by default")
  end
  local _ = model.norm_epsilon, model.layers, model.hidden, model.heads, model.vocab, model.seq
end

-- What torch_driver.py refuses, however its ranks share the work.
function common.refuse_torch_driver()
  local t = training
  if model.family ~= "gpt" and model.family ~= "bloom" then
    refuse("model", "the driver builds gpt and bloom", "use one of them")
  end
  common.refuse_driver_sizes()
  if run.strategy == "megatron" or run.tensor_parallel * run.pipeline_parallel * run.context_parallel > 1 then
    refuse("strategy", "the driver shares work by data only", "use ddp, fsdp, zero3 or deepspeed, with tensor_parallel = 1")
  end
  common.refuse_formats()
  common.refuse_unless(settings.optimizer, "adamw", "optimizer")
  common.refuse_unless(settings.offload_activations, false, "offload_activations")
  common.refuse_unless(settings.tied_scatter, "once", "tied_scatter")
  common.refuse_unless(settings.master_weights, true, "master_weights")
  common.refuse_unless(settings.fused_kernels, false, "fused_kernels", "PyTorch's own kernels are used")
  if run.rampup_samples > 0 then refuse("batch.rampup", "the driver's batch does not grow", "leave it out") end
  if t.init ~= "" then refuse("training.init", "the driver begins with the first weights of the run's seed", "leave it out") end
  if settings.dtype == "fp16" and run.strategy ~= "ddp" then refuse("dtype", "the driver scales losses with DDP only", "use bf16") end
  local _ = settings.recompute, settings.flash_attention, settings.dtype
  _ = t.learning_rate, t.min_learning_rate, t.schedule, t.warmup_steps, t.decay_steps, t.weight_decay
  _ = t.beta1, t.beta2, t.epsilon, t.clip, t.init_std, t.seed, t.loss_scale, t.loss_scale_window, t.data, t.split
  _ = t.evaluate_every, t.evaluate_batches, t.checkpoint_every
  if t.dropout > 0 or t.attention_dropout > 0 then
    unequal("training.dropout", "what is dropped comes from PyTorch's random numbers", "use 0")
  end
  if t.keep_checkpoints > 0 and t.keep_checkpoints ~= 2 then unequal("training.keep_checkpoints", "the driver keeps all", nil) end
  unequal("checkpoints", "the driver's are PyTorch's own; orch export does not read them", nil)
end

-- Flags that are one field each: { flag, field, the program's own default }. They are rendered in
-- this order, and read back (reading.lua).
common.megatron_sizes = {
  { "--num-layers", "layers" }, { "--hidden-size", "hidden" }, { "--num-attention-heads", "heads" },
  { "--seq-length", "seq" },
}
-- Of a mixture of experts, and of latent attention.
common.megatron_experts = {
  { "--num-experts", "experts" }, { "--moe-router-topk", "experts_per_token", 2 }, { "--moe-ffn-hidden-size", "expert_hidden" },
}
common.megatron_latent = {
  { "--q-lora-rank", "q_rank" }, { "--kv-lora-rank", "kv_rank", 32 }, { "--qk-head-dim", "head_dim", 128 },
  { "--qk-pos-emb-head-dim", "rope_dim", 64 }, { "--v-head-dim", "value_dim", 128 },
}
common.megatron_rates = {
  { "--lr", "learning_rate" }, { "--min-lr", "min_learning_rate", 0 }, { "--lr-decay-style", "schedule", "linear" },
  { "--weight-decay", "weight_decay", 0.01 }, { "--adam-beta1", "beta1", 0.9 }, { "--adam-beta2", "beta2", 0.999 },
  { "--adam-eps", "epsilon", 1e-8 }, { "--clip-grad", "clip", 1 }, { "--hidden-dropout", "dropout", 0.1 },
  { "--attention-dropout", "attention_dropout", 0.1 }, { "--init-method-std", "init_std", 0.02 },
  { "--seed", "seed", 1234 },
}
common.trainer_rates = {
  { "--weight_decay", "weight_decay", 0 }, { "--adam_beta1", "beta1", 0.9 }, { "--adam_beta2", "beta2", 0.999 },
  { "--adam_epsilon", "epsilon", 1e-8 }, { "--max_grad_norm", "clip", 1 }, { "--seed", "seed", 42 },
}
common.titan_rates = {
  { "lr", "learning_rate", 8e-4 }, { "beta1", "beta1", 0.9 }, { "beta2", "beta2", 0.95 }, { "eps", "epsilon", 1e-8 },
  { "weight_decay", "weight_decay", 0.1 },
}

-- The flags of such a list with the values of these fields.
function common.add_fields(argv, flags, fields)
  for _, flag in ipairs(flags) do add(argv, flag[1], fields[flag[2]]) end
end

-- The size of the model in flags that Megatron-LM and all programs derived from it have.
function common.megatron_model(argv)
  common.add_fields(argv, common.megatron_sizes, model)
  add(argv, "--max-position-embeddings", model.seq)
  if model.ffn_hidden ~= 4 * model.hidden then add(argv, "--ffn-hidden-size", model.ffn_hidden) end
end

-- The training settings in the same flags. If the batch grows, everything is counted in samples.
function common.megatron_training(argv)
  local t = training
  if run.rampup_samples > 0 then
    add(argv, "--rampup-batch-size", run.rampup_start, run.rampup_step, run.rampup_samples,
        "--train-samples", run.samples, "--lr-decay-samples", run.decay_samples,
        "--lr-warmup-samples", run.warmup_samples)
  else
    add(argv, "--train-iters", run.total_steps, "--lr-decay-iters", common.decay_steps(),
        "--lr-warmup-iters", t.warmup_steps)
  end
  add(argv, "--micro-batch-size", run.micro_batch, "--global-batch-size", run.global_batch,
      "--optimizer", "adam")
  common.add_fields(argv, common.megatron_rates, t)
  if settings.dtype == "bf16" or settings.dtype == "fp8" then add(argv, "--bf16") end
  if settings.dtype == "fp16" then
    add(argv, "--fp16", "--initial-loss-scale", t.loss_scale, "--loss-scale-window", t.loss_scale_window)
  end
  if t.evaluate_every > 0 then
    add(argv, "--eval-interval", t.evaluate_every, "--eval-iters", t.evaluate_batches)
  else
    add(argv, "--eval-iters", 0) -- otherwise one evaluation runs at the end
  end
  add(argv, "--log-interval", t.log_every, "--distributed-backend", "nccl")
  if t.keep_checkpoints > 0 then
    add(argv, "--save", common.in_run("checkpoints"), "--load", common.in_run("checkpoints"),
        "--save-interval", t.checkpoint_every > 0 and t.checkpoint_every or run.total_steps)
  end
end

-- Refuses what neither Megatron-LM nor programs derived from it support; `whole`: the program is
-- Megatron-LM of today.
function common.refuse_megatron(whole)
  common.refuse_formats(whole and "fp8" or nil)
  common.refuse_unless(settings.optimizer, "adamw", "optimizer")
  common.refuse_unless(settings.compression, "none", "compression", "use framework = \"torch\", whose hook does it")
  common.refuse_unless(settings.fill_bubbles, false, "fill_bubbles")
  common.refuse_unless(settings.master_weights, true, "master_weights")
  common.refuse_unless(settings.prefetch, 1, "prefetch")
  common.refuse_unless(settings.reduce_dtype, "dtype", "reduce_dtype")
  common.refuse_unless(settings.tied_scatter, "once", "tied_scatter")
  -- What an estimate may assume, and no flag of ours says yet.
  common.refuse_unless(settings.cuda_graphs, "none", "cuda_graphs")
  common.refuse_unless(settings.mtp_layers, 0, "mtp_layers")
  common.refuse_unless(settings.dropout_masks, "usual", "dropout_masks")
  if not whole then
    common.refuse_unless(settings.stage_layers, "", "stage_layers", "let the stages be dealt")
    common.refuse_unless(settings.offload_activations, false, "offload_activations")
    if (settings.zero_stage or 0) > 1 then
      refuse("zero_stage", "gradients and weights are sharded by Megatron-FSDP, which Megatron-LM has", "use zero_stage = 1")
    end
  end
  common.refuse_unless(settings.offload_fraction, 1.0, "offload_fraction")
  if settings.dtype == "tf32" then
    refuse("dtype", framework.name .. " has no flag for tf32", "use bf16 or fp32")
  end
  if training.init ~= "" then
    refuse("training.init", framework.name .. " does not read our checkpoints",
           "leave it out, or train with orch's own trainer")
  end
  unequal("training.seed", "the first weights come from the framework's own random numbers",
          "framework = \"torch\" begins with ours")
  unequal("checkpoints", "they are the framework's own: neither orch export nor our trainers read them", nil)
end

return common
