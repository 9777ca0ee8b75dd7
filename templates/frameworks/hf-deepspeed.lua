-- Hugging Face's Trainer with DeepSpeed, through hf_driver.py; the version is that of transformers.
return {
  doc = "Hugging Face's Trainer with DeepSpeed, by a driver of ours: gpt2 and bloom",
  versions = { "4.57", "5" },
  package = "transformers",
  programs = { "run_clm.py" },
  read = function() return read_run_clm("hf-deepspeed") end,
  render = function()
    read_ours()
    refuse_deepspeed()
    local made = trainer_driver()
    add(made.argv, "--deepspeed", in_run("ds_config.json"))
    if settings.recompute == "full" then add(made.argv, "--gradient_checkpointing", "true") end
    local config = deepspeed_config()
    -- Without this section the Trainer makes PyTorch's AdamW, which decays no biases and norms.
    if config.optimizer.params.torch_adam then
      config.optimizer = nil
      config.zero_allow_untested_optimizer = true
    else
      unequal("training.weight_decay", "DeepSpeed's own optimizer decays all parameters, ours no biases and norms", nil)
    end
    made.files = { ["ds_config.json"] = json(config) }
    return made
  end,
}
