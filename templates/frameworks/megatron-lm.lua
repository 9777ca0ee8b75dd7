-- NVIDIA's Megatron-LM, pretrain_gpt.py; megatron.lua has its flags. Flags rendered for 0.10 to 0.19 were
-- parsed and validated by the programs' own parsers, at the tags core_v0.10.0 to core_v0.19.0.
return {
  doc = "NVIDIA's Megatron-LM (pretrain_gpt.py): gpt, llama, moe",
  versions = { "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.10", "0.11", "0.12", "0.13", "0.14", "0.15", "0.16",
               "0.17", "0.18", "0.19" },
  programs = { "pretrain_gpt.py" },
  read = function() return read_megatron_lm() end,
  render = function()
    local flags, environment = megatron_lm_flags()
    return {
      argv = { expand "$MEGATRON_LM/pretrain_gpt.py", table.unpack(flags) },
      needs = { MEGATRON_LM = "the folder of a checkout of Megatron-LM" },
      environment = environment,
      version = { "env", expand "PYTHONPATH=$MEGATRON_LM", "python3", "-c",
                  "import megatron.core as m; print(m.__version__)" },
      stop = { signal = "TERM" },
      owns = megatron_owns,
    }
  end,
}
