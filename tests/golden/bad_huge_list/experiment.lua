local many = {}
for i = 1, 200000 do
  many[i] = i
end
return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = many },
  strategies = { ddp {} },
}
