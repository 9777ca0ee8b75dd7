-- DeepSpeed through torch_driver.py: deepspeed.initialize with ds_config.json. First weights, samples
-- and rules are ours.
return {
  doc = "DeepSpeed by a driver of ours: stages 0 to 3 and offload; gpt and bloom",
  versions = { "0.18", "0.19" },
  package = "deepspeed",
  render = function()
    read_ours()
    refuse_torch_driver()
    refuse_deepspeed()
    if run.strategy == "ddp" then refuse("strategy", "DDP is PyTorch's", "use deepspeed { stage = 0 }, or framework = \"torch\"") end
    return {
      argv = { in_run("torch_driver.py"), "--run", in_run("run.json"), "--attempt", expand "$ORCH_ATTEMPT_FOLDER",
               "--deepspeed", in_run("ds_config.json") },
      copies = { "torch_driver.py" },
      files = { ["ds_config.json"] = json(deepspeed_config()) },
      environment = { PYTORCH_CUDA_ALLOC_CONF = "expandable_segments:True" },
      version = { "python3", "-c", "import deepspeed; print(deepspeed.__version__)" },
      stop = { signal = "USR1" },
    }
  end,
}
