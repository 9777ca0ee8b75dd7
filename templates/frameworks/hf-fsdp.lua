-- Hugging Face's Trainer with accelerate's FSDP2, through hf_driver.py. The variables are those that `accelerate
-- launch` would set, so that no launcher is needed; fsdp_config.yaml has the same settings for
-- people who use it.
local function flag(value) return value and "true" or "false" end

return {
  doc = "Hugging Face's Trainer with accelerate's FSDP2, by a driver of ours: gpt2 and bloom",
  versions = { "4.57", "5" },
  package = "transformers",
  programs = { "run_clm.py" },
  read = function() return read_run_clm("hf-fsdp") end,
  render = function()
    read_ours()
    if run.strategy ~= "fsdp" and run.strategy ~= "zero3" then
      refuse("strategy", "FSDP shards over data-parallel ranks", "use fsdp { ... } or zero3 { ... }")
    end
    if run.pipeline_parallel > 1 then refuse("pipeline_parallel", "accelerate has no pipeline beside FSDP", "use 1") end
    refuse_unless(settings.prefetch, 1, "prefetch", "FSDP2 gathers one layer ahead")
    refuse_unless(settings.offload_activations, false, "offload_activations")
    refuse_unless(settings.offload_fraction, 1.0, "offload_fraction")
    refuse_unless(settings.overlap, true, "overlap")
    if settings.sharding == "hybrid" then refuse("sharding", "hybrid is not rendered for accelerate yet", "use full or grad_op") end
    if settings.offload == "optimizer" then refuse("offload", "FSDP offloads all or nothing", "use full") end
    if settings.dtype == "fp16" then refuse("dtype", "FSDP2 has no loss scaling here", "use bf16") end
    local _ = settings.hybrid_shard_group, settings.reduce_dtype
    local made = trainer_driver()
    local block = model.family == "bloom" and "BloomBlock" or "GPT2Block"
    -- FSDP's own recomputation: with the Trainer's, weights would be gathered twice.
    local fsdp = {
      FSDP_VERSION = "2", FSDP_RESHARD_AFTER_FORWARD = flag(settings.sharding ~= "grad_op"),
      FSDP_OFFLOAD_PARAMS = flag(settings.offload == "full"), FSDP_AUTO_WRAP_POLICY = "TRANSFORMER_BASED_WRAP",
      FSDP_TRANSFORMER_CLS_TO_WRAP = block, FSDP_STATE_DICT_TYPE = "SHARDED_STATE_DICT",
      FSDP_ACTIVATION_CHECKPOINTING = flag(settings.recompute == "full"),
    }
    local lines = { "distributed_type: FSDP", "mixed_precision: " .. (settings.dtype == "bf16" and "bf16" or "no"), "fsdp_config:" }
    for name, value in pairs(fsdp) do
      made.environment[name] = value
      lines[#lines + 1] = "  " .. string.lower(name) .. ": " .. value
    end
    made.environment.ACCELERATE_USE_FSDP = "true"
    made.environment.ACCELERATE_MIXED_PRECISION = settings.dtype == "bf16" and "bf16" or "no"
    made.files = { ["fsdp_config.yaml"] = table.concat(lines, "\n") .. "\n" }
    return made
  end,
}
