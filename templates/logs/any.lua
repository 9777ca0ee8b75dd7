-- Logs with one object per line (JSON lines, Python dictionaries) or a table (CSV), by the usual
-- names for the values of a step. A framework's own patterns have priority.

local function names(meaning, list, keys)
  for _, name in ipairs(list) do keys[name] = meaning end
end

local keys = {}
names("step", { "step", "global_step", "_step", "iteration", "iter", "train/step", "train/global_step",
  "trainer/global_step", "optimizer_step", "num_updates" }, keys)
names("loss", { "loss", "train_loss", "train/loss", "lm loss", "lm_loss", "ce_loss", "training_loss", "loss/train",
  "train/ce_loss", "global_avg_loss", "loss_metrics/global_avg_loss" }, keys)
names("step_seconds", { "step_time", "step_time_s", "step_time_sec", "step_seconds", "seconds_per_step", "time_per_step",
  "sec_per_step", "iteration_time", "iter_time", "time_per_iteration", "batch_time", "train/step_time",
  "perf/step_time", "time_metrics/end_to_end(s)" }, keys)
names({ "step_seconds", scale = 1e-3 }, { "step_time_ms", "iteration_time_ms", "iter_time_ms", "time_ms", "ms_per_step",
  "step_ms", "dt_ms", "elapsed time per iteration (ms)" }, keys)
names("tokens_per_second", { "tokens_per_second", "tokens_per_sec", "tokens/s", "tokens/sec", "tok/s", "tok_per_sec",
  "train/tokens_per_second", "train_tokens_per_second", "throughput/tokens_per_sec" }, keys)
names("tokens_per_second_per_gpu", { "tokens_per_second_per_gpu", "tokens_per_sec_per_gpu", "tokens/s/gpu",
  "tokens/sec/gpu", "tok/s/gpu", "tokens_per_sec_per_device", "throughput(tps)",
  "throughput/device/tokens_per_sec" }, keys)
names("samples_per_second", { "samples_per_second", "samples_per_sec", "samples/s", "train_samples_per_second",
  "throughput/samples_per_sec" }, keys)
names("steps_per_second", { "steps_per_second", "steps_per_sec", "it/s", "iterations_per_second" }, keys)
names("tokens", { "tokens", "total_tokens", "tokens_seen", "consumed_tokens", "num_input_tokens_seen", "train/tokens",
  "throughput/total_tokens" }, keys)
names("samples", { "samples", "consumed_samples", "samples_seen" }, keys)
names("tflops", { "tflops", "tflops_per_gpu", "TFLOPS_per_GPU" }, keys)
names("time", { "time", "timestamp", "_timestamp", "wall_time", "walltime", "elapsed", "elapsed_time", "elapsed_seconds",
  "elapsed_s", "time_elapsed", "_runtime", "datetime", "date", "ts" }, keys)
names("epoch", { "epoch", "train/epoch" }, keys)
names("batch_tokens", { "tokens_per_step", "batch_tokens" }, keys)
names("gbs", { "global_batch_size", "global_batch" }, keys)
names("seq", { "seq_len", "seq_length", "sequence_length" }, keys)
names("gpus", { "world_size", "num_gpus", "n_gpus" }, keys)
names("steps_planned", { "max_steps", "total_steps", "num_training_steps" }, keys)
names({ "max_reserved", scale = 2 ^ 30 }, { "memory/max_reserved(GiB)", "peak_memory_reserved_gib" }, keys)
names("max_allocated", { "peak_memory_bytes", "max_memory_allocated" }, keys)

return {
  records = {
    -- A Trainer repeats all its lines in log_history at its end.
    { name = "object", form = "json", kind = "step", weight = 2, without = { "log_history" }, keys = keys },
    { name = "table", form = "csv", kind = "step", weight = 2, keys = keys },
  },
}
