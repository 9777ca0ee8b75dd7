-- AMD's Primus with its Megatron backend: an experiment file whose overrides are Megatron-LM's settings.
-- Written for 26.2 to 26.5, which bring Megatron-LM 0.16 along. It drops names that it does not know, so they
-- are those of that parser's results: the file was read by the loader of 26.5.1, and the settings are
-- those that the same flags have there. Not run.
local path = "primus.yaml"

-- What Primus sets by itself, as Megatron-LM has it without a flag.
local plain = {
  add_bias_linear = true, sequence_parallel = false, swiglu = false, untie_embeddings_and_output_weights = false,
  use_distributed_optimizer = false, finetune = false, override_opt_param_scheduler = false, dataloader_type = "single",
  bf16 = false, auto_continue_train = true, disable_last_saving = false, exit_on_missing_checkpoint = false,
  add_position_embedding = true, use_flash_attn = false, distributed_timeout_minutes = 10,
}

-- Settings of another name than their flag, or another value than its words.
local other = {
  ["--norm-epsilon"] = "norm_epsilon", ["--fp8-format"] = "fp8", ["--disable-bias-linear"] = { add_bias_linear = false },
  ["--no-rope-fusion"] = { apply_rope_fusion = false },
  ["--no-gradient-accumulation-fusion"] = { gradient_accumulation_fusion = false },
  ["--no-masked-softmax-fusion"] = { masked_softmax_fusion = false },
  ["--no-bias-gelu-fusion"] = { bias_gelu_fusion = false },
  ["--no-bias-dropout-fusion"] = { bias_dropout_fusion = false },
}
local lists = { recompute_modules = true, offload_modules = true, data_path = true }

local function scalar(word)
  if type(word) == "boolean" then return word and "true" or "false" end
  if type(word) == "number" then word = number(word) end
  local value = tonumber(word)
  if not value then return json(word):sub(1, -2) end
  if math.type(value) == "integer" then return word end
  -- 1e-05 is a string of YAML, 1.0e-05 a number.
  for i = 1, #word do
    local c = string.sub(word, i, i)
    if c == "." then return word end
    if c == "e" then return string.sub(word, 1, i - 1) .. ".0" .. string.sub(word, i) end
  end
  return word
end

local function word_of(word)
  if type(word) == "table" and word.expand then return '"${ORCH_RUN_FOLDER}' .. word.expand:sub(17) .. '"' end
  return scalar(word)
end

local function overrides(flags)
  local out = {}
  for field, value in pairs(plain) do out[field] = scalar(value) end
  for _, entry in ipairs(flags_with_words(flags)) do
    local flag, words = entry[1], entry[2]
    local renamed = other[flag]
    if type(renamed) == "table" then
      for field, value in pairs(renamed) do out[field] = scalar(value) end
    else
      local field = renamed or field_of_flag(flag)
      if flag == "--moe-layer-freq" then
        local places = {}
        for i = 1, model.layers do places[i] = i > model.dense_layers and "1" or "0" end
        out[field] = "[" .. table.concat(places, ", ") .. "]"
      elseif #words == 0 then
        out[field] = "true"
      elseif lists[field] then
        local parts = {}
        for i, word in ipairs(words) do parts[i] = word_of(word) end
        out[field] = "[" .. table.concat(parts, ", ") .. "]"
      else
        out[field] = word_of(words[1])
      end
    end
  end
  return out
end

-- Arguments are settings as well: "--moe_aux_loss_coeff", 1e-4 or "moe_aux_loss_coeff=1e-4".
local function refuse_args(said)
  for _, word in ipairs(run.args) do
    local name = cut(word, "=")
    local is_flag = string.sub(name, 1, 2) == "--"
    local field = is_flag and field_of_flag(name) or name
    if said[field] and (is_flag or name ~= word) then
      refuse("args", "'" .. word .. "' is set already: " .. field .. " is " .. said[field],
             "change the field that it follows from, or leave it out")
    end
  end
end

local function file(settings_of)
  local lines = {
    "work_group: orch", "user_name: orch", "exp_name: " .. json(run.id):sub(1, -2), 'workspace: "${ORCH_RUN_FOLDER}/primus"', "",
    "modules:", "  pre_trainer:", "    framework: megatron", "    config: pre_trainer.yaml", "    model: language_model.yaml",
    "    overrides:",
  }
  for field, text in pairs(settings_of) do lines[#lines + 1] = "      " .. field .. ": " .. text end
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end

return {
  doc = "AMD's Primus with its Megatron backend, by an experiment file: gpt, llama, moe",
  versions = { "26.2", "26.3", "26.4", "26.5" },
  render = function()
    local flags, environment = megatron_lm_flags(16)
    local said = overrides(flags)
    refuse_args(said)
    return {
      argv = { expand "$PRIMUS/primus/cli/main.py", "train", "pretrain", "--config", in_run(path) },
      files = { [path] = file(said) },
      needs = { PRIMUS = "the folder of a checkout of Primus, with its third_party/Megatron-LM" },
      environment = environment,
      version = { "git", "-C", expand "$PRIMUS", "describe", "--tags" },
      stop = { signal = "TERM" },
      owns = megatron_owns,
    }
  end,
}
