# The output of `orch plan` without what another constant of the estimator would change: the columns
# of the table from "fit" on and its order, where the estimates come from, ties, stacks, prices,
# dates and the answer.
# What it does not know it leaves as it is, so that a new form fails until it is judged here.

function say(text) {
  if (blank) print ""
  blank = 0
  print text
}

function sort_in(row, i) {
  for (i = rows++; i > 0 && sorted[i - 1] > row; --i) sorted[i] = sorted[i - 1]
  sorted[i] = row
}

function end_paragraph(i) {
  for (i = 0; i < rows; ++i) say(sorted[i])
  rows = table = warnings = 0
}

/^$/ { end_paragraph(); blank = 1; next }

/ may [a-zGPU -]+ [(]within the error of the estimates[)]$/ { next }
/^[a-z0-9_-]+( by [^ ]+)? is priced (as|on) / { next }
/^ *strategies at their best: / { next }
/^the best of / { sub(/: .*/, "") }
/^budget of / { sub(/(, [0-9]+ at risk [(][^)]*[)])?; the cheapest takes .*/, "") }
/^(Answer|How sure): / { answer = 1; next }
answer && /^  / { next }  # the best of each size, a line each
{ answer = 0 }
/^(failures: about|checkpoint_every (=|is not set)|energy: ) ?/ { next }
/^the first to end is / { next }
/^the fastest begins / { sub(/ and ends .*/, "") }

table {
  sub(/ +(fits|tight|oom)  .*/, "")
  if (ranked) sub(/^ *([0-9]+=?)? +/, "")
  sort_in($0)
  next
}
/^( *#  )?strategy .* fit  .*  GPU-hours/ {
  sub(/ +fit  .*/, "")
  ranked = sub(/^ *#  /, "")
  table = 1
}

# Of a warning that several runs have, the best one gives the numbers.
/^[0-9,]+ runs? with warnings:$/ { warnings = 1 }
warnings && /^ +[0-9,]+  / { example = index($0, ": e.g. ") }
warnings && example {
  numbers = substr($0, example + 1)
  gsub(/ [0-9]+([.,][0-9]+)*/, " ~", numbers)
  $0 = substr($0, 1, example) numbers
  example = 1
}

{ say($0) }
END { end_paragraph() }
