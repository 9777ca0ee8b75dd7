local many = {}
for i = 1, 60000 do
  many[i] = i
end
return experiment {
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 },
  strategies = { ddp { compression = powersgd { rank = many, start = many } } },
}
