local models = require("models")
return experiment { model = models.small }
