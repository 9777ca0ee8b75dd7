local sizes = nil
return experiment { model = sizes.small }
