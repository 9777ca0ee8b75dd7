-- fairseq: "… | INFO | train_inner | epoch 001:  100 / 487 loss=4.655, wps=12345, …, num_updates=100, …", or
-- the same as an object. Words (wps, wpb) are tokens, and the loss is a logarithm to base 2. The batch (bsz) is a
-- mean that changes from line to line: sentences differ in length.

local function value(key, target)
  return [[(?=(?:.*?\b]] .. key .. [[=(?<]] .. target .. [[>[-+\w.]+))?)]]
end

return {
  framework = "fairseq",
  lines = {
    { name = "updates", has = ", wpb=", kind = "step", weight = 8,
      match = [[\| epoch \d+:?\s+\d+ / \d+ (?=.*?\bnum_updates=(?<step>\d+))]] .. value("loss", "loss")
        .. value("wps", "tokens_per_second") .. value("wpb", "batch_tokens") },
    { name = "devices", has = "training on ", begins_run = true, weight = 3,
      match = [[training on (?<gpus>\d+) devices \(GPUs/TPUs\)]] },
    { name = "sentences", has = "max sentences per ", weight = 3,
      match = [[max sentences per (?:device|GPU) = (?<mbs>\d+)]] },
    { name = "size", has = "model params: ", weight = 3,
      match = [[num\. (?:shared )?model params: (?<params>[1-9][\d,]*)]] },
    { name = "end", has = "done training in ", finished = true, match = [[done training in [\d.]+ seconds]] },
  },
  records = {
    { name = "updates as an object", form = "json", kind = "step", weight = 8,
      needs = { "num_updates", "wps", "wpb" },
      keys = { num_updates = "step", loss = "loss", wps = "tokens_per_second", wpb = "batch_tokens" } },
  },
}
