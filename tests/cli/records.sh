#!/bin/bash
# orch ingest, compare and report: logs, tables, run folders and experiments become one kind of
# record.
. "$(dirname -- "$0")/lib.sh"
. "$here/local.sh"

# A log in Megatron's format: NAME SECONDS-PER-STEP(ms) TENSOR_PARALLEL
megatron_log() {
  local data=$((64 / 4 / $3)) i
  {
    echo "using world size: 64, data-parallel-size: $data, tensor-model-parallel size: $3, pipeline-model-parallel size: 4"
    echo "------------------------ arguments ------------------------"
    printf '  %s ........ %s\n' world_size 64 data_parallel_size "$data" tensor_model_parallel_size "$3" \
      pipeline_model_parallel_size 4 num_layers 40 hidden_size 5120 num_attention_heads 40 seq_length 2048 \
      micro_batch_size 2 global_batch_size 512 fp16 True checkpoint_activations True padded_vocab_size 50304
    echo "-------------------- end of arguments ---------------------"
    for i in $(seq 1 40); do
      printf ' iteration %8d/     100 | consumed samples: %12d | elapsed time per iteration (ms): %d.0 | global batch size:   512 | lm loss: %d.500000E+00 | number of skipped iterations:   0 |\n' \
        "$i" $((i * 512)) $(($2 + i % 5)) $((9 - i / 5))
    done
  } >"$1"
}

json() { python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"; }

# --- ingest
megatron_log slow.out 12000 4
megatron_log fast.out 10000 2
orch ingest slow.out --cluster jean-zay --set gpu=a100-80g --format json
exits 0 "a log as JSON"
record=$out
printf '%s\n' "$record" >slow.json

orch ingest slow.out --format csv --set gpu=a100-80g --set site=jean-zay
exits 0 "a log as a row"
printf '%s\n' "$out" >rows.csv
orch validate rows.csv
exits 0 "which validate reads"
orch ingest --csv rows.csv
exits 0 "and so does ingest"
has "$out" "12.0" "with its time"

orch ingest nowhere.out
exits 1 "a log that is not there"
: >empty.out
head -c 4096 /dev/urandom >binary.out
orch ingest empty.out binary.out slow.out
exits 0 "what is no log does not spoil the others"
has "$err" "skipped: empty.out: empty" "an empty file"
has "$err" "skipped: binary.out" "a binary one"
orch ingest empty.out
exits 1 "nothing but an empty file"
printf 'CUDA out of memory \033[2J\033]0;owned\007 <script>alert(1)</script>\n' >>fast.out
orch ingest fast.out
lacks "$out$err" $'\033' "escape codes of a log reach no terminal"

orch ingest slow.out -o /dev/null
exits 0 "a device is written to"
[ -c /dev/null ] || bad "and stays a device" "$(ls -l /dev/null)"
ln -s target.txt link.txt
orch ingest slow.out -o link.txt
if [ ! -L link.txt ] || [ ! -s target.txt ]; then bad "a link is followed" "$(ls -l link.txt)"; fi
sed 's/lm loss: [45][.]500000E+00/lm loss: nan/' slow.out >nan.out
orch ingest nan.out
has "$out" "NaN in 10 of 40 steps" "NaN is told"
COLUMNS=60 orch ingest slow.out
has "$out" "no room here for:" "what a narrow screen leaves out"
cp slow.out '[click](javascript:x).out'
orch ingest '[click](javascript:x).out' --format md
lacks "$out" " [click]" "a name is no link"

# --- compare
megatron_log fast.out 10000 2
orch compare slow.json fast.out --format json
exits 0 "records and a log"
has "$(json "sorted(x['field'] for x in d['differences'] if x['field'].endswith('parallel'))" <<<"$out")" \
  "tensor_parallel" "as JSON"
orch compare b7b-0006 b7b-0003 b7b-0027
exits 0 "published rows"
for field in strategy recompute optimizer gpus seq zero_stage; do has "$out" "$field" "differing fields"; done
has "$out" "cannot tell which" "more than one difference says so"
orch compare --in bloom-prequel date=2022-02-21,zero_stage=1 date=2022-02-24
exits 0 "by date"
has "$out" "mixture" "a choice of several settings says so"
orch compare ddp zero3
exits 1 "nothing to choose from"
has "$err" "--in" "and how to have something"

# --- report
orch report "$ORCH_HOME/experiments/200b.lua" "$ORCH_HOME/experiments/bloom7b_days.lua" -o both.html
exits 0 "two experiments on one page"
has "$(cat both.html)" '<a href="#answer-2">bloom7b_days</a>' "with a list of contents"
orch report slow.out --watch 1 -o watched.html
exits 0 "a watch of what does not go on ends"
lacks "$(cat watched.html)" 'http-equiv="refresh"' "and its page stays as it is"
for source in gpt2-jz-v100 bench-1b3 bloom7b-days bloom-prequel pp-perlmutter; do
  orch report "$source" --top 0
  exits 0 "the source $source"
  has "$out" "est." "with estimates"
  [ -s "$source.html" ] || bad "$source.html is written" "it is not"
done
cp slow.out log.html
orch report log.html
exits 2 "a page never replaces what is no page"
cmp -s slow.out log.html || bad "the log is as it was" ""
orch report slow.out
orch report slow.out
exits 0 "but a page replaces a page"
cat >secret.lua <<'LUA'
return experiment {
  name = "secret", model = "gpt-tiny",
  hardware = { cluster = "local", gpus = 1, environment = { WHO = "hf_SECRET" } },
  batch = { global_batch = 8 }, tokens = 1e6, strategies = { ddp { dtype = "fp32" } },
}
LUA
orch report secret.lua
exits 0 "an experiment with a secret"
lacks "$(cat secret.html)" "hf_SECRET" "which is not in the page"
orch report secret.lua --attach
has "$(cat secret.html)" "hf_SECRET" "unless its file is asked for"

# --- our own runs: steps of two seconds with one rank, of one second with two
# shellcheck disable=SC2016 # the stand-in evaluates it
measure='for ((i = 1; i <= 40; i++)); do
  event "\"step\",\"step\":$i,\"loss\":$((9 - i / 10)).5,\"step_seconds\":$((2 / WORLD_SIZE)).0$((i % 4)),\"tokens\":$((i * tokens_per_step)),\"tokens_per_second\":$((1000 * WORLD_SIZE))"
done
finish'
cat >two.lua <<LUA
return experiment {
  name = "two", model = "gpt-tiny",
  hardware = { cluster = "local", gpus = { 1, 2 },
               environment = { ORCH_TRAINER = "$stand_in", BEHAVIOUR = [[$measure]] } },
  batch = { global_batch = 8, micro_batch = 4 }, tokens = 1e6, steps = 40,
  strategies = { ddp { dtype = "fp32" } },
}
LUA
local_orch run two.lua -y
exits 0 "two runs on this machine"
orch compare --in runs/two gpus=1 gpus=2
exits 0 "our own runs"
has "$out" "The only difference that can explain it: gpus 1" "what differs"
has "$out" "1.98x faster" "how much faster: medians of 2.02 and 1.02 s"
orch report two.lua -o two.html
exits 0 "a report of runs that were run"
orch report two --format json
has "$(json "sorted(r['measured']['steps'] for r in d['records'])" <<<"$out")" "[40, 40]" "with their history"
has "$(json "[r['state'] for r in d['records']]" <<<"$out")" "['finished', 'finished']" "and their state"
# --- a page that is updated while a run is running, and stays when it has ended
sed -e 's/name = "two"/name = "going"/' -e 's/gpus = { 1, 2 }/gpus = 1/' \
  -e "s|^finish|while [ ! -e '$work/go' ]; do sleep 0.1; done; finish|" two.lua >going.lua
local_orch run going.lua -y --detach
exits 0 "a run that waits"
PATH=$work/tools "$deadline" 120 "$orch_program" report going --watch 1 -o going.html >going.out 2>&1 &
watcher=$!
# written WORDS: the page contains them within a few seconds.
written() {
  for _ in {1..200}; do
    if grep -q -- "$1" going.html 2>/dev/null; then return 0; fi
    sleep 0.1
  done
  return 1
}
written '<meta http-equiv="refresh" content="1">' || bad "a watched page reloads itself" "$(cat going.out)"
written '>running<' || bad "and says that the run goes on" "$(cat going.out)"
before=$(stat -c %y going.html)
for _ in {1..100}; do
  if [ "$(stat -c %y going.html)" != "$before" ]; then break; fi
  sleep 0.1
done
if [ "$(stat -c %y going.html)" = "$before" ]; then bad "it is written again while the run goes on" "$before"; fi
touch "$work/go"
code=0
wait "$watcher" || code=$?
exits 0 "the watch ends with the run"
has "$(cat going.html)" '>finished<' "its last page says how the run ended"
lacks "$(cat going.html)" 'http-equiv="refresh"' "and stays as it is"
for run in runs/two/*ddp*/; do
  [ -s "$run/provenance.json" ] || bad "a run folder says where it is from" "$run"
done
