-- The sandbox has no access to the outside world.
local stamp = os.time()
return experiment { name = "at-" .. stamp }
