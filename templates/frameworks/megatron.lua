-- The flags of Megatron-LM, for the templates whose program takes them: each function is a global in
-- the templates. Flags of the tags core_v0.4.0 to core_v0.19.0.
local megatron = {}

-- The core that a program brings along, such as 16; nil: the version of the framework is the core's.
local carried

-- True if the core is this version or a later one.
local function since(version)
  if not carried then return at_least(version) end
  return tonumber(string.sub(version, 3)) <= carried
end

local function refuse_before(version, place, what)
  if since(version) then return end
  refuse(place, "Megatron-LM " .. what .. " from " .. version .. " on", "leave it out, or use a later version")
end

-- "layernorm+mlp" or "7,7,6" as a list.
function megatron.listed(text, separator)
  local words, first = {}, 1
  for i = 1, #text + 1 do
    if i > #text or string.sub(text, i, i) == separator then
      words[#words + 1] = string.sub(text, first, i - 1)
      first = i + 1
    end
  end
  return words
end
local listed = megatron.listed

-- What no program of Megatron's core can build.
function megatron.refuse_megatron_core_model(name)
  if model.alibi or model.embedding_norm then
    refuse("model", name .. " has neither ALiBi nor a norm behind the embedding: no BLOOM",
           "use gpt, or framework = \"megatron-deepspeed-bloom\"")
  end
  local factor = model.rope_factor or 1
  if factor ~= 0 and factor ~= 1 and (model.rope_low ~= 1 or model.rope_high ~= 4 or model.rope_original ~= 8192) then
    refuse("model.rope_factor", name .. " scales rotary embeddings by Llama 3.1's 1, 4 and 8192 alone",
           "leave rope_low, rope_high and rope_original as by default")
  end
  if model.experts == 0 then
    refuse_unless(settings.expert_parallel, 1, "expert_parallel")
    return
  end
  if model.bias then refuse("model.bias", name .. "'s products by groups add no bias", "set bias = false") end
  if run.tensor_parallel > 1 and not settings.sequence_parallel then
    refuse("sequence_parallel", name .. " trains experts beside tensor parallelism with it only",
           "set sequence_parallel = true, or tensor_parallel = 1")
  end
  unequal("model.experts", "how its router keeps experts equally busy is for args to say: orch has no field of it", nil)
end

-- True if rotary embeddings are scaled as Llama 3.1's.
function megatron.scales_rope() return model.rope and model.rope_factor ~= 0 and model.rope_factor ~= 1 end

-- The groups of experts that a token's router may choose from, for a limit of nodes; nil: all.
function megatron.expert_groups()
  local limit = settings.nodes_limit or 0
  if settings.expert_dispatch ~= "nodes" or limit == 0 then return nil end
  local cuts = settings.expert_tensor_parallel > 0 and settings.expert_tensor_parallel or run.tensor_parallel
  local ranks = settings.expert_parallel * cuts
  local groups = ranks // run.gpus_per_node
  if groups * run.gpus_per_node ~= ranks or groups < limit or model.experts % math.max(1, groups) ~= 0 then
    refuse("nodes_limit", string.format("experts on %d ranks are not %d equal groups of whole nodes or more", ranks, limit),
           "set nodes_limit = 0")
    return nil
  end
  return groups
end

-- What experts may not do while their tokens travel.
function megatron.refuse_overlapped_experts(name)
  if not settings.overlap_experts then return false end
  if settings.expert_parallel == 1 then refuse("overlap_experts", "every rank has all experts", "leave it out") end
  if settings.recompute == "full" then
    refuse("overlap_experts", name .. " cannot recompute whole layers beside it", "use selective or none")
  end
  if run.pipeline_parallel > 1 and settings.interleave == 1 then
    refuse("overlap_experts", name .. " interleaves a pipeline for it", "set interleave = 2 or more")
  end
  if settings.dtype ~= "bf16" and settings.dtype ~= "fp16" and settings.dtype ~= "fp8" then
    refuse("overlap_experts", name .. " has it in 16 bits", "use bf16")
  end
  return true
end

-- Widths that a model of latent attention has beside hidden.
local function latent(argv)
  if model.kv_rank == 0 then return end
  refuse_before("0.14", "model.kv_rank", "is told how latent attention rotates")
  add(argv, "--multi-latent-attention")
  for _, flag in ipairs(megatron_latent) do
    if model[flag[2]] > 0 then add(argv, flag[1], model[flag[2]]) end
  end
  -- Its norms of the compressed queries, keys and values; YaRN is its own default.
  add(argv, "--qk-layernorm", "--rope-type", "rope", "--no-rope-fusion")
end

-- For Llama and similar models; gpt needs none of it.
local function shape(argv)
  if model.rope then
    add(argv, "--position-embedding-type", "rope", "--rotary-base", model.rope_theta)
  end
  if megatron.scales_rope() then
    refuse_before("0.11", "model.rope_factor", "is told the factor")
    add(argv, "--use-rope-scaling", "--rope-scaling-factor", model.rope_factor)
  end
  if model.swiglu then add(argv, "--swiglu") end
  if model.rms_norm then add(argv, "--normalization", "RMSNorm") end
  if not model.bias then add(argv, "--disable-bias-linear") end
  if model.qkv_bias then
    refuse_before("0.5", "model.qkv_bias", "has it")
    add(argv, "--add-qkv-bias")
  end
  if not model.tied then add(argv, "--untie-embeddings-and-output-weights") end
  latent(argv)
  if model.kv_rank == 0 then
    if model.qk_norm then
      refuse_before("0.6", "model.qk_norm", "has it")
      add(argv, "--qk-layernorm")
    end
    if model.kv_heads ~= model.heads then
      add(argv, "--group-query-attention", "--num-query-groups", model.kv_heads)
    end
    if model.head_dim * model.heads ~= model.hidden then add(argv, "--kv-channels", model.head_dim) end
  end
  add(argv, since("0.5") and "--norm-epsilon" or "--layernorm-epsilon", model.norm_epsilon)
end

local function experts(argv)
  if model.experts == 0 then return end
  refuse_before("0.10", "model.experts", "is told of experts as here")
  add_fields(argv, megatron_experts, model)
  add(argv, "--moe-grouped-gemm")
  if model.shared_experts > 0 then
    add(argv, "--moe-shared-expert-intermediate-size", model.shared_experts * model.expert_hidden)
  end
  if model.dense_layers > 0 then
    add(argv, "--moe-layer-freq", string.format("([0]*%d+[1]*%d)", model.dense_layers, model.layers - model.dense_layers))
  end
  if model.router_bias then
    refuse_before("0.11", "model.router_bias", "has it")
    add(argv, "--moe-router-enable-expert-bias", "--moe-router-score-function", "sigmoid")
  elseif model.experts_per_token == 1 then
    add(argv, "--moe-router-pre-softmax")
  end
  add(argv, "--expert-model-parallel-size", settings.expert_parallel or 1)
  if (settings.expert_tensor_parallel or 0) > 0 then
    add(argv, "--expert-tensor-parallel-size", settings.expert_tensor_parallel)
  end
  if settings.expert_dispatch == "nodes" then
    refuse_before("0.12", "expert_dispatch", "has DeepEP")
    add(argv, "--moe-token-dispatcher-type", "flex")
    if since("0.16") then
      add(argv, "--moe-flex-dispatcher-backend", "deepep")
    else
      add(argv, "--moe-enable-deepep")
    end
    add(argv, "--moe-router-dtype", "fp32") -- DeepEP sends probabilities in fp32
  else
    add(argv, "--moe-token-dispatcher-type", "alltoall")
  end
  local groups = megatron.expert_groups()
  if groups then add(argv, "--moe-router-num-groups", groups, "--moe-router-group-topk", settings.nodes_limit) end
  if megatron.refuse_overlapped_experts("Megatron-LM") then
    refuse_before("0.14", "overlap_experts", "has it")
    add(argv, "--overlap-moe-expert-parallel-comm")
  end
end

-- Layers of each stage, with the embedding before the first and the head behind the last.
function megatron.pipeline_layout(layers)
  local parts = {}
  for i, count in ipairs(listed(layers, ",")) do parts[i] = count == "0" and "" or "t*" .. count end
  return "E" .. table.concat(parts, "|") .. "L"
end

local function given_layout(argv)
  refuse_before("0.13", "stage_layers", "takes layers of each stage")
  refuse_unless(settings.stage_partition, "uniform", "stage_partition", "stage_layers says what the stages have")
  if settings.interleave ~= 1 then refuse("interleave", "with stage_layers each stage is one piece", "use 1") end
  add(argv, "--pipeline-model-parallel-layout", megatron.pipeline_layout(settings.stage_layers))
end

local function pipeline(argv)
  local stages, chunks = run.pipeline_parallel, settings.interleave or 1
  if stages == 1 then return end
  refuse_unless(settings.partition_rule, "balanced", "partition_rule", "Megatron-LM deals layers evenly: use balanced, or stage_layers")
  if settings.stage_layers and settings.stage_layers ~= "" then return given_layout(argv) end
  if settings.stage_partition == "transformer|embedding" then
    if since("0.12") then
      add(argv, "--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split")
    else
      refuse("stage_partition", "Megatron-LM counts embeddings as layers from 0.12 on",
             "use uniform, or a later version")
    end
  elseif model.layers % (stages * chunks) ~= 0 then
    refuse("pipeline_parallel", string.format("%d layers do not divide into %d chunks of stages", model.layers,
           stages * chunks), "Megatron-LM needs equal ones; stage_partition = \"transformer|embedding\" counts the ends, and stage_layers says them")
  end
  if chunks == 1 then return end
  if settings.stage_partition == "transformer|embedding" and (model.layers + 2) % (stages * chunks) ~= 0 then
    refuse("interleave", string.format("%d layers and 2 embeddings do not divide into %d chunks of stages", model.layers,
           stages * chunks), "the list of layers that Megatron-LM takes for it is not rendered yet; let them divide")
  end
  if stages == 2 then refuse("interleave", "Megatron-LM interleaves more than two stages", "use 1") end
  if since("0.12") then
    add(argv, "--num-virtual-stages-per-pipeline-rank", chunks)
  else
    add(argv, "--num-layers-per-virtual-pipeline-stage", model.layers // (stages * chunks))
  end
end

-- Megatron-FSDP's name for what is sharded; nil if only the optimizer is.
function megatron.fsdp_strategy()
  if run.strategy == "zero3" or run.strategy == "fsdp" then
    return settings.sharding == "grad_op" and "optim_grads" or "optim_grads_params"
  end
  return ({ [2] = "optim_grads", [3] = "optim_grads_params" })[settings.zero_stage]
end

-- Flags for sharding weights, gradients and the optimizer's states.
local function sharding(argv)
  local kept = megatron.fsdp_strategy()
  if run.strategy == "deepspeed" then
    refuse("strategy", "DeepSpeed's stages are DeepSpeed's", "use framework = \"hf-deepspeed\" or fsdp { ... }")
  elseif kept then
    if run.strategy == "fsdp" and run.pipeline_parallel > 1 then
      refuse("pipeline_parallel", "beside a pipeline fsdp is planned as torchtitan has it", "use megatron { zero_stage = 3 }")
    end
    refuse_unless(settings.sharding ~= "hybrid" or settings.sharding, true, "sharding", "use full or grad_op")
    if since("0.14") then
      add(argv, "--use-megatron-fsdp", "--data-parallel-sharding-strategy", kept, "--ckpt-format", "fsdp_dtensor")
    elseif since("0.12") then
      add(argv, "--use-custom-fsdp", "--data-parallel-sharding-strategy", kept)
    else
      refuse(run.strategy == "megatron" and "zero_stage" or "strategy", "Megatron-LM shards weights and gradients from 0.12 on", "use megatron { zero_stage = 1 }, or a later version")
    end
    add(argv, "--use-distributed-optimizer", "--no-gradient-accumulation-fusion")
  elseif settings.zero_stage == 1 then
    add(argv, "--use-distributed-optimizer")
  end
  if settings.overlap_grad_reduce or run.strategy == "megatron" and kept or (run.strategy ~= "megatron" and settings.overlap) then
    add(argv, "--overlap-grad-reduce")
  end
  if settings.overlap_param_gather then
    add(argv, "--overlap-param-gather")
    if not settings.overlap_grad_reduce and not kept then
      refuse("overlap_param_gather", "it needs overlap_grad_reduce", "set overlap_grad_reduce = true")
    end
  end
  return kept ~= nil
end

local function offload(argv)
  if settings.offload == "optimizer" and since("0.12") then
    add(argv, "--optimizer-cpu-offload", "--optimizer-offload-fraction", 1.0,
        "--use-precision-aware-optimizer", "--overlap-cpu-optimizer-d2h-h2d")
    if settings.zero_stage == 0 then
      refuse("offload", "Megatron-LM's offload needs its distributed optimizer", "set zero_stage = 1")
    end
  else
    refuse_unless(settings.offload, "none", "offload", "optimizer can be offloaded from 0.12 on")
  end
end

-- Offloaded activations: whole layers, or the inputs of modules; returns true for the latter, for
-- which Transformer Engine must be told not to move weights.
local function offload_activations(argv)
  if run.strategy ~= "megatron" or not settings.offload_activations then
    refuse_unless(settings.offload_activations, false, "offload_activations")
    return false
  end
  local modules, layers = settings.offload_modules, settings.offload_layers
  refuse_before("0.16", "offload_activations", "is told to")
  if modules == "" then
    add(argv, "--cpu-offloading-num-layers", layers > 0 and layers or model.layers - 1)
  else
    add(argv, "--fine-grained-activation-offloading", "--offload-modules", table.unpack(listed(modules, "+")))
  end
  return modules ~= ""
end

-- True if args have a recipe of fp8, in the words of any of the programs.
local function gives_recipe()
  for _, name in ipairs { "--fp8-recipe", "--fp8_recipe", "fp8_recipe", "mixed_precision.fp8_recipe" } do
    if given(name) then return true end
  end
  return false
end

local function kernels(argv)
  if settings.recompute == "full" then
    add(argv, "--recompute-granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", 1)
  elseif settings.recompute == "selective" then
    add(argv, "--recompute-granularity", "selective")
    if settings.recompute_modules ~= nil and settings.recompute_modules ~= "" then
      refuse_before("0.12", "recompute_modules", "chooses modules")
      add(argv, "--recompute-modules", table.unpack(listed(settings.recompute_modules, "+")))
    end
  end
  if settings.dtype == "fp8" then
    add(argv, "--fp8-format", "hybrid")
    -- One scale for each tensor, as the estimate has it; "blockwise" and "mxfp8" are for args to say.
    if since("0.12") and not gives_recipe() then add(argv, "--fp8-recipe", "tensorwise") end
  end
  if settings.cross_entropy == "fused" then
    refuse_before("0.8", "cross_entropy", "has it")
    add(argv, "--cross-entropy-loss-fusion")
  end
  if since("0.12") then
    add(argv, "--attention-backend", settings.flash_attention and "flash" or "unfused")
  elseif settings.flash_attention then
    add(argv, "--use-flash-attn")
  end
  if not settings.fused_kernels then
    add(argv, "--no-masked-softmax-fusion", "--no-bias-gelu-fusion", "--no-bias-dropout-fusion")
    if not model.swiglu then
      unequal("fused_kernels", "without its fusion Megatron-LM computes GELU exactly, orch by tanh: losses differ in the fourth digit",
              "set fused_kernels = true")
    end
  end
  if (settings.dtype == "bf16" or settings.dtype == "fp8") and settings.fp32_accumulate == false then
    if since("0.12") then
      add(argv, "--grad-reduce-in-bf16")
    else
      unequal("fp32_accumulate", "Megatron-LM sums bf16 gradients in fp32", "set fp32_accumulate = true")
    end
  elseif settings.dtype == "fp16" and settings.fp32_accumulate then
    add(argv, "--accumulate-allreduce-grads-in-fp32")
  end
end

local function data(argv)
  -- Up to 0.17 its null tokenizer adds an end-of-document token.
  add(argv, "--tokenizer-type", "NullTokenizer", "--vocab-size", since("0.18") and model.vocab or model.vocab - 1,
      "--make-vocab-size-divisible-by", settings.vocab_multiple or 128, "--split", training.split)
  local prefix = data_prefix()
  if prefix then
    add(argv, "--data-path", prefix)
  elseif since("0.6") then
    add(argv, "--mock-data")
    unequal("training.data", "synthetic tokens are the framework's own, not ours", "name data for both")
  else
    refuse("training.data", "Megatron-LM makes synthetic tokens from 0.6 on", "name data, or a later version")
  end
end

-- All flags of a run for pretrain_gpt.py; `core` is the minor version of the Megatron-LM that a
-- program brings along, nil where the framework's version is it. Returns the flags, and the
-- variables that go with them.
function megatron.megatron_lm_flags(core)
  carried = core
  read_ours()
  megatron.refuse_megatron_core_model("Megatron-LM")
  refuse_megatron(true)
  refuse_unless(settings.gradient_as_bucket_view, true, "gradient_as_bucket_view")
  refuse_unless(settings.bucket_mb, 25.0, "bucket_mb")
  local argv = {}
  if not since("0.8") then add(argv, "--use-mcore-models") end
  add(argv, "--tensor-model-parallel-size", run.tensor_parallel,
      "--pipeline-model-parallel-size", run.pipeline_parallel)
  if run.context_parallel > 1 then
    refuse_before("0.5", "context_parallel", "has it")
    add(argv, "--context-parallel-size", run.context_parallel)
  end
  if settings.sequence_parallel and run.tensor_parallel > 1 then add(argv, "--sequence-parallel") end
  if settings.overlap_tensor and settings.sequence_parallel and run.tensor_parallel > 1 then add(argv, "--tp-comm-overlap") end
  pipeline(argv)
  local fsdp = sharding(argv)
  megatron_model(argv)
  shape(argv)
  experts(argv)
  megatron_training(argv)
  kernels(argv)
  offload(argv)
  local modules = offload_activations(argv)
  data(argv)
  add(argv, "--exit-signal-handler")
  if since("0.5") then add(argv, "--log-throughput") end
  if training.collective_timeout ~= 600 then
    add(argv, "--distributed-timeout-minutes", math.ceil(training.collective_timeout / 60))
  end
  if run.rampup_samples > 0 and since("0.18") then
    refuse("batch.rampup", "--rampup-batch-size is gone from 0.18 on, and its successor is not rendered yet",
           carried and "leave it out" or "use 0.17")
  end
  local connections = job.environment.CUDA_DEVICE_MAX_CONNECTIONS
  local one = not fsdp and not settings.overlap_experts
  if fsdp and connections == "1" then
    refuse("environment.CUDA_DEVICE_MAX_CONNECTIONS", "'1' keeps FSDP from overlapping, and Megatron-LM refuses it", "leave it out")
  elseif one and connections and connections ~= "1" and run.tensor_parallel * run.context_parallel > 1 then
    refuse("environment.CUDA_DEVICE_MAX_CONNECTIONS", "Megatron-LM asserts 1 with tensor or context parallelism", "leave it out")
  end
  -- What travels beside another micro-batch needs queues of its own.
  return argv, { CUDA_DEVICE_MAX_CONNECTIONS = one and "1" or not fsdp and "32" or nil,
                 NVTE_CPU_OFFLOAD_V1 = modules and "1" or nil,
                 PYTORCH_CUDA_ALLOC_CONF = "expandable_segments:True" }
end

-- The same flags for a program that has Megatron-LM's settings by other names: { flag, words }, one for
-- each flag.
function megatron.flags_with_words(flags)
  local out = {}
  for _, word in ipairs(flags) do
    if type(word) == "string" and string.sub(word, 1, 2) == "--" then
      out[#out + 1] = { word, {} }
    else
      local words = out[#out][2]
      words[#words + 1] = word
    end
  end
  return out
end

-- The name of --num-layers as a field: num_layers.
function megatron.field_of_flag(flag)
  local letters = {}
  for i = 3, #flag do
    local c = string.sub(flag, i, i)
    letters[#letters + 1] = c == "-" and "_" or c
  end
  return table.concat(letters)
end

-- "a" and "b=c" of "a=b=c"; the whole and nil without the character.
function megatron.cut(text, character)
  for i = 1, #text do
    if string.sub(text, i, i) == character then return string.sub(text, 1, i - 1), string.sub(text, i + 1) end
  end
  return text
end

-- Fields of TransformerConfig that have another name than their flag, or another value than its words:
-- true for a switch that is on, false for one that is off.
megatron.core_fields = {
  ["--num-virtual-stages-per-pipeline-rank"] = "virtual_pipeline_model_parallel_size",
  ["--num-experts"] = "num_moe_experts", ["--norm-epsilon"] = "layernorm_epsilon",
  ["--disable-bias-linear"] = { add_bias_linear = false }, ["--swiglu"] = { gated_linear_unit = true },
  ["--no-rope-fusion"] = { apply_rope_fusion = false },
  ["--no-gradient-accumulation-fusion"] = { gradient_accumulation_fusion = false },
  ["--no-masked-softmax-fusion"] = { masked_softmax_fusion = false },
  ["--no-bias-gelu-fusion"] = { bias_activation_fusion = false },
  ["--no-bias-dropout-fusion"] = { bias_dropout_fusion = false },
  ["--untie-embeddings-and-output-weights"] = { share_embeddings_and_output_weights = false },
}

-- Flags that a field of the run decides although they may not be there.
megatron.megatron_owns = {
  ["--fp16"] = "dtype", ["--bf16"] = "dtype", ["--fp8-format"] = "dtype", ["--fp4-format"] = "dtype",
  ["--sequence-parallel"] = "sequence_parallel", ["--tp-comm-overlap"] = "overlap_tensor",
  ["--context-parallel-size"] = "context_parallel",
  ["--use-distributed-optimizer"] = "zero_stage", ["--recompute-granularity"] = "recompute",
  ["--recompute-activations"] = "recompute", ["--overlap-grad-reduce"] = "overlap_grad_reduce",
  ["--train-samples"] = "steps", ["--rampup-batch-size"] = "batch.rampup",
  ["--use-torch-fsdp2"] = "strategies", ["--use-megatron-fsdp"] = "zero_stage",
  ["--data-parallel-sharding-strategy"] = "zero_stage", ["--cpu-offloading-num-layers"] = "offload_activations",
  ["--fine-grained-activation-offloading"] = "offload_activations", ["--offload-modules"] = "offload_modules",
  ["--use-tp-pp-dp-mapping"] = "the order of ranks", ["--untie-embeddings-and-output-weights"] = "model.tied",
  ["--num-experts"] = "model.experts", ["--expert-model-parallel-size"] = "expert_parallel",
  ["--expert-tensor-parallel-size"] = "expert_tensor_parallel", ["--moe-layer-freq"] = "model.dense_layers",
  ["--moe-shared-expert-intermediate-size"] = "model.shared_experts", ["--multi-latent-attention"] = "model.kv_rank",
  ["--moe-router-enable-expert-bias"] = "model.router_bias", ["--moe-enable-deepep"] = "expert_dispatch",
  ["--moe-flex-dispatcher-backend"] = "expert_dispatch", ["--overlap-moe-expert-parallel-comm"] = "overlap_experts",
  ["--pipeline-model-parallel-layout"] = "stage_layers", ["--cross-entropy-loss-fusion"] = "cross_entropy",
  ["--qk-layernorm"] = "model.qk_norm", ["--add-qkv-bias"] = "model.qkv_bias",
}

return megatron
