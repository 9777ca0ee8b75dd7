-- A constraint rejects with false, or with a string that is the reason.
return experiment {
  name = "constraints",
  model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 16 },
  batch = { global_batch = 128 },
  strategies = { megatron { tensor_parallel = { 1, 2, 4, 8 }, pipeline_parallel = { 1, 2 } } },
  constraints = {
    ["the pipe is full"] = function(r) return r.accumulate >= 8 * r.pipeline_parallel end,
    ["tensor ranks are few"] = function(r)
      if r.tensor_parallel > 4 then
        return "tensor_parallel " .. r.tensor_parallel .. " is more than 4"
      end
      return true
    end,
  },
}
