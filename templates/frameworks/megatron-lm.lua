-- NVIDIA's Megatron-LM, pretrain_gpt.py. Flags of the tags core_v0.4.0 to core_v0.19.0.
local function refuse_model()
  if model.family == "moe" then
    refuse("model", "experts are not rendered for Megatron-LM yet", "train with another framework")
  end
  if model.alibi or model.embedding_norm then
    refuse("model", "Megatron-LM has neither ALiBi nor a norm behind the embedding: no BLOOM",
           "use gpt, or framework = \"megatron-deepspeed-bloom\"")
  end
  if model.qk_norm or model.qkv_bias or model.rope_factor ~= 0 and model.rope_factor ~= 1 then
    refuse("model", "qk_norm, qkv_bias and rope_factor are not rendered for Megatron-LM yet",
           "use gpt or a llama without them")
  end
end

-- For Llama and similar models; gpt needs none of it.
local function shape(argv)
  if model.rope then
    add(argv, "--position-embedding-type", "rope", "--rotary-base", model.rope_theta)
  end
  if model.swiglu then add(argv, "--swiglu") end
  if model.rms_norm then add(argv, "--normalization", "RMSNorm") end
  if not model.bias then add(argv, "--disable-bias-linear") end
  if not model.tied then add(argv, "--untie-embeddings-and-output-weights") end
  if model.kv_heads ~= model.heads then
    add(argv, "--group-query-attention", "--num-query-groups", model.kv_heads)
  end
  if model.head_dim * model.heads ~= model.hidden then add(argv, "--kv-channels", model.head_dim) end
  add(argv, at_least("0.5") and "--norm-epsilon" or "--layernorm-epsilon", model.norm_epsilon)
end

local function pipeline(argv)
  local stages, chunks = run.pipeline_parallel, settings.interleave or 1
  if stages == 1 then return end
  if settings.partition_rule == "portions" then
    refuse("partition_rule", "Megatron-LM deals layers evenly", "use balanced")
  end
  if settings.stage_partition == "transformer|embedding" then
    if at_least("0.12") then
      add(argv, "--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split")
    else
      refuse("stage_partition", "Megatron-LM counts embeddings as layers from 0.12 on",
             "use uniform, or a later version")
    end
  elseif model.layers % (stages * chunks) ~= 0 then
    refuse("pipeline_parallel", string.format("%d layers do not divide into %d chunks of stages", model.layers,
           stages * chunks), "Megatron-LM needs equal ones; stage_partition = \"transformer|embedding\" counts the ends")
  end
  if chunks == 1 then return end
  if settings.stage_partition == "transformer|embedding" and (model.layers + 2) % (stages * chunks) ~= 0 then
    refuse("interleave", string.format("%d layers and 2 embeddings do not divide into %d chunks of stages", model.layers,
           stages * chunks), "the list of layers that Megatron-LM takes for it is not rendered yet; let them divide")
  end
  if stages == 2 then refuse("interleave", "Megatron-LM interleaves more than two stages", "use 1") end
  if at_least("0.12") then
    add(argv, "--num-virtual-stages-per-pipeline-rank", chunks)
  else
    add(argv, "--num-layers-per-virtual-pipeline-stage", model.layers // (stages * chunks))
  end
end

-- Megatron-FSDP's name for what is sharded; nil if only the optimizer is.
local function fsdp_strategy()
  if run.strategy == "zero3" or run.strategy == "fsdp" then
    return settings.sharding == "grad_op" and "optim_grads" or "optim_grads_params"
  end
  return ({ [2] = "optim_grads", [3] = "optim_grads_params" })[settings.zero_stage]
end

-- Flags for sharding weights, gradients and the optimizer's states.
local function sharding(argv)
  local kept = fsdp_strategy()
  if run.strategy == "deepspeed" then
    refuse("strategy", "DeepSpeed's stages are DeepSpeed's", "use framework = \"hf-deepspeed\" or fsdp { ... }")
  elseif kept then
    if run.strategy == "fsdp" and run.pipeline_parallel > 1 then
      refuse("pipeline_parallel", "beside a pipeline fsdp is planned as torchtitan has it", "use megatron { zero_stage = 3 }")
    end
    refuse_unless(settings.sharding ~= "hybrid" or settings.sharding, true, "sharding", "use full or grad_op")
    if at_least("0.14") then
      add(argv, "--use-megatron-fsdp", "--data-parallel-sharding-strategy", kept, "--ckpt-format", "fsdp_dtensor")
    elseif at_least("0.12") then
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
  if settings.offload == "optimizer" and at_least("0.12") then
    add(argv, "--optimizer-cpu-offload", "--optimizer-offload-fraction", 1.0,
        "--use-precision-aware-optimizer", "--overlap-cpu-optimizer-d2h-h2d")
    if settings.zero_stage == 0 then
      refuse("offload", "Megatron-LM's offload needs its distributed optimizer", "set zero_stage = 1")
    end
  else
    refuse_unless(settings.offload, "none", "offload", "optimizer can be offloaded from 0.12 on")
  end
end

-- "layernorm+mlp" as a list.
local function listed(text)
  local words, first = {}, 1
  for i = 1, #text + 1 do
    if i > #text or string.sub(text, i, i) == "+" then
      words[#words + 1] = string.sub(text, first, i - 1)
      first = i + 1
    end
  end
  return words
end

-- Offloaded activations: whole layers, or the inputs of modules; returns true for the latter, for
-- which Transformer Engine must be told not to move weights.
local function offload_activations(argv)
  if run.strategy ~= "megatron" or not settings.offload_activations then
    refuse_unless(settings.offload_activations, false, "offload_activations")
    return false
  end
  local modules, layers = settings.offload_modules, settings.offload_layers
  if not at_least("0.16") then
    refuse("offload_activations", "Megatron-LM is told to from 0.16 on", "leave it out, or use a later version")
  elseif modules == "" then
    add(argv, "--cpu-offloading-num-layers", layers > 0 and layers or model.layers - 1)
  else
    add(argv, "--fine-grained-activation-offloading", "--offload-modules", table.unpack(listed(modules)))
  end
  return modules ~= ""
end

local function kernels(argv)
  if settings.recompute == "full" then
    add(argv, "--recompute-granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", 1)
  elseif settings.recompute == "selective" then
    add(argv, "--recompute-granularity", "selective")
    if settings.recompute_modules ~= nil and settings.recompute_modules ~= "" then
      if not at_least("0.12") then
        refuse("recompute_modules", "Megatron-LM chooses modules from 0.12 on", "leave it out, or use a later version")
      end
      add(argv, "--recompute-modules", table.unpack(listed(settings.recompute_modules)))
    end
  end
  if settings.dtype == "fp8" then add(argv, "--fp8-format", "hybrid") end
  if at_least("0.12") then
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
    if at_least("0.12") then
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
  add(argv, "--tokenizer-type", "NullTokenizer", "--vocab-size", at_least("0.18") and model.vocab or model.vocab - 1,
      "--make-vocab-size-divisible-by", settings.vocab_multiple or 128, "--split", training.split)
  local prefix = data_prefix()
  if prefix then
    add(argv, "--data-path", prefix)
  elseif at_least("0.6") then
    add(argv, "--mock-data")
    unequal("training.data", "synthetic tokens are the framework's own, not ours", "name data for both")
  else
    refuse("training.data", "Megatron-LM makes synthetic tokens from 0.6 on", "name data, or a later version")
  end
end

return {
  doc = "NVIDIA's Megatron-LM (pretrain_gpt.py): gpt and llama",
  versions = { "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.10", "0.11", "0.12", "0.13", "0.14", "0.15", "0.16",
               "0.17", "0.18", "0.19" },
  programs = { "pretrain_gpt.py" },
  read = function() return read_megatron_lm() end,
  render = function()
    read_ours()
    refuse_model()
    refuse_megatron()
    refuse_unless(settings.gradient_as_bucket_view, true, "gradient_as_bucket_view")
    refuse_unless(settings.bucket_mb, 25.0, "bucket_mb")
    refuse_unless(settings.expert_parallel, 1, "expert_parallel")
    local argv = { expand "$MEGATRON_LM/pretrain_gpt.py" }
    if not at_least("0.8") then add(argv, "--use-mcore-models") end
    add(argv, "--tensor-model-parallel-size", run.tensor_parallel,
        "--pipeline-model-parallel-size", run.pipeline_parallel)
    if run.context_parallel > 1 then
      if not at_least("0.5") then refuse("context_parallel", "Megatron-LM has it from 0.5 on", "use a later version") end
      add(argv, "--context-parallel-size", run.context_parallel)
    end
    if settings.sequence_parallel and run.tensor_parallel > 1 then add(argv, "--sequence-parallel") end
    if settings.overlap_tensor and settings.sequence_parallel and run.tensor_parallel > 1 then add(argv, "--tp-comm-overlap") end
    pipeline(argv)
    local fsdp = sharding(argv)
    megatron_model(argv)
    shape(argv)
    megatron_training(argv)
    kernels(argv)
    offload(argv)
    local modules = offload_activations(argv)
    data(argv)
    add(argv, "--exit-signal-handler")
    if at_least("0.5") then add(argv, "--log-throughput") end
    if training.collective_timeout ~= 600 then
      add(argv, "--distributed-timeout-minutes", math.ceil(training.collective_timeout / 60))
    end
    if run.rampup_samples > 0 and at_least("0.18") then
      refuse("batch.rampup", "--rampup-batch-size is gone from 0.18 on, and its successor is not rendered yet",
             "use 0.17")
    end
    local connections = job.environment.CUDA_DEVICE_MAX_CONNECTIONS
    if fsdp and connections == "1" then
      refuse("environment.CUDA_DEVICE_MAX_CONNECTIONS", "'1' keeps FSDP from overlapping, and Megatron-LM refuses it", "leave it out")
    elseif not fsdp and connections and connections ~= "1" and run.tensor_parallel > 1 then
      refuse("environment.CUDA_DEVICE_MAX_CONNECTIONS", "Megatron-LM asserts 1 with tensor parallelism", "leave it out")
    end
    return {
      argv = argv,
      needs = { MEGATRON_LM = "the folder of a checkout of Megatron-LM" },
      environment = { CUDA_DEVICE_MAX_CONNECTIONS = not fsdp and "1" or nil,
                      NVTE_CPU_OFFLOAD_V1 = modules and "1" or nil,
                      PYTORCH_CUDA_ALLOC_CONF = "expandable_segments:True" },
      version = { "env", expand "PYTHONPATH=$MEGATRON_LM", "python3", "-c",
                  "import megatron.core as m; print(m.__version__)" },
      stop = { signal = "TERM" },
      owns = { ["--fp16"] = "dtype", ["--bf16"] = "dtype", ["--sequence-parallel"] = "sequence_parallel", ["--tp-comm-overlap"] = "overlap_tensor",
               ["--use-distributed-optimizer"] = "zero_stage", ["--recompute-granularity"] = "recompute",
               ["--recompute-activations"] = "recompute", ["--overlap-grad-reduce"] = "overlap_grad_reduce",
               ["--train-samples"] = "steps", ["--rampup-batch-size"] = "batch.rampup",
               ["--use-torch-fsdp2"] = "strategies", ["--use-megatron-fsdp"] = "zero_stage",
               ["--data-parallel-sharding-strategy"] = "zero_stage", ["--cpu-offloading-num-layers"] = "offload_activations",
               ["--fine-grained-activation-offloading"] = "offload_activations", ["--offload-modules"] = "offload_modules", ["--use-tp-pp-dp-mapping"] = "the order of ranks",
               ["--untie-embeddings-and-output-weights"] = "model.tied" },
    }
  end,
}
