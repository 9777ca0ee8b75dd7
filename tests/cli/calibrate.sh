#!/bin/bash
# orch calibrate: the shipped rows, the user's own rows, and where results may be written.
# shellcheck source=lib.sh
. "$(dirname -- "$0")/lib.sh"

shipped=$(state_of "$ORCH_HOME/experiments")

orch calibrate
exits 0 'the shipped rows'
for part in 'jean-zay a100-80g: ' 'perlmutter a100-80g: ' \
  'intel-pvc pvc: ' 'jean-zay v100-32g, v100-16g: ' 'gemm ' 'network.efficiency ' \
  'context_memory ' 'time_spread ' 'time until 2022-02-25 '; do
  has "$out" "$part" 'the shipped rows'
done
lacks "$out" 'factors of ' 'stacks are as they are unless --stacks asks'
has "$err" 'nothing was written: --write' 'the shipped rows'
has "$err" 'not used: 33 suspect' 'the shipped rows'
has "$err" 'not used: jz-a100-0018: status: it hung' 'the shipped rows'

orch calibrate --fresh --format json
exits 0 'as JSON'
python3 - "$work/out" <<'PY' || bad 'the JSON of calibrate'
import json, sys
data = json.load(open(sys.argv[1]))
assert list(data) == ["schema", "fitted", "constants", "skipped", "findings"], list(data)
assert all(row["id"] and row["reason"] for row in data["skipped"])
assert len(data["fitted"]) >= 5
for group in data["fitted"]:
    assert group["cluster"] and group["names"] and group["rows"]
    constants = {row["name"]: row["after"] for row in data["constants"] if row["of"] == group["name"]}
    eras = [value for name, value in constants.items() if name.startswith("time until ")]
    assert constants and all(value >= 0 for value in constants.values())
    assert len(constants) - len(eras) <= 20, constants
    assert group["mape_after"] < group["mape_before"], group
    assert all(0.1 <= value <= 10 for value in eras), eras
PY
orch calibrate --format md
exits 0 'as Markdown'
has "$out" '| constant | before | fitted |' 'as Markdown'
orch calibrate --format yaml
exits 2 'an unknown format'

# Three rows that take 1.3 times the time by cluster file and stack.
measured() { # SECONDS SECONDS SECONDS
  cat <<CSV
id,gpu,gpus,framework,layers,hidden,heads,seq,mbs,gbs,step_time_s,site,zero_stage
one,a100-80g,8,deepspeed,24,2048,16,1024,4,512,$1,mine,1
two,a100-80g,16,deepspeed,24,2048,16,1024,4,512,$2,mine,1
three,a100-80g,8,deepspeed,24,4096,32,1024,2,512,$3,mine,1
CSV
}
measured 1 1 1 >mine.csv
orch validate mine.csv --cluster dgx-a100 --format json
exits 0 'what the cluster file and the stack say'
mapfile -t seconds < <(python3 - "$work/out" <<'PY'
import json, sys
rows = {row["id"]: row["predicted_seconds"] for row in json.load(open(sys.argv[1]))["rows"]}
for name in "one", "two", "three":
    print(1.3 * rows[name])
PY
)
measured "${seconds[@]}" >mine.csv

orch calibrate --from mine.csv --cluster dgx-a100
exits 0 'three rows'
has "$out" 'dgx-a100 a100-80g: 3 rows of mine' 'three rows'
has "$out" 'step time 23.1 % off before' 'three rows' # 1 - 1 / 1.3
has "$out" 'gemm ' 'three rows'
lacks "$out" 'stage_overhead' 'rows without a pipeline'
lacks "$out" 'context_memory' 'rows without memory'
lacks "$out" 'pcie.efficiency' 'rows without offload'
same mine.csv "$(ls)" 'nothing is written unasked'

# The user's own file, named like its cluster, with which the rows are predicted better.
mkdir clusters
orch calibrate --from mine.csv --cluster dgx-a100 -o clusters/mine.yaml
exits 0 '--output'
has "$err" 'written to clusters/mine.yaml' '--output'
same 'name: mine' "$(grep '^name: ' clusters/mine.yaml)" 'the name is that of the file'
has "$(cat clusters/mine.yaml)" 'origin: "fitted: 3 rows of mine"' '--output'
if ! diff <(sed 's/^name: .*/name: mine/' "$ORCH_HOME/experiments/clusters/dgx-a100.yaml") \
  <(sed '/^    fitted:/,/seen:/d' clusters/mine.yaml) >"$work/diff"; then
  bad 'all but the name and the constants is as it was' "$(cat "$work/diff")"
fi
orch clusters mine
exits 0 'the new cluster can be read'
has "$out" 'mine: ' 'the new cluster can be read'
orch validate mine.csv --format json
exits 0 'the new cluster is found beside the rows'
python3 - "$work/out" <<'PY' || bad 'the new cluster predicts its rows'
import json, sys
(score,) = [s for s in json.load(open(sys.argv[1]))["scores"] if s["table"] is None]
assert score["n"] == 3 and score["mape"] < 6, score
PY

# Into the cluster's own file, here a copy of a fitted one: other partitions are unchanged, and a
# second time changes nothing.
sed 's/^name: .*/name: mine/' "$ORCH_HOME/experiments/clusters/jean-zay.yaml" >clusters/mine.yaml
cp clusters/mine.yaml before.yaml
orch calibrate --from mine.csv --write
exits 0 '--write'
has "$err" 'written to ' '--write'
has "$(cat clusters/mine.yaml)" 'fitted: 3 rows of mine' '--write'
lacks "$(diff before.yaml clusters/mine.yaml)" 'gpt2-jz-v100' '--write keeps other partitions'
same "$(grep '#' before.yaml)" "$(grep '#' clusters/mine.yaml)" '--write keeps comments'
has "$(cat clusters/mine.yaml)" "$(grep -m1 'attention_unaligned' before.yaml)" \
  '--write keeps what the rows say nothing about'
orch calibrate --from mine.csv --fresh --write
lacks "$(cat clusters/mine.yaml)" 'attention_unaligned' '--fresh starts from datasheets'
cp clusters/mine.yaml once.yaml
orch calibrate --from mine.csv --fresh --write
exits 0 '--write again'
same "$(cat once.yaml)" "$(cat clusters/mine.yaml)" '--write again'
# A link stays a link, and a file keeps its mode.
mv clusters/mine.yaml real.yaml
chmod 600 real.yaml
ln -s ../real.yaml clusters/mine.yaml
orch calibrate --from mine.csv --write
exits 0 'through a link'
same ../real.yaml "$(readlink clusters/mine.yaml)" 'a link stays a link'
same 600 "$(stat -c %a real.yaml)" 'a file keeps its mode'
rm clusters/mine.yaml
mv real.yaml clusters/mine.yaml

# Software too, into the user's own file.
cp "$ORCH_HOME/experiments/stacks.yaml" stacks.yaml
orch calibrate --from mine.csv --fresh --stacks stacks.yaml
exits 0 '--stacks'
has "$out" 'factors of deepspeed-2022: 3 rows of mine' '--stacks'
has "$err" 'written to stacks.yaml' '--stacks'
has "$(cat stacks.yaml)" 'origin: "fitted: 3 rows of mine"' '--stacks'
same "$(grep '#' "$ORCH_HOME/experiments/stacks.yaml")" "$(grep '#' stacks.yaml)" '--stacks keeps comments'
rm stacks.yaml

# Nothing is written on an error.
before=$(state_of .)
orch calibrate --from mine.csv --cluster dgx-a10 -o new.yaml
if [ "$code" = 0 ]; then bad 'an unknown cluster is an error' "$out"; fi
has "$err" "did you mean 'dgx-a100'?" 'an unknown cluster'
same "$before" "$(state_of .)" 'an unknown cluster: nothing is written'
fails() { # CODE WHAT PART ARGUMENTS
  orch calibrate "${@:4}"
  exits "$1" "$2"
  has "$err" "$3" "$2"
  same "$before" "$(state_of .)" "$2: nothing is written"
}
fails 1 'several clusters' 'the rows are of several clusters' -o new.yaml
fails 1 'no such rows' 'No such file' --from nowhere.csv -o new.yaml
fails 2 'a file that cannot be a name' 'is not <name>.yaml' --from mine.csv -o 'a b.yaml'
fails 2 'not a cluster file' 'is not <name>.yaml' --from mine.csv -o mine.csv
fails 2 'a device' 'is not <name>.yaml' --from mine.csv -o /dev/stdout
fails 2 'two places' 'excludes' --from mine.csv -o new.yaml --write
echo notes >notes.yaml
before=$(state_of .)
fails 2 'a file of another kind' 'is not a cluster file' --from mine.csv -o notes.yaml
fails 2 'what is learned' 'excludes' --failures --fresh
fails 2 'failures of no cluster' 'no cluster is named' --failures --from mine.csv
fails 1 'failures without jobs' 'not the header of sacct -P' --failures --from mine.csv --cluster dgx-a100 --write
fails 1 'failures of no job' 'SLURM does not answer here' --failures --cluster dgx-a100
fails 1 'no such folder' 'No such file' --from mine.csv -o nowhere/new.yaml
fails 2 'an unknown option' '--writ' --from mine.csv --writ
sed -i 's/a100-80g/a100-81g/' mine.csv
before=$(state_of .)
fails 1 'no row that can be used' 'no row gives a time or a memory' --from mine.csv -o new.yaml
printf 'id,gpu\n' >mine.csv
before=$(state_of .)
fails 1 'not the columns' "no column 'gpus'" --from mine.csv --write

same "$shipped" "$(state_of "$ORCH_HOME/experiments")" 'the shipped files are as they were'
