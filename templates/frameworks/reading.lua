-- Functions that read a command line back into the fields of an experiment: each is a global in the
-- templates. The command line is in `command`; README.md lists its functions.
local reading = {}

local function text(...)
  for i = 1, select("#", ...) do
    local found = command.text((select(i, ...)))
    if found ~= nil then return found end
  end
end

local function number(...)
  for i = 1, select("#", ...) do
    local found = command.number((select(i, ...)))
    if found ~= nil then return found end
  end
end

-- True or false as a switch says it (--bf16, --bf16 False), nil where it is missing.
local function on(...)
  local found = text(...)
  if found == nil then return nil end
  found = string.lower(found)
  return found ~= "false" and found ~= "0" and found ~= "no" and found ~= "none"
end

local function see(...)
  for i = 1, select("#", ...) do
    if command.see((select(i, ...))) then return true end
  end
  return false
end

-- Flags that no estimate depends on.
local function no_effect(names)
  for _, name in ipairs(names) do command.mark(name) end
end

local function integer(word)
  local digits = {}
  for i = 1, #word do
    local c = string.sub(word, i, i)
    if c ~= "_" then digits[#digits + 1] = c end
  end
  return math.tointeger(tonumber(table.concat(digits)))
end

-- "a=1,b=2" as { a = "1", b = "2" }.
local function pairs_of(list)
  local out, first = {}, 1
  for i = 1, #list + 1 do
    if i > #list or string.sub(list, i, i) == "," then
      local part = string.sub(list, first, i - 1)
      for j = 1, #part do
        if string.sub(part, j, j) == "=" then out[string.sub(part, 1, j - 1)] = string.sub(part, j + 1) end
      end
      first = i + 1
    end
  end
  return out
end

local function contains(whole, part)
  for i = 1, #whole - #part + 1 do
    if string.sub(whole, i, i + #part - 1) == part then return true end
  end
  return false
end

-- The named version, or the newest one that the flags allow.
local function version(name, newest)
  if command.asked ~= "" and command.asked_name == name then return command.asked end
  command.assume(name .. "@" .. newest .. " (--framework names another)")
  return name .. "@" .. newest
end

-- 12 of "megatron-lm@0.12.1".
local function minor(framework)
  local from
  for i = 1, #framework - 1 do
    if string.sub(framework, i, i + 1) == "0." then from = i + 2 end
    if from then break end
  end
  if not from then return 0 end
  local to = from
  while to <= #framework and string.byte(framework, to) >= 48 and string.byte(framework, to) <= 57 do to = to + 1 end
  return tonumber(string.sub(framework, from, to - 1)) or 0
end

-- The fields of a list of flags (common.lua), with the program's defaults.
local function read_fields(flags, prefix)
  local out = {}
  for _, flag in ipairs(flags) do
    local default = flag[3]
    local read = type(default) == "string" and text or number
    out[flag[2]] = read(prefix .. flag[1])
    if out[flag[2]] == nil then out[flag[2]] = default end
  end
  return out
end

local function schedule(training)
  local style = training.schedule
  if style == "cosine" or style == "linear" or style == "constant" then return end
  command.assume("schedule cosine, where the script says " .. tostring(style))
  training.schedule = "cosine"
end

-- A path that a run can name: without variables of the script's own surroundings.
local function plain_path(path)
  if path == nil or path == "" then return nil end
  for i = 1, #path do
    local c = string.sub(path, i, i)
    if c == "$" or c == "`" or c == " " then return nil end
  end
  return path
end

-- --- Megatron-LM and its descendants -----------------------------------------------------------------

local vocabularies = { { "bigscience", 250880 }, { "bloom", 250880 }, { "llama-3", 128256 }, { "llama3", 128256 },
                       { "llama-2", 32000 }, { "llama2", 32000 }, { "mixtral", 32000 }, { "mistral", 32000 },
                       { "qwen", 151936 }, { "gpt2", 50257 } }

local function megatron_vocab(framework)
  local kind = text("--tokenizer-type") or ""
  local named = string.lower(text("--tokenizer-name-or-path", "--tokenizer-model") or "")
  local padded, given = number("--pad-vocab-size-to", "--padded-vocab-size"), number("--vocab-size")
  local merges = text("--merge-file")
  no_effect { "--vocab-file" }
  if padded then return padded end
  if given then
    local extra = kind == "NullTokenizer" and (minor(framework) < 18 or string.sub(framework, 1, 12) == "megatron-dee")
    return extra and given + 1 or given
  end
  if kind == "GPT2BPETokenizer" then return 50257 end
  if kind == "" and merges then
    command.assume("GPT-2's vocabulary of 50257, by --merge-file")
    return 50257
  end
  for _, known in ipairs(vocabularies) do
    if contains(named, known[1]) then
      command.assume("vocabulary of " .. known[2] .. " by the tokenizer's name, " .. named)
      return known[2]
    end
  end
  if kind == "Llama2Tokenizer" then
    command.assume("vocabulary of 32000 by --tokenizer-type " .. kind)
    return 32000
  end
end

local function megatron_attention(model)
  local groups = number("--num-query-groups")
  if on("--group-query-attention") and groups then model.kv_heads = groups end
  local channels = number("--kv-channels")
  if channels and model.heads and channels * model.heads ~= model.hidden then model.head_dim = channels end
  if on("--multi-latent-attention") then
    for field, value in pairs(read_fields(megatron_latent, "")) do model[field] = value end
    no_effect { "--qk-layernorm" } -- its norms are part of it
  elseif on("--qk-layernorm") then
    model.qk_norm = true
  end
  if on("--add-qkv-bias") then model.qkv_bias = true end
  if on("--use-rope-scaling") then
    model.rope_factor = number("--rope-scaling-factor") or 8
  end
end

-- The dense layers of --moe-layer-freq "([0]*3+[1]*58)", which has a 0 for each of them.
local function dense_layers(pattern)
  local at, count = 1, 0
  local function digits()
    local first = at
    while at <= #pattern and string.byte(pattern, at) >= 48 and string.byte(pattern, at) <= 57 do at = at + 1 end
    return tonumber(string.sub(pattern, first, at - 1))
  end
  while at <= #pattern do
    local c, places = string.sub(pattern, at, at), 0
    at = at + 1
    if c == "[" then
      local dense = false
      while at <= #pattern and string.sub(pattern, at, at) ~= "]" do
        local value = digits()
        if value then places, dense = places + 1, value == 0 else at = at + 1 end
      end
      at = at + 1
      local times = 1
      if string.sub(pattern, at, at) == "*" then
        at = at + 1
        times = digits() or 1
      end
      if places > 1 then return nil end
      if not dense then return count end
      count = count + times
    end
  end
  return count
end

local function megatron_mixture(model)
  local mixture = read_fields(megatron_experts, "")
  if not mixture.experts then return end
  for field, value in pairs(mixture) do model[field] = value end
  if on("--moe-router-enable-expert-bias") then model.router_bias = true end
  local pattern = text("--moe-layer-freq")
  if pattern and pattern ~= "1" then
    local dense = contains(pattern, "[") and dense_layers(pattern)
    if dense then
      model.dense_layers = dense > 0 and dense or nil
    else
      command.assume("experts in every layer, where the script says --moe-layer-freq " .. pattern)
    end
  end
  local shared = number("--moe-shared-expert-intermediate-size")
  local width = model.expert_hidden or model.ffn_hidden
  if shared and width then model.shared_experts = math.max(1, shared // width) end
end

-- The family with these parts, and the fields that are not its habit.
local function family_of(model, parts)
  if model.experts then
    if not parts.rms_norm then model.rms_norm = false end
    if not parts.swiglu then model.swiglu = false end
    if not parts.rope then model.rope = false end
    if parts.bias then model.bias = true end
    if parts.tied then model.tied = true end
    return "moe"
  end
  if parts.alibi and parts.embedding_norm and parts.bias and parts.tied then return "bloom" end
  if parts.swiglu and parts.rms_norm and parts.rope and not parts.bias then
    if parts.tied then model.tied = true end
    return "llama"
  end
  local four = not model.ffn_hidden or model.ffn_hidden == 4 * (model.hidden or 0)
  local plain = four and not model.kv_heads and not model.head_dim and not model.qkv_bias and not model.qk_norm
  if plain and parts.bias and parts.tied and not (parts.swiglu or parts.rms_norm or parts.rope or parts.alibi or parts.embedding_norm) then
    model.ffn_hidden = nil
    return "gpt"
  end
  for name, value in pairs(parts) do
    if value then model[name] = true end
  end
  return "transformer"
end

local function megatron_model(framework)
  local model = read_fields(megatron_sizes, "")
  model.seq = model.seq or number("--encoder-seq-length") or number("--max-position-embeddings")
  no_effect { "--max-position-embeddings" }
  model.vocab = megatron_vocab(framework)
  model.ffn_hidden = number("--ffn-hidden-size")
  megatron_attention(model)
  megatron_mixture(model)
  local place = text("--position-embedding-type") or ""
  local rope = place == "rope" or on("--use-rotary-position-embeddings") == true
  local parts = {
    swiglu = on("--swiglu") == true, rms_norm = text("--normalization") == "RMSNorm", rope = rope,
    alibi = place == "alibi", embedding_norm = on("--embed-layernorm") == true,
    bias = not on("--disable-bias-linear"), tied = not on("--untie-embeddings-and-output-weights"),
  }
  if parts.swiglu and not model.ffn_hidden and model.hidden then
    model.ffn_hidden = 4 * model.hidden * 2 // 3 // 64 * 64
  end
  local epsilon, base = number("--norm-epsilon", "--layernorm-epsilon"), number("--rotary-base")
  local family = family_of(model, parts)
  if epsilon and epsilon ~= 1e-5 and (family == "llama" or family == "transformer") then model.norm_epsilon = epsilon end
  if rope and base and base ~= 10000 then model.rope_theta = base end
  if place == "none" then command.assume("positions are learned, where the script has none") end
  return family, model
end

-- Samples until the batch is full cost more steps: Megatron's rule, the same number of samples at
-- each batch.
local function steps_of(samples, batch, rampup)
  if not samples or not batch then return nil end
  if not rampup then return samples // batch end
  local rises = (batch - rampup.start) // rampup.step
  local each, consumed, steps = rampup.samples / math.max(1, rises), 0, 0
  while consumed < samples and consumed < rampup.samples do
    consumed = consumed + math.min(batch, rampup.start + rampup.step * math.floor(consumed / each))
    steps = steps + 1
  end
  return steps + math.max(0, samples - consumed) // batch
end

-- The samples of so many steps.
local function samples_of(steps, batch, rampup)
  if not rampup then return steps * batch end
  local rises = (batch - rampup.start) // rampup.step
  local each, consumed = rampup.samples / math.max(1, rises), 0
  while steps > 0 and consumed < rampup.samples do
    consumed = consumed + math.min(batch, rampup.start + rampup.step * math.floor(consumed / each))
    steps = steps - 1
  end
  return consumed + steps * batch
end

local function megatron_batch(settings)
  local batch = { micro_batch = number("--micro-batch-size", "--batch-size"), global_batch = number("--global-batch-size") }
  local copy = (settings.tensor_parallel or 1) * (settings.pipeline_parallel or 1) * (settings.context_parallel or 1)
  if not batch.global_batch and batch.micro_batch and command.gpus > 0 then
    batch.global_batch = batch.micro_batch * math.max(1, command.gpus // copy)
    command.assume("global batch of " .. batch.global_batch .. ": one micro-batch for each replica, as Megatron has it without --global-batch-size")
  end
  local grows, rampup = command.all("--rampup-batch-size"), nil
  if grows and #grows == 3 then
    rampup = { start = integer(grows[1]), step = integer(grows[2]), samples = integer(grows[3]) }
    local given = rampup.start and rampup.step and rampup.samples and batch.global_batch
    if not given or rampup.start < 1 or rampup.step < 1 or rampup.samples < 1 then rampup = nil end
  end
  return batch, rampup
end

local function megatron_amount(model, batch, rampup, training)
  local iterations, samples = number("--train-iters"), number("--train-samples")
  local tokens = number("--train-tokens")
  if not tokens and samples and model.seq then tokens = samples * model.seq end
  if not tokens and iterations and batch.global_batch and model.seq then
    tokens = samples_of(iterations, batch.global_batch, rampup) * model.seq
  end
  local warmup = number("--lr-warmup-iters") or steps_of(number("--lr-warmup-samples"), batch.global_batch, rampup)
  local decay = number("--lr-decay-iters") or steps_of(number("--lr-decay-samples"), batch.global_batch, rampup)
  local share = number("--lr-warmup-fraction")
  if share and (decay or iterations) then warmup = math.floor(share * (decay or iterations)) end
  if warmup and warmup > 0 then training.warmup_steps = warmup end
  if decay and decay ~= iterations then training.decay_steps = decay end
  if training.decay_steps and training.warmup_steps and training.warmup_steps > training.decay_steps then
    training.decay_steps = nil
  end
  return tokens
end

local function megatron_training()
  local training = read_fields(megatron_rates, "")
  schedule(training)
  if on("--fp16") then
    training.loss_scale = number("--initial-loss-scale") or 2 ^ 32
    training.loss_scale_window = number("--loss-scale-window") or 1000
  else
    no_effect { "--initial-loss-scale", "--loss-scale-window" }
  end
  local every, count = number("--eval-interval"), number("--eval-iters")
  if every and count and count > 0 then training.evaluate_every, training.evaluate_batches = every, count end
  training.checkpoint_every = number("--save-interval")
  local split = text("--split")
  if split and contains(split, ",") then training.split = split end
  local paths = command.all("--data-path")
  if paths and #paths == 1 then training.data = plain_path(paths[1]) end
  training.log_every = number("--log-interval")
  if training.log_every and training.log_every < 1 then training.log_every = nil end
  return training
end

local function megatron_dtype()
  if text("--fp8-format") or on("--fp8-hybrid", "--fp8-e4m3") then
    no_effect { "--bf16" }
    local recipe = text("--fp8-recipe")
    if recipe and recipe ~= "tensorwise" and recipe ~= "delayed" then
      command.assume("fp8 with a scale for each tensor, where the script says --fp8-recipe " .. recipe)
    end
    return "fp8"
  end
  if on("--bf16") then return "bf16" end
  if on("--fp16") then return "fp16" end
  command.assume("fp32, because neither --bf16 nor --fp16 is there")
  return "fp32"
end

local function megatron_recompute(settings)
  local old = on("--checkpoint-activations", "--deepspeed-activation-checkpointing")
  no_effect { "--deepspeed-activation-checkpointing", "--recompute-method", "--recompute-num-layers", "--checkpoint-num-layers",
              "--partition-activations", "--checkpoint-activations" }
  local grain = text("--recompute-granularity")
  if on("--recompute-activations") then grain = "selective" end
  settings.recompute = grain or (old and "full") or "none"
  local modules = command.all("--recompute-modules")
  if modules and #modules > 0 and settings.recompute == "selective" then settings.recompute_modules = table.concat(modules, "+") end
end

-- Each (ab)*3 or a*3 of a text written out.
local function written_out(text)
  local out, group, last = {}, nil, ""
  local at = 1
  while at <= #text do
    local c = string.sub(text, at, at)
    if c == "*" then
      local first = at + 1
      while at < #text and string.byte(text, at + 1) >= 48 and string.byte(text, at + 1) <= 57 do at = at + 1 end
      for _ = 2, tonumber(string.sub(text, first, at)) or 1 do out[#out + 1] = last end
      if string.sub(text, first, at) == "0" then out[#out] = nil end
    elseif c == "(" then
      group = at + 1
    elseif c == ")" and group then
      last = string.sub(text, group, at - 1)
      out[#out + 1] = last
      group = nil
    elseif not group and c ~= "," then
      last = c
      out[#out + 1] = c
    end
    at = at + 1
  end
  return table.concat(out)
end

-- "7,7,6" of --pipeline-model-parallel-layout "Et*7|t*7|t*6L"; nil where stages have several pieces.
local function layers_of_stages(layout, stages)
  local parts = listed(written_out(written_out(layout)), "|")
  if #parts ~= stages then
    command.assume("layers dealt evenly, where the script says --pipeline-model-parallel-layout " .. layout)
    return nil
  end
  local counts = {}
  for i, part in ipairs(parts) do
    local count = 0
    for j = 1, #part do
      if string.sub(part, j, j) == "t" then count = count + 1 end
    end
    counts[i] = string.format("%d", count)
  end
  return table.concat(counts, ",")
end

local function megatron_layout(settings)
  settings.tensor_parallel = number("--tensor-model-parallel-size", "--model-parallel-size") or 1
  settings.pipeline_parallel = on("--no-pipeline-parallel") and 1 or number("--pipeline-model-parallel-size") or 1
  settings.context_parallel = number("--context-parallel-size")
  settings.expert_parallel = number("--expert-model-parallel-size")
  settings.expert_tensor_parallel = number("--expert-tensor-parallel-size")
  local sender = text("--moe-token-dispatcher-type")
  if sender == "flex" or on("--moe-enable-deepep") then
    settings.expert_dispatch = "nodes"
    local groups, limit = number("--moe-router-num-groups"), number("--moe-router-group-topk")
    local ranks = (settings.expert_parallel or 1) * (settings.expert_tensor_parallel or settings.tensor_parallel)
    if groups and limit and command.gpus_per_node > 0 and groups * command.gpus_per_node == ranks then settings.nodes_limit = limit end
  elseif sender == "allgather" then
    command.assume("experts' tokens travel all-to-all, where the script gathers them")
  end
  no_effect { "--moe-enable-deepep", "--moe-flex-dispatcher-backend", "--moe-router-num-groups", "--moe-router-group-topk" }
  if on("--overlap-moe-expert-parallel-comm") then settings.overlap_experts = true end
  local way = text("--cp-comm-type")
  if way and way ~= "p2p" and settings.context_parallel and settings.context_parallel > 1 then
    command.assume("context parallelism passes keys and values in a ring, where the script says --cp-comm-type " .. way)
  end
  settings.sequence_parallel = on("--sequence-parallel") == true
  if settings.tensor_parallel == 1 then settings.sequence_parallel = false end
  if on("--tp-comm-overlap") then settings.overlap_tensor = true end
  settings.interleave = number("--num-virtual-stages-per-pipeline-rank")
  local chunk = number("--num-layers-per-virtual-pipeline-stage")
  if chunk and chunk > 0 then
    local layers = command.number("--num-layers")
    if layers then settings.interleave = math.max(1, layers // (settings.pipeline_parallel * chunk)) end
  end
  local written = text("--pipeline-model-parallel-layout")
  if written and not chunk and not settings.interleave then settings.stage_layers = layers_of_stages(written, settings.pipeline_parallel) end
  local method = text("--pp-partition-method") or ""
  local ends = on("--account-for-embedding-in-pipeline-split") and on("--account-for-loss-in-pipeline-split")
  if ends or contains(method, "embedding") then settings.stage_partition = "transformer|embedding" end
  settings.vocab_multiple = number("--make-vocab-size-divisible-by")
end

local function megatron_kernels(settings)
  local backend = text("--attention-backend")
  if on("--use-flash-attn", "--use-flash-attn-v1", "--use-flash-attn-v2", "--use-flash-attn-triton") or backend == "flash" or
     backend == "fused" then
    settings.flash_attention = true
  elseif backend == "unfused" or backend == "local" then
    settings.flash_attention = false
  end
  if on("--no-masked-softmax-fusion") or on("--no-bias-gelu-fusion") or on("--no-bias-dropout-fusion") then
    settings.fused_kernels = false
  end
  no_effect { "--no-masked-softmax-fusion", "--no-bias-gelu-fusion", "--no-bias-dropout-fusion" }
  if on("--cross-entropy-loss-fusion") then settings.cross_entropy = "fused" end
  if on("--overlap-grad-reduce") then settings.overlap_grad_reduce = true end
  if on("--overlap-param-gather") then settings.overlap_param_gather = true end
  local blocking = command.variable("CUDA_LAUNCH_BLOCKING")
  if blocking == "1" then settings.launch_blocking = true end
end

local function megatron_offload(settings)
  if on("--optimizer-cpu-offload") then settings.offload = "optimizer" end
  no_effect { "--optimizer-offload-fraction", "--use-precision-aware-optimizer", "--overlap-cpu-optimizer-d2h-h2d" }
  local layers, modules = number("--cpu-offloading-num-layers"), command.all("--offload-modules")
  if layers then settings.offload_activations, settings.offload_layers = true, layers end
  if on("--fine-grained-activation-offloading") then
    settings.offload_activations = true
    if modules and #modules > 0 then settings.offload_modules = table.concat(modules, "+") end
  end
end

local megatron_silent = {
  "--save", "--load", "--tensorboard-dir", "--tensorboard-queue-size", "--tensorboard-log-interval", "--log-throughput",
  "--log-timers-to-tensorboard", "--log-batch-size-to-tensorboard", "--log-validation-ppl-to-tensorboard", "--log-params-norm",
  "--log-num-zeros-in-grad", "--log-memory-to-tensorboard", "--log-progress", "--log-world-size-to-tensorboard", "--timing-log-level",
  "--wandb-project", "--wandb-exp-name", "--wandb-save-dir", "--wandb-entity", "--distributed-backend", "--distributed-timeout-minutes",
  "--num-workers", "--valid-num-workers", "--data-impl", "--data-cache-path", "--mock-data", "--train-data-path", "--valid-data-path",
  "--test-data-path", "--train-weighted-split-paths", "--train-weighted-split-paths-path", "--valid-weighted-split-paths",
  "--valid-weighted-split-paths-path", "--test-weighted-split-paths", "--test-weighted-split-paths-path", "--no-load-rng",
  "--no-load-optim", "--no-save-optim", "--no-save-rng", "--finetune", "--ckpt-format", "--dist-ckpt-format", "--use-dist-ckpt",
  "--async-save", "--ckpt-fully-parallel-save", "--auto-detect-ckpt-format", "--exit-signal-handler", "--exit-duration-in-mins",
  "--exit-interval", "--exit-on-missing-checkpoint", "--kill-switch-path", "--override-opt_param-scheduler", "--override-lr-scheduler",
  "--use-mcore-models", "--transformer-impl", "--optimizer", "--min-loss-scale", "--hysteresis", "--no-persist-layer-norm",
  "--no-gradient-accumulation-fusion", "--abort-on-unmet-fused-kernel-constraints", "--deepspeed", "--local_rank", "--use-cpu-initialization",
  "--rerun-mode", "--attention-softmax-in-fp32", "--no-check-for-nan-in-loss-and-grad", "--no-create-attention-mask-in-dataloader",
  "--manual-gc", "--manual-gc-interval", "--eod-mask-loss", "--reset-position-ids", "--reset-attention-mask", "--inference",
  "--apply-layernorm-1p", "--rotary-percent", "--use-rope-scaling", "--num-dataset-builder-threads", "--adam-eps", "--start-weight-decay",
  "--end-weight-decay", "--weight-decay-incr-style", "--codecarbon-dir", "--universal-checkpoint", "--no-async-tensor-model-parallel-allreduce",
  "--profile", "--profile-step-start", "--profile-step-end", "--profile-ranks", "--moe-router-load-balancing-type", "--moe-aux-loss-coeff",
  "--moe-grouped-gemm", "--moe-z-loss-coeff", "--moe-router-dtype", "--lr-warmup-init", "--mmap-warmup",
  "--moe-router-score-function", "--moe-router-pre-softmax", "--moe-router-topk-scaling-factor", "--moe-router-bias-update-rate",
  "--moe-permute-fusion", "--moe-router-fusion", "--rope-type", "--no-rope-fusion", "--fp8-amax-history-len", "--fp8-amax-compute-algo",
  "--fp8-margin", "--fp8-interval", "--cross-entropy-fusion-impl", "--rope-scaling-factor",
}

-- Arguments that a written experiment has as its own.
local function pass(names)
  local args = {}
  for _, name in ipairs(names) do
    local values = command.all(name)
    if values then
      local plain = true
      for _, value in ipairs(values) do plain = plain and plain_path(value) ~= nil end
      if plain then add(args, name, table.unpack(values)) end
    end
  end
  return args
end

local function read_megatron(framework, settings, strategy)
  megatron_layout(settings)
  settings.dtype = megatron_dtype()
  megatron_recompute(settings)
  megatron_kernels(settings)
  megatron_offload(settings)
  local family, model = megatron_model(framework)
  local batch, rampup = megatron_batch(settings)
  local training = megatron_training()
  local tokens = megatron_amount(model, batch, rampup, training)
  no_effect(megatron_silent)
  return { framework = framework, strategy = strategy, family = family, model = model, batch = batch, rampup = rampup,
           settings = settings, training = training, tokens = tokens }
end

local function is_bloom()
  return see("--embed-layernorm", "--pp-partition-method", "--kill-switch-path", "--pad-vocab-size-to") or
    command.see("--position-embedding-type") and command.text("--position-embedding-type") == "alibi"
end

function reading.read_megatron_lm()
  if command.see("--deepspeed") or is_bloom() then return nil end
  local framework = version("megatron-lm", see("--rampup-batch-size") and "0.17" or "0.19")
  local settings, strategy = { engine = "megatron" }, "megatron"
  local kept = text("--data-parallel-sharding-strategy") or "no_shard"
  settings.zero_stage = on("--use-distributed-optimizer") and 1 or 0
  if on("--use-megatron-fsdp", "--use-custom-fsdp") then
    settings.zero_stage = ({ optim = 1, optim_grads = 2, optim_grads_params = 3 })[kept] or 0
  end
  local made = read_megatron(framework, settings, strategy)
  if settings.zero_stage > 1 then settings.overlap_grad_reduce = nil end -- Megatron-FSDP always does
  local reduces = on("--grad-reduce-in-bf16")
  if settings.dtype == "bf16" or settings.dtype == "fp8" then
    settings.fp32_accumulate = not reduces
    no_effect { "--accumulate-allreduce-grads-in-fp32" }
  else
    settings.fp32_accumulate = on("--accumulate-allreduce-grads-in-fp32") == true
  end
  if on("--use-torch-fsdp2") then
    made.strategy, made.framework = "fsdp", ""
    made.settings = { engine = "framework", tensor_parallel = settings.tensor_parallel, recompute = settings.recompute,
                      dtype = settings.dtype, flash_attention = settings.flash_attention, sharding = "full" }
  end
  made.args = pass { "--num-workers" }
  return made
end

-- ds_config.json of the flag, as settings "ds:zero_optimization.stage".
local function open_deepspeed(...)
  local file = text(...)
  if file == nil or file == "" then return false end
  return command.open(file, "ds:")
end

local function deepspeed_stage() return number("ds:zero_optimization.stage") end

local function deepspeed_offload()
  local weights = text("ds:zero_optimization.offload_param.device") or "none"
  local states = text("ds:zero_optimization.offload_optimizer.device") or "none"
  if on("ds:zero_optimization.cpu_offload") then states = "cpu" end
  if weights ~= "none" then return "full" end
  return states ~= "none" and "optimizer" or nil
end

local deepspeed_silent = {
  "ds:steps_per_print", "ds:wall_clock_breakdown", "ds:gradient_clipping", "ds:train_batch_size", "ds:train_micro_batch_size_per_gpu",
  "ds:gradient_accumulation_steps", "ds:bf16.enabled", "ds:fp16.enabled", "ds:fp16.loss_scale", "ds:fp16.loss_scale_window",
  "ds:fp16.hysteresis", "ds:fp16.min_loss_scale", "ds:fp16.initial_scale_power", "ds:fp16.auto_cast", "ds:optimizer.type",
  "ds:optimizer.params.lr", "ds:optimizer.params.betas", "ds:optimizer.params.eps", "ds:optimizer.params.weight_decay",
  "ds:optimizer.params.torch_adam", "ds:optimizer.params.adam_w_mode", "ds:scheduler.type", "ds:scheduler.params.warmup_min_lr",
  "ds:scheduler.params.warmup_max_lr", "ds:scheduler.params.warmup_num_steps", "ds:scheduler.params.total_num_steps",
  "ds:zero_optimization.overlap_comm", "ds:zero_optimization.contiguous_gradients", "ds:zero_optimization.reduce_bucket_size",
  "ds:zero_optimization.allgather_bucket_size", "ds:zero_optimization.allgather_partitions", "ds:zero_optimization.reduce_scatter",
  "ds:zero_optimization.round_robin_gradients", "ds:zero_optimization.stage3_prefetch_bucket_size",
  "ds:zero_optimization.stage3_param_persistence_threshold", "ds:zero_optimization.stage3_max_live_parameters",
  "ds:zero_optimization.stage3_max_reuse_distance", "ds:zero_optimization.sub_group_size",
  "ds:zero_optimization.stage3_gather_16bit_weights_on_model_save", "ds:zero_optimization.offload_optimizer.pin_memory",
  "ds:zero_optimization.offload_param.pin_memory", "ds:zero_optimization.offload_optimizer.device", "ds:zero_optimization.offload_param.device",
  "ds:zero_allow_untested_optimizer", "ds:prescale_gradients", "ds:data_types.grad_accum_dtype", "ds:communication_data_type",
  "ds:activation_checkpointing.partition_activations", "ds:activation_checkpointing.contiguous_memory_optimization",
}

function reading.read_bloom()
  if not is_bloom() then return nil end
  local settings = { engine = "deepspeed" }
  open_deepspeed("--deepspeed_config")
  local made = read_megatron("megatron-deepspeed-bloom", settings, "megatron")
  local stage = deepspeed_stage() or number("--zero-stage") or 0
  no_effect { "--zero-stage" }
  -- Its bf16 optimizer shards the states, whatever the stage.
  settings.zero_stage = settings.dtype == "bf16" and 1 or math.min(stage, 1)
  settings.fp32_accumulate = settings.dtype == "bf16" or on("--accumulate-allreduce-grads-in-fp32") == true
  settings.flash_attention = false -- it is older
  settings.offload = deepspeed_offload() and "optimizer" or on("--cpu-optimizer") and "optimizer" or nil
  if settings.stage_partition == nil and settings.pipeline_parallel > 1 then settings.stage_partition = "uniform" end
  no_effect(deepspeed_silent)
  no_effect { "--accumulate-allreduce-grads-in-fp32", "--cpu-optimizer", "--checkpoint-in-cpu" }
  made.args = pass { "--tokenizer-type", "--tokenizer-name-or-path", "--train-weighted-split-paths", "--train-weighted-split-paths-path",
                     "--valid-weighted-split-paths", "--valid-weighted-split-paths-path", "--num-workers", "--valid-num-workers",
                     "--exit-duration-in-mins" }
  return made
end

function reading.read_megatron_deepspeed()
  if not command.see("--deepspeed") or is_bloom() then return nil end
  local settings = { engine = "deepspeed" }
  open_deepspeed("--deepspeed_config")
  local framework = version("megatron-deepspeed", "0.19")
  local made = read_megatron(framework, settings, "megatron")
  local stage = deepspeed_stage() or number("--zero-stage") or 0
  no_effect { "--zero-stage" }
  local away = deepspeed_offload() or on("--cpu-optimizer") and "optimizer" or nil
  settings.zero_stage, settings.offload = stage, away
  settings.fp32_accumulate = text("ds:data_types.grad_accum_dtype") == "fp32"
  if stage > 1 and settings.pipeline_parallel == 1 then
    made.strategy = "deepspeed"
    made.settings = { engine = "framework", stage = stage, offload = away, tensor_parallel = settings.tensor_parallel,
                      recompute = settings.recompute, dtype = settings.dtype, flash_attention = settings.flash_attention,
                      fused_kernels = settings.fused_kernels ~= false }
  end
  no_effect(deepspeed_silent)
  no_effect { "--cpu-optimizer" }
  return made
end

-- --- Hugging Face's Trainer -------------------------------------------------------------------------

local gpt2 = { gpt2 = { 12, 768, 12 }, ["gpt2-medium"] = { 24, 1024, 16 }, ["gpt2-large"] = { 36, 1280, 20 },
               ["gpt2-xl"] = { 48, 1600, 25 } }

-- The model of --model_type and --config_overrides, or the name of a known one.
local function trainer_model()
  local kind = text("--model_type") or ""
  local name = text("--model_name_or_path", "--config_name")
  local over = pairs_of(text("--config_overrides") or "")
  local seq = number("--block_size")
  local size = gpt2[name or (kind == "gpt2" and "gpt2" or "")]
  if name and not size then return nil, { seq = seq }, name end
  local of = function(key, index) return over[key] and integer(over[key]) or size and size[index] end
  local bloom = kind == "bloom"
  local model = { layers = of("n_layer", 1), hidden = of(bloom and "hidden_size" or "n_embd", 2), heads = of("n_head", 3),
                  vocab = over.vocab_size and integer(over.vocab_size) or (bloom and 250880 or 50257),
                  seq = seq or over.n_positions and integer(over.n_positions) or size and 1024 }
  if not bloom and kind ~= "gpt2" and not name then return nil, model end
  return bloom and "bloom" or "gpt", model, nil, over
end

local function trainer_training(over)
  local training = read_fields(trainer_rates, "")
  training.learning_rate = number("--learning_rate") or 5e-5
  training.warmup_steps = number("--warmup_steps")
  local style = text("--lr_scheduler_type") or "linear"
  local floor = text("--lr_scheduler_kwargs")
  training.schedule = contains(style, "cosine") and "cosine" or contains(style, "constant") and "constant" or "linear"
  training.min_learning_rate = 0
  for i = 1, #(floor or "") do
    if string.sub(floor, i, i) == ":" then
      local last = #floor
      while last > i and string.sub(floor, last, last) == "}" do last = last - 1 end
      training.min_learning_rate = tonumber(string.sub(floor, i + 1, last)) or 0
    end
  end
  training.dropout = tonumber(over.resid_pdrop or over.hidden_dropout or "0.1")
  training.attention_dropout = tonumber(over.attn_pdrop or over.attention_dropout or "0.1")
  training.init_std = tonumber(over.initializer_range or "0.02")
  if text("--save_strategy") ~= "no" then training.checkpoint_every = number("--save_steps") end
  training.log_every = number("--logging_steps")
  if training.log_every and training.log_every < 1 then training.log_every = nil end
  return training
end

local function trainer_dtype()
  local mixed = text("launcher:--mixed_precision", "acc:mixed_precision") or command.variable("ACCELERATE_MIXED_PRECISION") or ""
  if on("--bf16") or on("ds:bf16.enabled", "ds:bfloat16.enabled") or mixed == "bf16" then return "bf16" end
  if on("--fp16") or on("ds:fp16.enabled") or mixed == "fp16" then return "fp16" end
  if on("--tf32") then return "tf32" end
  command.assume("fp32, because nothing says bf16 or fp16")
  return "fp32"
end

-- What FSDP is told by a configuration of accelerate, by options of its launcher or by variables.
local function fsdp_said(name)
  return text("acc:fsdp_config." .. name, "launcher:--" .. name) or command.variable(string.upper(name))
end

local function fsdp_settings(kind)
  local full = string.lower(fsdp_said("fsdp_reshard_after_forward") or "true")
  local old = string.lower(fsdp_said("fsdp_sharding_strategy") or kind)
  local away = string.lower(fsdp_said("fsdp_offload_params") or "false")
  local again = string.lower(fsdp_said("fsdp_activation_checkpointing") or "false")
  local sharding = "full"
  if full == "false" or contains(old, "grad_op") or old == "2" then sharding = "grad_op" end
  if contains(old, "hybrid") then sharding = "hybrid" end
  return { engine = "framework", sharding = sharding, offload = (away == "true" or contains(kind, "offload")) and "full" or "none",
           recompute = again == "true" and "full" or "none" }
end

local trainer_silent = {
  "--model_type", "--tokenizer_name", "--train_file", "--validation_file", "--dataset_name", "--dataset_config_name", "--do_train",
  "--do_eval", "--output_dir", "--overwrite_output_dir", "--report_to", "--save_strategy", "--save_total_limit", "--save_steps",
  "--logging_dir", "--logging_strategy", "--cache_dir", "--preprocessing_num_workers", "--dataloader_num_workers", "--trust_remote_code",
  "--max_train_samples", "--max_eval_samples", "--evaluation_strategy", "--eval_strategy", "--eval_steps", "--per_device_eval_batch_size",
  "--logging_first_step", "--ddp_timeout", "--tf32", "--torch_dtype", "--config_overrides", "--optim", "--run_name", "--use_fast_tokenizer",
  "--low_cpu_mem_usage", "--validation_split_percentage", "--fsdp_transformer_layer_cls_to_wrap", "--fsdp_config", "--hub_model_id",
  "--push_to_hub", "--keep_linebreaks", "--streaming", "--ddp_find_unused_parameters", "--overwrite_cache", "--local_rank",
}

local function trainer_amount(batch, model, training)
  local steps = number("--max_steps")
  if steps and batch.global_batch and model.seq then
    no_effect { "--num_train_epochs" }
    return steps * batch.global_batch * model.seq, steps
  end
end

local function trainer_batch()
  local batch = { micro_batch = number("--per_device_train_batch_size") or number("ds:train_micro_batch_size_per_gpu") or 8 }
  local each = number("--gradient_accumulation_steps") or number("ds:gradient_accumulation_steps") or 1
  batch.global_batch = number("ds:train_batch_size")
  if not batch.global_batch and command.gpus > 0 then batch.global_batch = batch.micro_batch * each * command.gpus end
  return batch
end

-- run_clm.py by DeepSpeed, FSDP or DDP; `name` is the template that asks.
function reading.read_run_clm(name)
  local config = text("launcher:--config_file")
  if config and config ~= "" then command.open(config, "acc:") end
  local kind = string.lower(text("--fsdp") or "")
  local use = string.lower(text("acc:distributed_type") or "")
  local fsdp = kind ~= "" or contains(use, "fsdp") or command.variable("ACCELERATE_USE_FSDP") == "true" or
    text("launcher:--use_fsdp") ~= nil
  if (name == "hf-fsdp") ~= fsdp then return nil end
  local has_config = see("--deepspeed", "launcher:--deepspeed_config_file") and
    open_deepspeed("--deepspeed", "launcher:--deepspeed_config_file")
  local stage = has_config and deepspeed_stage() or number("launcher:--zero_stage", "acc:deepspeed_config.zero_stage") or 0
  local family, model, preset, over = trainer_model()
  over = over or {}
  local batch, training = trainer_batch(), trainer_training(over)
  local tokens = trainer_amount(batch, model, training)
  local settings, strategy = nil, "fsdp"
  if fsdp then
    settings = fsdp_settings(kind)
  elseif stage > 0 then
    strategy = "deepspeed"
    settings = { engine = "framework", stage = stage, offload = deepspeed_offload() or "none" }
    local ratio = number("ds:zero_optimization.offload_optimizer.ratio")
    if ratio then settings.offload_fraction = ratio end
  else
    strategy, settings = "ddp", { engine = "framework" }
  end
  settings.dtype = trainer_dtype()
  if on("--gradient_checkpointing") then settings.recompute = "full" end
  local attention = text("--attn_implementation")
  if attention then settings.flash_attention = attention ~= "eager" end
  if on("--torch_compile") then command.assume("not compiled: its gain is not estimated") end
  no_effect(trainer_silent)
  no_effect(deepspeed_silent)
  local known = name == "hf-deepspeed" and strategy ~= "ddp" or fsdp
  return { framework = known and family and version(name, "5") or "", strategy = strategy, family = family, preset = preset, model = model,
           batch = batch, settings = settings, training = training, tokens = tokens }
end

-- --- torchtitan ----------------------------------------------------------------------------------------

local titan_silent = {
  "--job.config_file", "--job.dump_folder", "--job.description", "--job.print_config", "--job.print_args", "--model.hf_assets_path",
  "--model.tokenizer_path", "--model.name", "--metrics.log_freq", "--metrics.enable_tensorboard", "--metrics.enable_wandb",
  "--metrics.save_tb_folder", "--metrics.disable_color_printing", "--metrics.enable_color_printing", "--profiling.enable_profiling", "--profiling.save_traces_folder",
  "--profiling.profile_freq", "--profiling.enable_memory_snapshot", "--profiling.save_memory_snapshot_folder", "--optimizer.name",
  "--training.dataset", "--training.dataset_path", "--training.mixed_precision_reduce", "--checkpoint.enable",
  "--checkpoint.enable_checkpoint", "--checkpoint.folder", "--checkpoint.interval", "--checkpoint.last_save_model_only",
  "--checkpoint.last_save_model_weights_only", "--checkpoint.export_dtype", "--checkpoint.async_mode", "--checkpoint.keep_latest_k",
  "--activation_checkpoint.selective_ac_option", "--comm.init_timeout_seconds", "--comm.train_timeout_seconds", "--comm.trace_buf_size",
  "--debug.deterministic", "--parallelism.pipeline_parallel_microbatch_size", "--parallelism.pipeline_parallel_layers_per_stage",
  "--lr_scheduler.decay_ratio", "--validation.enable", "--validation.freq", "--validation.steps", "--validation.dataset",
  "--experimental.custom_import", "--optimizer.implementation", "--optimizer.early_step_in_backward", "--compile.components",
  "--quantize.linear.float8.filter_fqns", "--quantize.linear.float8.enable_fsdp_float8_all_gather",
  "--quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp", "--config", "--module", "--hf_assets_path", "--dump_folder", "--training.gc_freq", "--parallelism.enable_async_tensor_parallel",
  "--parallelism.disable_loss_parallel", "--model.print_after_conversion", "--training.compile", "--compile.enable",
}

local function titan_model(flavors)
  local name, flavor = text("--model.name") or "llama3", text("--model.flavor")
  local config = text("--config") or ""
  for known in pairs(flavors) do
    if contains(config, string.lower("_" .. known)) then flavor = known end
  end
  local size = flavors[flavor or ""]
  local model = { seq = number("--training.seq_len") or number("--training.max_context_length") }
  if not size or not contains(name, "llama3") then return nil, model, flavor and name .. "-" .. flavor or nil end
  model.seq = model.seq or 2048
  return nil, model, (flavor == "405B" and "llama-3.1-" or "llama-3-") .. string.lower(flavor)
end

local function titan_batch(model)
  local batch = { micro_batch = number("--training.local_batch_size", "--training.batch_size"),
                  global_batch = number("--training.global_batch_size") }
  local tokens, all = number("--training.num_tokens_per_microbatch_per_dp_rank"), number("--training.num_tokens_per_train_step")
  if tokens and model.seq then batch.micro_batch = tokens // model.seq end
  if all and model.seq then batch.global_batch = all // model.seq end
  return batch
end

function reading.read_torchtitan(flavors)
  local file = text("--job.config_file", "--job.config-file")
  if not file and command.program == "run_train.sh" then file = command.variable("CONFIG_FILE") end
  if file and file ~= "" then command.open(file, "--") end
  local _, model, preset = titan_model(flavors)
  local tensor = number("--parallelism.tensor_parallel_degree", "--training.tensor_parallel_degree") or 1
  local pipe = number("--parallelism.pipeline_parallel_degree", "--experimental.pipeline_parallel_degree") or 1
  local context = number("--parallelism.context_parallel_degree", "--experimental.context_parallel_degree") or 1
  local shards = number("--parallelism.data_parallel_shard_degree", "--training.data_parallel_shard_degree") or -1
  local mirrors = number("--parallelism.data_parallel_replicate_degree", "--training.data_parallel_replicate_degree") or 1
  local ranks = command.gpus // (tensor * pipe * context)
  if shards < 1 then shards = math.max(1, ranks // mirrors) end
  local batch = titan_batch(model)
  if batch.global_batch and batch.global_batch < 1 then batch.global_batch = nil end
  local part = number("--parallelism.pipeline_parallel_microbatch_size")
  if not batch.global_batch and batch.micro_batch and ranks > 0 then batch.global_batch = batch.micro_batch * ranks end
  if pipe > 1 and batch.micro_batch then batch.micro_batch = part or 1 end
  local training = read_fields(titan_rates, "--optimizer.")
  training.clip = number("--training.max_norm") or 1
  training.warmup_steps = number("--lr_scheduler.warmup_steps")
  training.schedule = text("--lr_scheduler.decay_type") or "linear"
  schedule(training)
  local least = number("--lr_scheduler.min_lr_factor", "--lr_scheduler.lr_min") or 0
  training.min_learning_rate = tonumber(string.format("%.12g", least * training.learning_rate))
  training.seed = number("--debug.seed", "--training.seed")
  local steps = number("--training.steps") or 10000
  if not see("--training.steps") then command.assume("10000 steps, torchtitan's default") end
  local mode = text("--activation_checkpoint.mode") or "selective"
  local reshard = text("--parallelism.fsdp_reshard_after_forward") or "default"
  local param = text("--training.mixed_precision_param") or "bfloat16"
  local cpu = on("--training.enable_cpu_offload")
  local order = text("--parallelism.pipeline_parallel_schedule") or "1F1B"
  local settings = { engine = "framework", recompute = mode, dtype = param == "float32" and "fp32" or "bf16", tensor_parallel = tensor }
  local strategy = "fsdp"
  if shards == 1 and mirrors > 1 and tensor * pipe * context == 1 then
    strategy, settings.tensor_parallel = "ddp", nil
  else
    settings.sharding = mirrors > 1 and "hybrid" or reshard == "never" and "grad_op" or "full"
    if mirrors > 1 and shards ~= command.gpus_per_node then settings.hybrid_shard_group = shards end
    settings.pipeline_parallel = pipe
    if contains(order, "Interleaved") then settings.interleave = 2 end
    if context > 1 then settings.context_parallel = context end
    if cpu then settings.offload = "full" end
  end
  if contains(text("--model.converters") or "", "float8") then
    settings.dtype = strategy == "fsdp" and "fp8" or settings.dtype
  end
  local tokens = batch.global_batch and model.seq and steps * batch.global_batch * model.seq or nil
  no_effect(titan_silent)
  return { framework = version("torchtitan", see("--module", "--config") and "main" or "0.2.2"), strategy = strategy, preset = preset,
           model = model, batch = batch, settings = settings, training = training, tokens = tokens }
end

return reading
