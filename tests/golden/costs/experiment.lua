-- What failures, waits and rare checkpoints cost, in days and in money; one run is over the budget.
return experiment {
  name = "costs",
  model = "gpt-199b",
  hardware = { cluster = "priced", partition = "a100-80g", nodes = 48 },
  batch = { global_batch = 1536 },
  tokens = 300e9,
  training = { checkpoint_every = 1000 },
  budget = { money = 0.65e6, energy_kwh = 600e3, co2_kg = 40e3 },
  strategies = {
    megatron { tensor_parallel = 4, pipeline_parallel = { 12, 24 }, micro_batch = 2, engine = "deepspeed",
               recompute = "full", sequence_parallel = true, zero_stage = 1, flash_attention = false },
  },
}
