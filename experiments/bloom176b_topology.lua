-- The search for the shape and the layout of a 176B on 384 A100: narrow and deep or wide and
-- shallow, how many heads, how many stages. The constraints are those the fused kernels and the
-- batch ramp-up set.
return experiment {
  name = "bloom176b_topology",
  doc = "candidates for a 176B to 206B on 48 nodes of 8 A100",
  model = {
    "gpt-72x14336", "gpt-80x13824", "gpt-84x13312", "gpt-96x12288", "gpt-106x12288",
    "gpt-100x12288", "gpt-82x13312", "gpt-94x13312", "gpt-82x14336", "bloom-176b",
  },
  hardware = { cluster = "jean-zay", partition = "a100-80g", nodes = 48 },
  batch = { global_batch = 2048, rampup = { start = 192, step = 16, samples = 9765625, fewer_nodes = true } },
  tokens = 350e9,
  budget = { gpu_hours = 3e6, reserve_nodes = 4 },
  strategies = {
    megatron {
      zip { tensor_parallel = { 8, 8, 4 }, pipeline_parallel = { 6, 12, 12 } },
      micro_batch = { 1, 2, 4 },
      stage_partition = { "uniform", "transformer|embedding" },
      engine = "deepspeed",
      zero_stage = 1,
      fp32_accumulate = true,
      flash_attention = false,  -- as in 2022
    },
  },
  constraints = {
    ["heads suit the fused softmax"] = function(r)
      return r.heads // r.tensor_parallel * r.micro_batch % 4 == 0
    end,
    ["layers share out evenly"] = function(r)
      local parts = r.layers + (r.stage_partition == "uniform" and 0 or 2)
      return parts % r.pipeline_parallel == 0
        or string.format("%d parts on %d stages", parts, r.pipeline_parallel)
    end,
  },
}
