#!/bin/bash
# A quantity that was added by one entry of a list (CMakeLists.txt, entry.txt), everywhere that
# people and programs see it: ORCH PLUGINS.
# shellcheck source=../cli/lib.sh
. "$(dirname -- "$0")/../cli/lib.sh"
here=$(realpath -- "$here/../cli")
. "$here/runs.sh"
. "$here/local.sh"
export ORCH_PLUGINS
ORCH_PLUGINS=$(realpath -- "$2")
name=tokens_in_half_a_second
title='tokens in half a second'
head='tokens/half s'

# number PATH...: a value of the JSON that orch printed last.
number() { python3 -c 'import json, sys
doc = json.load(open(sys.argv[1]))
for word in sys.argv[2:]: doc = doc[int(word) if word.isdigit() else word]
print("%.17g" % doc)' "$work/out" "$@"; }

# is_half NUMBER NUMBER LABEL: the second is half of the first, to the precision of the JSON.
is_half() {
  same half "$(python3 -c 'import sys
whole, half = map(float, sys.argv[1:])
print("half" if abs(half - whole / 2) <= 1e-6 * whole else f"{half} of {whole}")' "$1" "$2")" "$3"
}

# Two GPUs, ten steps at 2,048 tokens per second.
# shellcheck disable=SC2016 # the stand-in evaluates it
steps='for ((i = 1; i <= 10; i++)); do
  event "\"step\",\"step\":$i,\"loss\":4.5,\"step_seconds\":0.5,\"tokens\":$((i * tokens_per_step)),\"tokens_per_second\":2048,\"peak_memory_bytes\":1000000"
done
finish'
# shellcheck disable=SC2154 # stand_in is of local.sh
cat >made.lua <<LUA
return experiment {
  name = "made", model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 2, environment = { ORCH_TRAINER = "$stand_in", BEHAVIOUR = [[$steps]] } },
  batch = { global_batch = 8, micro_batch = { 2, 4 } }, tokens = 1e6, steps = 10,
  strategies = { ddp { dtype = "fp32" } },
  expect = { $name = { value = 1024, below = 0.05, above = 0.05 } },
}
LUA

# In a plan.
orch plan made.lua
exits 0 'plan'
has "$out" "$head" 'a table'
orch plan made.lua --format md
has "$out" "| $head |" 'Markdown'
orch plan made.lua --format csv
has "$(head -n 1 "$work/out")" ",$name" 'CSV'
orch plan made.lua --format json
estimated=$(number runs 0 $name)
is_half "$(number runs 0 tokens_per_second)" "$estimated" 'JSON: half of the tokens'
orch plan made.lua --format json --where "$name > 0 and $name < 1e12"
exits 0 '--where'
same "$estimated" "$(number runs 0 $name)" '--where'
orch plan made.lua --where 'tokens_in_half_a_secon > 0'
has "$err" "did you mean '$name'?" 'a typing error'
orch explain made.lua
has "$out" "$title" 'explain'
orch explain made.lua --format json
same "$estimated" "$(number runs 0 $name)" 'explain as JSON'

# In a measurement.
local_orch run made.lua -y
exits 0 'run'
has "$out" "$head" 'the table at the end'
orch status made
has "$out" "$head" 'status'
orch status made --format csv
has "$(head -n 1 "$work/out")" ",$name,estimated_$name" 'status as CSV'
has "$out" ',1024,' 'status as CSV'
orch status made --format json
same 1024 "$(number runs 0 $name)" 'status as JSON'
is_half "$(number runs 0 estimated_tokens_per_second)" "$(number runs 0 estimated_$name)" 'status as JSON, estimated'
orch check made.lua
exits 0 'expect'
has "$out" "$name" 'expect'
orch report made --format csv
has "$(head -n 1 "$work/out")" ",$name" 'records as CSV'
has "$(head -n 1 "$work/out")" ",estimated_$name" 'records as CSV'
orch report made --format json
same 1024 "$(number records 0 measured $name)" 'records as JSON'
is_half "$(number records 0 estimated tokens_per_second)" "$(number records 0 estimated $name)" 'records as JSON, estimated'
orch report made --format md
has "$out" "| $head | est. $head |" 'records as Markdown'
orch report made -o page.html
exits 0 'a page'
has "$(cat page.html)" "data-name=\"$name\"" 'a column of the page'
mapfile -t ids < <(find runs/made -mindepth 1 -maxdepth 1 -type d -name '*gpu*' -printf '%f\n')
orch compare "${ids[0]}" "${ids[1]}"
has "$out" "$title" 'compare'

# In a log.
cat >mine.lua <<LUA
return { framework = "mine", lines = {
  { name = "start", has = "mine starts", begins_run = true, match = [[^mine starts on (?<gpus>\\d+) GPUs]] },
  { name = "rate", has = "half a second", match = [[half a second (?<$name>[0-9.]+)]] },
  { name = "end", has = "goodbye", finished = true } } }
LUA
printf 'mine starts on 4 GPUs\nhalf a second 512\ngoodbye\n' >mine.log
orch ingest mine.log --patterns mine.lua --format json
exits 0 'ingest'
same 512 "$(number records 0 measured $name)" 'ingest'
