return { "no function" }
