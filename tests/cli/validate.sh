#!/bin/bash
# orch validate: the shipped rows, the user's own rows, and invalid files.
. "$(dirname -- "$0")/lib.sh"

orch validate
exits 0 'the shipped rows'
has "$out" 'bloom-prequel' 'the shipped rows'
has "$out" 'gpt2-jz-v100 (unexplained)' 'rows that contradict their repeats are apart'
has "$out" 'left out: 33 suspect, 34 duplicates' 'what is left out is counted'
has "$out" $'\nSkipped\n' 'what is skipped is told'

orch validate --format svg
exits 0 'as a plot'
python3 - "$work/out" <<'PY' || bad 'the plot is sound XML'
import sys, xml.dom.minidom as dom
marks = [path for path in dom.parse(sys.argv[1]).getElementsByTagName("path")
         if path.getAttribute("class").split()[0] in ("measured", "estimated")]
assert len(marks) > 150, len(marks)
PY
for format in md csv; do
  orch validate --format "$format"
  exits 0 "as $format"
done
orch validate --rows
has "$out" 'jz-a100-0170' '--rows, skipped'
has "$out" 'jz-a100-0107' '--rows'

# Two dense models of Megatron-LM's own tests, with the allocated memory that PyTorch reports on an
# H100.
cat >"$work/golden.csv" <<'CSV'
id,table,date,site,gpu,gpus,framework,layers,hidden,heads,vocab,seq,tensor_parallel,pp,dp,context_parallel,mbs,gbs,dtype,zero_stage,sequence_parallel,flash_attention,recompute,mem_gb,mem_of,step_time_s
two,golden,2026-08,dgx-h100,h100,8,megatron-lm,12,512,8,50257,1024,2,2,1,2,4,32,bf16,0,true,true,none,0.871,allocated,0.29
one,golden,2026-08,dgx-h100,h100,8,megatron-lm,12,512,8,50257,1024,2,1,2,2,4,32,bf16,0,true,true,none,1.149,allocated,0.258
CSV
orch validate "$work/golden.csv" --calibrate none --rows --format csv
exits 0 'tensors alone'
python3 - "$work/out" <<'PY' || bad 'tensors alone are 6 % off at most'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    measured, predicted = float(row["measured_memory"]), float(row["predicted_memory"])
    assert abs(predicted / measured - 1) < 0.06, (row["id"], predicted / measured)
PY

# Only scores, of some tables, and a verdict for nightly checks.
orch validate --by source
exits 0 '--by source'
has "$out" 'recall %' '--by source shows how good the verdicts on memory are'
lacks "$out" 'nheads-12288' '--by source shows no tables'
lacks "$out" 'Furthest off' '--by source shows no rows'
orch validate --by size --table 'bloom-prequel/(topology|tile)'
exits 0 '--by size'
has "$out" 'bloom-prequel 205B' '--by size'
lacks "$out" 'perlmutter' '--table takes some'
orch validate --by source --tolerance 3
exits 7 'beyond the tolerance'
has "$err" 'the mean error is above 3 % for bloom7b-days, gpt2-jz-v100, pp-perlmutter' 'beyond the tolerance'
lacks "$err" 'unexplained' 'rows apart do not count'
orch validate --tolerance 0
exits 2 'no tolerance'

# Each table's first row calibrates the others and no longer counts.
orch validate --calibrate first --format json
python3 - "$work/out" <<'PY' || bad 'one row per table calibrates'
import json, sys
data = json.load(open(sys.argv[1]))
tables = {score["table"]: score for score in data["scores"]}
assert tables["final-12288"]["n"] == 1
assert tables["final-13824"]["n"] == 0 and tables["final-13824"]["mape"] is None
PY
orch validate --calibrate magic
exits 2 'an unknown calibration'
has "$err" "'magic' is not one of none, datasheet, first" 'an unknown calibration'

# The effect of an ingredient.
mape() { python3 -c 'import json, sys
print(next(s["mape"] for s in json.load(open(sys.argv[1]))["scores"] if s["source"] == "bloom-prequel"))' "$work/out"; }
orch validate --calibrate datasheet --format json
with=$(mape)
orch validate --calibrate datasheet --without ALIGNMENT --without 'lm head' --format json
exits 0 'without two ingredients'
python3 -c 'import sys; sys.exit(not float(sys.argv[1]) > float(sys.argv[2]))' "$(mape)" "$with" ||
  bad 'estimates are worse without alignment and head' "with: $with, without: $(mape)"
orch validate --without eras --without 'optimizer states'
has "$out" 'calibrated: none, without eras, optimizer states.' 'the headline tells what is left out'
orch validate --calibrate loto --without layer --without embedding --without 'lm head' \
  --without 'embedding and lm head' --without communication --without pipeline
exits 0 'with hardly anything left'
orch validate --help
has "$out" '--without' 'the help tells of ingredients'

# The user's own rows, with the fewest possible columns.
cat >mine.csv <<'CSV'
id,gpu,gpus,framework,layers,hidden,heads,seq,mbs,step_time_s,site,zero_stage
one,a100-80g,8,deepspeed,24,2048,16,1024,4,0.5,nowhere,1
two,a100-80g,8,deepsped,24,2048,16,1024,4,0.5,nowhere,1
three,a100-81g,8,ddp,24,2048,16,1024,4,0.5,nowhere,
CSV
orch validate mine.csv
exits 1 'a site that is none of ours'
has "$out" "site: no cluster 'nowhere'; name a cluster with --cluster" 'a site that is none of ours'
orch validate mine.csv --cluster dgx-a100
exits 0 '--cluster'
has "$out" "no 'deepsped' here; did you mean 'deepspeed'?" 'a misspelt framework'
has "$out" "dgx-a100 has no 'a100-81g'; did you mean 'a100-80g'?" 'a misspelt GPU'
has "$out" '1 row judged, 2 skipped' 'rows of ones own'
orch validate mine.csv --cluster dgx-a10
exits 2 'a misspelt cluster'
has "$err" "did you mean 'dgx-a100'?" 'a misspelt cluster'
# A user's cluster beside the rows.
mkdir clusters
sed 's/^name: .*/name: nowhere/' "$ORCH_HOME/experiments/clusters/dgx-a100.yaml" >clusters/nowhere.yaml
orch validate mine.csv
exits 0 'a cluster beside the rows'
lacks "$out" "no cluster 'nowhere'" 'a cluster beside the rows'

# Invalid files.
refused() { # WHAT PART
  orch validate bad.csv
  exits 1 "$1"
  has "$err" "$2" "$1"
  same '' "$out" "$1: nothing on stdout"
}
head=id,gpu,gpus,framework,layers,hidden,step_time_s
: >bad.csv
refused 'an empty file' 'bad.csv: is empty'
printf '%s\nr1,a100-80g,"1,000",ddp,24,-1,nan\n' "$head" >bad.csv
# A row with a bad cell is skipped with the reasons; the others count.
printf 'r2,a100-80g,8,ddp,24,2048,1\n' >>bad.csv
orch validate bad.csv --cluster dgx-a100
exits 0 'bad cells'
for part in "bad.csv:2: gpus: '1,000' is not a number" "bad.csv:2: hidden: '-1' is out of range" \
  "bad.csv:2: step_time_s: 'nan' is not a number" '1 row judged, 1 skipped'; do
  has "$(tr -s ' \n' ' ' <<<"$out")" "$part" 'bad cells'
done
head -c 100000 "$orch_program" >bad.csv
refused 'a program' 'is not UTF-8 text'
seq -s , 10000 >bad.csv
refused 'ten thousand columns' '10000 columns'
orch validate nowhere.csv
exits 1 'no such file'
has "$err" 'No such file' 'no such file'
orch validate .
exits 1 'a folder'

# The rows of a large table are judged within seconds.
python3 - >large.csv <<'PY'
print("id,gpu,gpus,framework,layers,hidden,heads,seq,mbs,step_time_s,site,zero_stage")
for i in range(2000):
    print(f"r{i},a100-80g,8,deepspeed,24,2048,16,1024,{i % 8 + 1},0.5,jean-zay,1")
PY
orch validate large.csv --format json
exits 0 'a large table'
