-- How large a model trains on one GPU, and how fast? With everything on the device; with the states of
-- some layers, of all, or all there is of them in host memory; with inputs of layers there too. A step
-- has 65,536 tokens. For another GPU, write a file like clusters/h200.yaml and name it here.
local function on_host(options)
  options.recompute, options.fused_kernels = "full", true
  return zero3(options)
end

return experiment {
  name = "one_gpu",
  doc = "1.3B to 13B on one H200: ddp, and what is offloaded to the host",
  model = { "gpt-1.3b", "gpt-2.7b", "gpt-6.7b", "gpt-13b" },
  hardware = { cluster = "h200", gpus = 1 },
  batch = { global_batch = 32, micro_batch = { 4, 8 } },
  tokens = 10e9,
  steps = 20,
  strategies = {
    ddp { recompute = { "none", "full" }, fused_kernels = true },
    on_host { offload = "optimizer", offload_fraction = { 0.3, 0.5, 0.7, 1 } },
    on_host { offload = "full", offload_activations = { false, true } },
  },
}
