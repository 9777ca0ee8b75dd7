-- Nothing of the outside world is there.
local stamp = os.time()
return experiment { name = "at-" .. stamp }
