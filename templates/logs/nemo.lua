-- NeMo 2 (a line per step) and NeMo 1 (Lightning's progress bar with values).

return {
  framework = "nemo",
  fields = {
    { name = "iteration", kind = "step", weight = 8,
      begins = "Training epoch {epoch}, iteration {step}/{steps_planned}",
      keys = {
        ["global_step"] = "step",
        ["train_step_timing in s"] = "step_seconds",
        ["global_batch_size"] = "gbs",
        ["consumed_samples"] = "samples",
        ["reduced_train_loss"] = "loss",
        ["TFLOPS_per_GPU"] = "tflops",
        ["tflops_per_sec_per_gpu"] = "tflops",
        ["tokens_per_sec_per_gpu"] = "tokens_per_second_per_gpu",
      } },
  },
  lines = {
    { name = "bar of NeMo 1", has = "train_step_timing in s=", kind = "step", weight = 7,
      match = [[reduced_train_loss=(?<loss>[-+\w.]+).*?global_step=(?<step>[\d.]+)(?:.*?consumed_samples=(?<samples>[\d.]+))?.*?train_step_timing in s=(?<step_seconds>[\d.]+)]] },
    { name = "processes of Lightning", has = "All distributed processes registered", begins_run = true,
      weight = 5, match = [[Starting with (?<gpus>\d+) processes]] },
    { name = "vocabulary", has = "Padded vocab_size: ", weight = 3,
      match = [[Padded vocab_size: (?<vocab_padded>\d+), original vocab_size: (?<vocab>\d+)]] },
    { name = "end", has = "`Trainer.fit` stopped: `max_steps=", finished = true },
  },
}
