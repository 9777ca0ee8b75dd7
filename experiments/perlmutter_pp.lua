-- How far does the pipeline scale? Slices of a GPT-1T, two layers per stage and eight micro-batches
-- per stage, so that every GPU has the same work at every depth. Tensor parallel spans two nodes.
return experiment {
  name = "perlmutter_pp",
  doc = "weak scaling of the pipeline: GPT-1T slices on Perlmutter",
  model = preset("gpt-1t-2l", { layers = function(r) return 2 * r.pipeline_parallel end }),
  hardware = { cluster = "perlmutter", partition = "a100-80g" },
  batch = { micro_batch = { 1, 2 }, accumulate = function(r) return 8 * r.pipeline_parallel end },
  tokens = 100e9,
  strategies = {
    megatron {
      dtype = "fp16",
      tensor_parallel = 8,
      pipeline_parallel = { 1, 2, 4, 8, 16, 32 },
      data_parallel = 1,
      engine = "deepspeed",
      offload = "optimizer",
      zero_stage = 1,
      flash_attention = { true, false },
    },
  },
}
