return {
  doc = "a program of one's own",
  versions = {},
  render = function()
    read_ours()
    local argv = { expand "$MINE/train.py" }
    add(argv, "--layers", model.layers, "--hidden", model.hidden, "--heads", model.heads, "--vocab", model.vocab,
        "--seq", model.seq, "--batch", run.micro_batch, "--lr", training.learning_rate)
    return { argv = argv, program = { "julia", "--project" }, needs = { MINE = "where my program is" },
             stop = { signal = "TERM" } }
  end,
}
