return experiment { name = "bad_missing_sections" }
