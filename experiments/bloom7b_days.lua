-- Days per 100B tokens for bloom-7b: FSDP, DeepSpeed 1 to 3, DDP, DDP + PowerSGD on 2 to 48 A100,
-- with and without gradient accumulation. Two samples of 1024 tokens per GPU and pass.
local gpus = { 2, 4, 8, 16, 32, 48 }
local accumulate = { 1, 256 }

return experiment {
  name = "bloom7b_days",
  doc = "bloom-7b on 2 to 48 A100: days per 100B tokens by strategy",
  model = preset("bloom-7b", { seq = 1024 }),
  hardware = { cluster = "jean-zay", partition = "a100-80g", gpus = gpus },
  batch = { micro_batch = 2, accumulate = accumulate },
  tokens = 100e9,
  stack = "hf-deepspeed-2022",  -- the software of the diary, for all strategies alike
  strategies = {
    fsdp { engine = "framework", recompute = "none" },
    deepspeed { stage = { 1, 2, 3 }, engine = "framework", recompute = "none" },
    -- Without fp32 master weights: with them a copy of the model and PowerSGD's memory exceed 80 GB.
    ddp {
      engine = "framework",
      optimizer = "adafactor",
      recompute = "full",
      master_weights = false,
      compression = { "none", powersgd { rank = 4 } },
    },
  },
}
