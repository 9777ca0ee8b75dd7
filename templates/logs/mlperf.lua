-- MLPerf's logging: ":::MLLOG {…, "time_ms": 1700000000000, …, "key": "…", "value": …, "metadata": {…}}", beside
-- the lines of the framework that trains, whose step lines have priority.

local lines = {
  { name = "start", has = [["key": "run_start"]], begins_run = true, weight = 3, match = [[:::MLLOG]] },
  { name = "end", has = [["key": "run_stop"]], finished = true, match = [[:::MLLOG.*"status": "success"]] },
  { name = "aborted", has = [["key": "run_stop"]], failure = "bad_exit", priority = 12,
    match = [[:::MLLOG.*"status": "aborted"]] },
  { name = "step", has = [["train_step_time":]], kind = "step", weight = 4,
    match = [[:::MLLOG.*"train_step_time": (?<step_seconds>[\d.e-]+)(?=(?:.*?"reduced_train_loss": (?<loss>[-\d.e]+))?)]]
      .. [[.*"(?:step|step_num)": (?<step>\d+)]] },
  { name = "loss of a step", has = [["key": "train_loss"]], kind = "step", weight = 3, scale = { clock = 1e-3 },
    match = [[:::MLLOG.*"time_ms": (?<clock>\d+).*"value": (?<loss>[-\d.e]+).*"step_num": (?<step>\d+)]] },
  -- Some count samples: the step follows from global_batch_size.
  { name = "loss after samples", has = [["samples_count":]], kind = "step", weight = 3, scale = { clock = 1e-3 },
    match = [[:::MLLOG.*"time_ms": (?<clock>\d+).*"key": "train_loss", "value": (?<loss>[-\d.e]+).*"samples_count": (?<samples>\d+)]] },
  { name = "throughput after samples", has = [["samples_count":]], kind = "step", weight = 2,
    match = [[:::MLLOG.*"throughput": (?<samples_per_second>[\d.e]+).*"samples_count": (?<samples>\d+)]] },
}

for key, target in pairs({ global_batch_size = "gbs", gradient_accumulation_steps = "gas",
  max_sequence_length = "seq", max_steps = "steps_planned", seed = "more_seed",
  submission_benchmark = "more_model_name", submission_org = "more_submitter",
  submission_platform = "more_platform" }) do
  lines[#lines + 1] = { name = key, has = [["key": "]] .. key .. [["]], weight = 3,
    match = [[:::MLLOG.*"value": "?(?<]] .. target .. [[>[^",}]+)]] }
end

return { lines = lines }
