-- NVIDIA's Megatron-Bridge: a script that fills a ConfigContainer of its training loop, as its quick
-- start does. Written for 0.6.0. The scripts of the golden tests were filled in and validated by the classes of 0.4.2,
-- 0.5.1 and 0.6.0, each with the Megatron-LM that it pins; none was run on a GPU.
local path = "megatron_bridge_run.py"

-- Where each flag of Megatron-LM is said; model.* where it is not in this list.
local sections = {
  train = { "train_iters", "micro_batch_size", "global_batch_size", "exit_signal_handler" },
  validation = { "eval_iters", "eval_interval" },
  optimizer = { "optimizer", "lr", "min_lr", "weight_decay", "adam_beta1", "adam_beta2", "adam_eps", "clip_grad",
                "optimizer_cpu_offload", "optimizer_offload_fraction", "use_precision_aware_optimizer",
                "overlap_cpu_optimizer_d2h_h2d" },
  scheduler = { "lr_decay_style", "lr_decay_iters", "lr_warmup_iters" },
  ddp = { "overlap_grad_reduce", "overlap_param_gather", "use_megatron_fsdp", "data_parallel_sharding_strategy" },
  dist = { "distributed_backend", "distributed_timeout_minutes" },
  dataset = { "split", "data_path" },
  logger = { "log_interval", "log_throughput" },
  checkpoint = { "save", "load", "save_interval", "ckpt_format" },
  mixed_precision = { "initial_loss_scale", "loss_scale_window" },
}
-- Fields of the model that are said as they are.
local of_model = {
  "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size", "expert_model_parallel_size",
  "expert_tensor_parallel_size", "sequence_parallel", "pipeline_model_parallel_layout", "account_for_embedding_in_pipeline_split",
  "account_for_loss_in_pipeline_split", "num_layers", "hidden_size", "num_attention_heads", "ffn_hidden_size", "seq_length",
  "position_embedding_type", "rotary_base", "rope_scaling_factor", "normalization", "add_qkv_bias", "q_lora_rank", "kv_lora_rank",
  "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim", "qk_layernorm", "rope_type", "num_query_groups", "kv_channels",
  "moe_router_topk", "moe_ffn_hidden_size", "moe_grouped_gemm", "moe_shared_expert_intermediate_size",
  "moe_router_enable_expert_bias", "moe_router_score_function", "moe_router_pre_softmax", "moe_token_dispatcher_type",
  "moe_flex_dispatcher_backend", "moe_router_dtype", "moe_router_num_groups", "moe_router_group_topk", "hidden_dropout",
  "attention_dropout", "init_method_std", "recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules",
  "cross_entropy_loss_fusion", "make_vocab_size_divisible_by", "vocab_size", "cpu_offloading_num_layers",
  "fine_grained_activation_offloading", "offload_modules",
}
local section_of = {}
for section, fields in pairs(sections) do
  for _, field in ipairs(fields) do section_of[field] = section end
end
for _, field in ipairs(of_model) do section_of[field] = "model" end

-- Text that is Python already.
local function python(text) return { python = text } end

local function quoted(text) return json(text):sub(1, -2) end

local function literal(value)
  if type(value) == "boolean" then return value and "True" or "False" end
  if type(value) == "number" then return number(value) end
  if type(value) == "string" then return tonumber(value) and value or quoted(value) end
  if value.python then return value.python end
  if value.expand then return "os.path.expandvars(" .. quoted(value.expand) .. ")" end
  local parts = {}
  for i, item in ipairs(value) do parts[i] = literal(item) end
  return "[" .. table.concat(parts, ", ") .. "]"
end

-- What flags say as one or several fields; the rest has a name and a value of its own.
local function special(made, said)
  local t = training
  local function say(section, field, value) made[section][field] = value end
  return {
    ["--max-position-embeddings"] = function() end, -- the length of the samples
    ["--seq-length"] = function(words)
      say("model", "seq_length", words[1])
      say("dataset", "seq_length", words[1])
    end,
    ["--rotary-base"] = function() say("model", "rotary_base", math.tointeger(model.rope_theta) or model.rope_theta) end,
    ["--use-rope-scaling"] = function() say("model", "rope_scaling", true) end,
    ["--swiglu"] = function()
      say("model", "gated_linear_unit", true)
      say("model", "activation_func", python "torch.nn.functional.silu")
    end,
    ["--group-query-attention"] = function() end, -- num_query_groups says it
    ["--multi-latent-attention"] = function()
      said.latent = true
      say("model", "multi_latent_attention", true)
    end,
    ["--moe-layer-freq"] = function()
      say("model", "moe_layer_freq", python(string.format("[0] * %d + [1] * %d", model.dense_layers, model.layers - model.dense_layers)))
    end,
    ["--overlap-moe-expert-parallel-comm"] = function() said.overlap = true end,
    ["--tp-comm-overlap"] = function() said.tensor = true end,
    ["--seed"] = function()
      say("rng", "seed", t.seed)
      say("dataset", "random_seed", t.seed)
    end,
    ["--weight-decay"] = function()
      say("optimizer", "weight_decay", t.weight_decay)
      say("scheduler", "start_weight_decay", t.weight_decay)
      say("scheduler", "end_weight_decay", t.weight_decay)
    end,
    ["--use-distributed-optimizer"] = function()
      say("ddp", "use_distributed_optimizer", true)
      say("optimizer", "use_distributed_optimizer", true)
    end,
    ["--bf16"] = function() said.precision = "bf16_mixed" end,
    ["--fp16"] = function() said.precision = "fp16_mixed" end,
    ["--fp8-format"] = function(words) say("mixed_precision", "fp8", words[1]) end,
    ["--fp8-recipe"] = function(words) say("mixed_precision", "fp8_recipe", words[1]) end,
    ["--grad-reduce-in-bf16"] = function() say("mixed_precision", "grad_reduce_in_fp32", false) end,
    ["--accumulate-allreduce-grads-in-fp32"] = function() say("mixed_precision", "grad_reduce_in_fp32", true) end,
    ["--attention-backend"] = function(words) say("model", "attention_backend", python("AttnBackend." .. words[1])) end,
    ["--tokenizer-type"] = function(words) say("tokenizer", "tokenizer_type", words[1]) end,
    ["--vocab-size"] = function()
      say("model", "vocab_size", padded_vocab()) -- it pads none that is said
      say("tokenizer", "vocab_size", model.vocab)
    end,
    ["--mock-data"] = function() said.mock = true end,
    ["--data-path"] = function(words) say("dataset", "data_path", { words[1] }) end,
    ["--cpu-offloading-num-layers"] = function(words)
      say("model", "cpu_offloading", true)
      say("model", "cpu_offloading_num_layers", words[1])
    end,
    ["--recompute-modules"] = function(words) say("model", "recompute_modules", words) end,
    ["--offload-modules"] = function(words) say("model", "offload_modules", words) end,
  }
end

local function fill(flags)
  local made, said = { model = {}, rng = {}, tokenizer = {} }, {}
  for section in pairs(sections) do made[section] = {} end
  -- What Megatron-LM does without being told, and this library does not.
  for field, value in pairs { bias_activation_fusion = true, bias_dropout_fusion = true, masked_softmax_fusion = true,
                              cross_entropy_loss_fusion = false } do
    made.model[field] = value
  end
  if model.rope and model.kv_rank == 0 then made.model.apply_rope_fusion = true end
  local mine = special(made, said)
  for _, entry in ipairs(flags_with_words(flags)) do
    local flag, words = entry[1], entry[2]
    local renamed = core_fields[flag]
    if mine[flag] then
      mine[flag](words)
    elseif type(renamed) == "table" then
      for field, value in pairs(renamed) do made.model[field] = value end
    else
      local field = renamed or field_of_flag(flag)
      local section = renamed and "model" or section_of[field]
      if not section then error("no field for " .. flag) end
      made[section][field] = #words == 0 and true or words[1]
    end
  end
  return made, said
end

-- Arguments are settings of it, "model.moe_permute_fusion=true"; none may say what a field says.
local function refuse_args(made)
  for _, word in ipairs(run.args) do
    local name, value = cut(word, "=")
    local section, field = cut(name, ".")
    if not field or not value then
      refuse("args", "'" .. word .. "' is not a setting of Megatron-Bridge", "write it as \"model.moe_permute_fusion=true\"")
    elseif made[section] and made[section][field] ~= nil then
      refuse("args", "'" .. word .. "' is set already: " .. literal(made[section][field]),
             "change the field that it follows from, or leave it out")
    end
  end
end

local function call(name, fields, indent)
  local lines = {}
  for field, value in pairs(fields) do lines[#lines + 1] = indent .. "    " .. field .. "=" .. literal(value) .. "," end
  if #lines == 0 then return name .. "()" end
  return name .. "(\n" .. table.concat(lines, "\n") .. "\n" .. indent .. ")"
end

local function script(made, said)
  local inner = "        "
  local mixture = model.experts > 0
  if mixture then
    made.model.transformer_layer_spec = python "partial(get_gpt_decoder_block_spec, use_transformer_engine=True)"
  end
  local provider = said.latent and "MLAModelProvider" or "GPTModelProvider"
  local dataset = said.mock and "MockGPTDatasetConfig" or "GPTDatasetConfig"
  for field, value in pairs { reset_position_ids = false, reset_attention_mask = false, eod_mask_loss = false } do
    made.dataset[field] = value
  end
  local overlap = said.overlap or said.tensor
  local lines = {}
  add(lines, "import os", "import sys", mixture and "from functools import partial", "", "import torch",
      mixture and "from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_block_spec",
      "from megatron.core.transformer.enums import AttnBackend", "",
      said.latent and "from megatron.bridge.models.mla_provider import MLAModelProvider"
        or "from megatron.bridge.models.gpt_provider import GPTModelProvider",
      overlap and "from megatron.bridge.training.comm_overlap import CommOverlapConfig",
      "from megatron.bridge.training.config import (", "    CheckpointConfig,", "    ConfigContainer,",
      "    DistributedDataParallelConfig,", "    DistributedInitConfig,", "    " .. dataset .. ",", "    LoggerConfig,",
      "    OptimizerConfig,", "    RNGConfig,", "    SchedulerConfig,", "    TokenizerConfig,", "    TrainingConfig,",
      "    ValidationConfig,", ")",
      "from megatron.bridge.training.gpt_step import forward_step",
      "from megatron.bridge.training.mixed_precision import get_mixed_precision_config",
      "from megatron.bridge.training.pretrain import pretrain",
      "from megatron.bridge.training.utils.omegaconf_utils import process_config_with_overrides", "", "",
      "def recipe():", "    precision = get_mixed_precision_config(\"" .. said.precision .. "\")")
  for field, value in pairs(made.mixed_precision) do lines[#lines + 1] = "    precision." .. field .. " = " .. literal(value) end
  lines[#lines + 1] = "    return ConfigContainer("
  local function part(field, text) lines[#lines + 1] = inner .. field .. "=" .. text .. "," end
  part("model", call(provider, made.model, inner))
  part("train", call("TrainingConfig", made.train, inner))
  part("validation", call("ValidationConfig", made.validation, inner))
  part("optimizer", call("OptimizerConfig", made.optimizer, inner))
  part("scheduler", call("SchedulerConfig", made.scheduler, inner))
  part("ddp", call("DistributedDataParallelConfig", made.ddp, inner))
  part("dist", call("DistributedInitConfig", made.dist, inner))
  part("dataset", call(dataset, made.dataset, inner))
  part("logger", call("LoggerConfig", made.logger, inner))
  part("tokenizer", call("TokenizerConfig", made.tokenizer, inner))
  part("checkpoint", call("CheckpointConfig", made.checkpoint, inner))
  part("rng", call("RNGConfig", made.rng, inner))
  if overlap then -- it would choose all of these by itself
    part("comm_overlap", call("CommOverlapConfig", {
      tp_comm_overlap = said.tensor or false, overlap_moe_expert_parallel_comm = said.overlap or false,
      delay_wgrad_compute = false, overlap_grad_reduce = made.ddp.overlap_grad_reduce or false,
      overlap_param_gather = made.ddp.overlap_param_gather or false,
    }, inner))
  end
  part("mixed_precision", "precision")
  for _, line in ipairs { "    )", "", "", "if __name__ == \"__main__\":", "    config = recipe()",
                          "    if sys.argv[1:]:",
                          "        config = process_config_with_overrides(config, cli_overrides=sys.argv[1:])",
                          "    pretrain(config, forward_step)", "" } do
    lines[#lines + 1] = line
  end
  return table.concat(lines, "\n")
end

return {
  doc = "NVIDIA's Megatron-Bridge by a script that fills its configuration: gpt, llama, moe",
  versions = { "0.4", "0.5", "0.6" },
  package = "megatron-bridge",
  render = function()
    if settings.dtype ~= "bf16" and settings.dtype ~= "fp16" and settings.dtype ~= "fp8" then
      refuse("dtype", "Megatron-Bridge is told of mixed precision here", "use bf16, fp16 or fp8")
    end
    local flags, environment = megatron_lm_flags(19)
    local made, said = fill(flags)
    said.precision = said.precision or "bf16_mixed"
    -- As Megatron-LM without a flag: bf16 is summed in fp32, fp16 is not.
    if made.mixed_precision.grad_reduce_in_fp32 == nil then
      made.mixed_precision.grad_reduce_in_fp32 = said.precision == "bf16_mixed"
    end
    refuse_args(made)
    return {
      argv = { in_run(path) },
      files = { [path] = script(made, said) },
      environment = environment,
      version = { "python3", "-c", "import importlib.metadata as m; print(m.version('megatron-bridge'))" },
      stop = { signal = "TERM" },
      owns = {},
    }
  end,
}
