local t = {}
for _ = 1, 100000 do
  t = { t }
end
return experiment { model = t, hardware = t, batch = t, strategies = t, constraints = t, budget = t }
