#!/bin/bash
# Weights from Hugging Face and back, compared with our own reader and writer in Python.
. "$(dirname -- "$0")/lib.sh"

python() { python3 "$here/huggingface.py" "$@"; }

# Every element is in its place, in all formats of such folders; the way back is bitwise equal.
for kind in gpt2 bloom; do
  for form in nested flat split; do
    for dtype in F32 BF16; do
      what="$kind $form $dtype"
      rm -rf theirs ours back
      python make theirs "$kind" "$dtype" "$form"
      orch import theirs -o ours
      exits 0 "import $what"
      has "$out" '2 layers x 8 hidden, 2 heads, vocabulary 11, 5 tokens' "import $what"
      python checkpoint ours "$kind" || bad "$what: every element is where it belongs"
      orch export ours -o back --dtype "$(tr '[:upper:]' '[:lower:]' <<<"$dtype")"
      exits 0 "export $what"
      python same theirs back || bad "$what: it comes back equal to the bit"
    done
  done
done

# The fields of config.json that transformers needs.
python3 - back/config.json <<'PY' || bad 'config.json of bloom'
import json, sys
config = json.load(open(sys.argv[1]))
assert config["architectures"] == ["BloomForCausalLM"] and config["model_type"] == "bloom"
assert config["hidden_size"] == 8 and config["n_layer"] == 2 and config["n_head"] == 2
assert config["tie_word_embeddings"] is True and config["layer_norm_epsilon"] == 1e-5
assert config["torch_dtype"] == "bfloat16", config
PY

# A run folder, its newest valid checkpoint, and a step by its number.
mkdir -p run/checkpoints
cp -r ours/step-00000000 run/checkpoints
cp -r ours/step-00000000 run/checkpoints/step-00000009
truncate -s -1 run/checkpoints/step-00000009/rank-0.safetensors
orch export run -o newest
exits 0 'a torn one is passed over'
has "$err" 'step-00000009/rank-0.safetensors: is shorter' 'a torn one is named'
has "$out" 'step 0' 'the one before it'
orch export run/checkpoints/step-00000009 -o torn
exits 1 'a torn one by its name'
has "$err" 'is shorter than it was written' 'a torn one by its name'
orch export run --step 5 -o missing
exits 1 'a step that is not there'
has "$err" 'no complete checkpoint of step 5' 'a step that is not there'
orch export run --step 0 -o newest
exits 1 'a folder that is there'
has "$err" 'exists and is not empty' 'a folder that is there'
orch export nowhere -o nothing
exits 1 'no such run'
. "$here/runs.sh"
planned named 1
cp -r run/checkpoints "runs/named/${ids[0]}/"
orch export "${ids[0]##*-}" -o by_hash
exits 0 'a run by its hash'
python same newest by_hash || bad 'a run by its hash is that run'
orch import nowhere -o nothing
exits 1 'no such folder'
has "$err" 'nowhere/config.json' 'no such folder'
orch import theirs -o ours
exits 1 'imported twice'
if [ -e torn ] || [ -e missing ] || [ -e nothing ]; then bad 'failures leave nothing behind' "$(ls)"; fi

# Names that are hostile to a terminal.
orch export $'no\e[2Jwhere' -o x
lacks "$err" $'\e' 'a hostile name'

# A full disk.
code=0
(ulimit -f 1 && exec "$orch_program" export ours -o limited) >/dev/null 2>"$work/err" || code=$?
err=$(cat "$work/err")
exits 1 'ulimit -f'
has "$err" 'File too large' 'ulimit -f'
if compgen -G 'limited*' >/dev/null; then bad 'ulimit -f: nothing is left behind' "$(ls)"; fi
