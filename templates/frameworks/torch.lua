-- Plain PyTorch through torch_driver.py, which lies beside this file and is copied into the run's
-- folder: DDP with PyTorch's hooks, or FSDP2. First weights, samples and rules are ours. With
-- args = { "--compile" } torch.compile has the model, or with FSDP2 each of its layers.
return {
  doc = "plain PyTorch by a driver of ours: DDP, DDP + PowerSGD, FSDP2; gpt and bloom",
  versions = {},
  package = "torch",
  render = function()
    read_ours()
    refuse_torch_driver()
    if run.strategy == "deepspeed" then refuse("strategy", "DeepSpeed's stages are DeepSpeed's", "use framework = \"deepspeed@0.19\"") end
    if settings.offload == "optimizer" then refuse("offload", "FSDP2 offloads all or nothing", "use full") end
    refuse_unless(settings.offload_fraction, 1.0, "offload_fraction")
    refuse_unless(settings.overlap, true, "overlap", "PyTorch reduces under backward")
    refuse_unless(settings.prefetch, 1, "prefetch", "FSDP2 gathers one layer ahead")
    local _ = settings.stage, settings.sharding, settings.hybrid_shard_group, settings.compression, settings.powersgd_rank
    _ = settings.powersgd_start, settings.powersgd_min_compression_rate, settings.bucket_mb
    _ = settings.gradient_as_bucket_view, settings.reduce_dtype
    return {
      argv = { in_run("torch_driver.py"), "--run", in_run("run.json"), "--attempt", expand "$ORCH_ATTEMPT_FOLDER" },
      copies = { "torch_driver.py" },
      environment = { PYTORCH_CUDA_ALLOC_CONF = "expandable_segments:True" },
      version = { "python3", "-c", "import torch; print(torch.__version__)" },
      stop = { signal = "USR1" },
    }
  end,
}
