-- Which shape and which layout for a 176B on 384 A100? The model is the one that was trained and its
-- layout the published one: what `orch plan` shows. `orch search` tries every shape near its size
-- with every layout.
return experiment {
  name = "search_176b",
  doc = "shapes and layouts of a 176B on 48 nodes of 8 A100",
  model = "bloom-176b",
  search = {
    params = "176B",
    tolerance = 0.01, -- a smaller model trains faster: sizes must be alike to be compared
    layers = { from = 60, to = 110 },
    hidden_multiple = 128,
    heads = { 64, 80, 96, 104, 112, 128 },
  },
  hardware = { cluster = "jean-zay", partition = "a100-80g", nodes = 48 },
  batch = { global_batch = 2048 },
  tokens = 350e9,
  budget = { gpu_hours = 3e6, reserve_nodes = 4 },
  strategies = {
    megatron {
      tensor_parallel = 4,
      pipeline_parallel = 12,
      micro_batch = 2,
      stage_partition = "transformer|embedding",
      engine = "deepspeed",
      zero_stage = 1,
      fp32_accumulate = true,
      flash_attention = false,  -- as it was trained
    },
  },
  constraints = {
    ["tensor parallel stays in the node"] = function(r)
      return r.tensor_parallel <= r.gpus_per_node
    end,
    ["heads suit the fused softmax"] = function(r)
      return r.heads // r.tensor_parallel * r.micro_batch % 4 == 0
    end,
  },
}
