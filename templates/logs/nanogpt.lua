-- nanoGPT and derived programs:
-- "iter 10: loss 9.9000, time 250.10ms, mfu 41.20%" (some print more in between), build-nanogpt's
-- "step    10 | loss: 6.12 | lr 6.0e-04 | norm: 1.23 | dt: 250.10ms | tok/sec: 2096000.12" and modded-nanogpt's
-- "step:10/5100 train_loss:6.12 train_time:2501ms step_avg:250.10ms", whose clock begins again once it is warm.

local lines = {
  { name = "iteration", has = " time ", kind = "step", weight = 8, scale = { step_seconds = 1e-3 },
    match = [[^iter (?<step>\d+): (?:train )?loss:? (?<loss>[-+\w.]+),(?:.*?,)? time (?<step_seconds>[\d.]+) ?ms]] },
  { name = "batch", has = "tokens per iteration will be: ", begins_run = true, weight = 3,
    match = [[tokens per iteration will be: (?<batch_tokens>[\d,]+)]] },
  { name = "size", has = "number of parameters: ", weight = 2,
    match = [[^number of parameters: (?<params>[\d.]+[KMB])\s*$]] },

  { name = "step of build-nanogpt", has = "dt: ", kind = "step", weight = 8, scale = { step_seconds = 1e-3 },
    match = [[^step\s+(?<step>\d+)\s*[|,:] (?:train )?loss: (?<loss>[-+\w.]+).*?\bdt: (?<step_seconds>[\d.]+) ?ms]]
      .. [[(?:.*?tok/sec: (?<tokens_per_second>[\d.,]+))?]] },
  { name = "batch of build-nanogpt", has = "total desired batch size: ", begins_run = true, weight = 3,
    match = [[total desired batch size: (?<batch_tokens>[\d,]+)]] },
  { name = "accumulation of build-nanogpt", has = "calculated gradient accumulation steps: ", weight = 3,
    match = [[calculated gradient accumulation steps: (?<gas>\d+)]] },

  { name = "validation of modded-nanogpt", has = "val_loss:", weight = 2,
    match = [[^step:\d+/\d+ val_loss:(?<more_validation_loss>[\d.]+)]] },
  { name = "memory of modded-nanogpt", has = "peak memory ", kind = "memory",
    scale = { max_allocated = 2 ^ 20, max_reserved = 2 ^ 20 },
    match = [[^peak memory (?:allocated|consumption): (?<max_allocated>\d+) MiB(?: reserved: (?<max_reserved>\d+) MiB)?]] },
}

-- The clock of modded-nanogpt excludes validation and is in milliseconds or seconds. Some variants print
-- it with validations only.
for unit, scale in pairs({ ms = 1e-3, s = 1 }) do
  local clock = [[train_time:(?<clock>[\d.]+)]] .. unit .. [[\b]]
  local step = [[^step:(?<step>\d+)/(?<steps_planned>\d+) ]]
  lines[#lines + 1] = { name = "step of modded-nanogpt", has = "train_time:", kind = "step", weight = 8,
    scale = { clock = scale }, match = step .. [[(?:train_loss:(?<loss>[-+\w.]+) )?]] .. clock }
  lines[#lines + 1] = { name = "steps between validations of modded-nanogpt", has = "val_loss:", kind = "step",
    weight = 6, scale = { clock = scale }, match = step .. [[val_loss:\S+ ]] .. clock }
end

return { framework = "nanogpt", lines = lines }
