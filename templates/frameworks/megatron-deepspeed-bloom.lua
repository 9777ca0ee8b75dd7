-- The code that trained BLOOM: bigscience-workshop/Megatron-DeepSpeed, last changed in December
-- 2023, with the DeepSpeed of its time (0.5 to 0.9). It has only one version, so none is needed.
local function refuse_layout()
  if run.strategy ~= "megatron" then
    refuse("strategy", "BigScience's code trains with tensor, pipeline and data parallelism", "use megatron { ... }")
  end
  refuse_unless(settings.interleave, 1, "interleave", "DeepSpeed's pipeline has no interleaving")
  refuse_unless(settings.sequence_parallel, false, "sequence_parallel")
  refuse_unless(settings.overlap_grad_reduce, false, "overlap_grad_reduce")
  refuse_unless(settings.overlap_param_gather, false, "overlap_param_gather")
  refuse_unless(settings.overlap_tensor, false, "overlap_tensor")
  refuse_unless(settings.flash_attention, false, "flash_attention", "it is older than FlashAttention")
  refuse_unless(settings.expert_parallel, 1, "expert_parallel")
  if settings.recompute == "selective" then refuse("recompute", "it recomputes whole layers or nothing", "use full") end
  if run.context_parallel > 1 then refuse("context_parallel", "it has none", "use tensor_parallel") end
  if model.swiglu or model.rms_norm or model.rope or not model.tied or model.family == "moe" then
    refuse("model", "BigScience's code trains gpt and bloom", "use one of them")
  end
  if model.kv_heads ~= model.heads then refuse("model.kv_heads", "it has no grouped queries", "use heads") end
end

-- The condition of its fused softmax; otherwise the program aborts.
local function fused(argv)
  if not settings.fused_kernels then
    add(argv, "--no-masked-softmax-fusion", "--no-bias-gelu-fusion", "--no-bias-dropout-fusion")
    return
  end
  local rows = model.heads // run.tensor_parallel * run.micro_batch
  if rows % 4 ~= 0 or model.seq <= 16 or model.seq > 2048 then
    refuse("fused_kernels", string.format("its softmax wants heads / tensor_parallel * micro_batch (%d) to be a " ..
           "multiple of 4, and 16 < seq (%d) <= 2048", rows, model.seq), "set fused_kernels = false, or change one of them")
  end
  add(argv, "--abort-on-unmet-fused-kernel-constraints")
end

local function partition(argv)
  local _ = settings.partition_rule -- its DeepSpeed may use either
  if run.pipeline_parallel == 1 then return end
  local ends = settings.stage_partition == "transformer|embedding"
  add(argv, "--pp-partition-method", ends and "type:transformer|embedding" or "type:transformer")
  local dealt = model.layers + (ends and 2 or 0)
  if dealt % run.pipeline_parallel ~= 0 then
    unequal("partition_rule", string.format("%d on %d stages: DeepSpeed before 0.12.5 deals the remainder as portions, later ones balance it",
            dealt, run.pipeline_parallel), "make them divide")
  end
end

-- With bf16 its optimizer shards the states itself: stage 1 would be refused, or wrong.
local function zero_stage()
  if settings.dtype ~= "bf16" then return settings.zero_stage end
  if settings.zero_stage == 0 then
    unequal("zero_stage", "its bf16 optimizer always shards the states, as zero_stage = 1 does", "set zero_stage = 1")
  end
  if settings.fp32_accumulate == false then
    unequal("fp32_accumulate", "its bf16 optimizer always sums gradients in fp32", "set fp32_accumulate = true")
  end
  return 0
end

return {
  doc = "the code that trained BLOOM (bigscience-workshop/Megatron-DeepSpeed): gpt and bloom",
  versions = {},
  programs = { "pretrain_gpt.py" },
  read = function() return read_bloom() end,
  render = function()
    read_ours()
    refuse_megatron()
    refuse_layout()
    local argv = { expand "$MEGATRON_DEEPSPEED/pretrain_gpt.py",
                   "--tensor-model-parallel-size", number(run.tensor_parallel),
                   "--pipeline-model-parallel-size", number(run.pipeline_parallel) }
    partition(argv)
    megatron_model(argv)
    if model.alibi then add(argv, "--position-embedding-type", "alibi") end
    if model.embedding_norm then add(argv, "--embed-layernorm") end
    if model.norm_epsilon ~= 1e-5 then add(argv, "--layernorm-epsilon", model.norm_epsilon) end
    megatron_training(argv)
    if settings.dtype == "fp16" and settings.fp32_accumulate then add(argv, "--accumulate-allreduce-grads-in-fp32") end
    fused(argv)
    add(argv, "--pad-vocab-size-to", padded_vocab(), "--data-impl", "mmap",
        "--kill-switch-path", in_attempt("kill-switch"))
    local needs = { MEGATRON_DEEPSPEED = "the folder of a checkout of bigscience-workshop/Megatron-DeepSpeed" }
    if not given("--tokenizer-type") then
      add(argv, "--tokenizer-type", "PretrainedFromHF", "--tokenizer-name-or-path", expand "$TOKENIZER")
      needs.TOKENIZER = "a tokenizer of Hugging Face, by name or folder (it has none of its own)"
    end
    local prefix = data_prefix()
    if prefix then
      add(argv, "--data-path", prefix, "--split", training.split)
    elseif not given("--train-weighted-split-paths-path") and not given("--train-weighted-split-paths") then
      refuse("training.data", "it makes no synthetic tokens", "name data, or give --train-weighted-split-paths in args")
    end
    local stage = zero_stage()
    local config = {
      train_micro_batch_size_per_gpu = run.micro_batch, train_batch_size = run.global_batch,
      gradient_clipping = training.clip, zero_optimization = { stage = stage },
      steps_per_print = 2000, wall_clock_breakdown = false,
    }
    if settings.offload == "optimizer" then
      if stage == 0 then refuse("offload", "its bf16 optimizer stays on the GPU", "use fp16 with zero_stage = 1, or no offload") end
      config.zero_optimization.offload_optimizer = { device = "cpu", pin_memory = true }
      add(argv, "--cpu-optimizer")
    end
    deepspeed_precision(config)
    if settings.recompute == "full" then add(argv, "--checkpoint-activations", "--deepspeed-activation-checkpointing") end
    add(argv, "--deepspeed", "--deepspeed_config", in_run("ds_config.json"), "--zero-stage", stage)
    return {
      argv = argv,
      files = { ["ds_config.json"] = json(config) },
      needs = needs,
      environment = { HF_DATASETS_OFFLINE = "1", TRANSFORMERS_OFFLINE = "1" },
      version = { "python3", "-c", "import deepspeed; print(deepspeed.__version__)" },
      stop = { file = "kill-switch" },
      owns = { ["--fp16"] = "dtype", ["--bf16"] = "dtype", ["--embed-layernorm"] = "model.embedding_norm",
               ["--position-embedding-type"] = "model", ["--checkpoint-activations"] = "recompute",
               ["--cpu-optimizer"] = "offload", ["--rampup-batch-size"] = "batch.rampup",
               ["--train-samples"] = "tokens", ["--train-tokens"] = "tokens" },
    }
  end,
}
