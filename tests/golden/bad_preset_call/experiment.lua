return experiment { model = preset { "bloom-7b" } }
