local thousand = {}
for i = 1, 1000 do
  thousand[i] = i
end
return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = thousand },
  batch = { micro_batch = thousand, accumulate = thousand },
  strategies = { megatron {  } },
}
