#!/bin/bash
# Shell completion: verbs, options and values that the parser knows, and names on this machine.
. "$(dirname -- "$0")/lib.sh"

# Completion scripts are valid programs of their shell.
for shell in bash zsh fish; do
  orch completion "$shell"
  exits 0 "completion $shell"
  has "$out" _offer "completion $shell"
  cp "$work/out" "$work/orch.$shell"
  if ! command -v "$shell" >/dev/null; then
    echo "SKIPPED: no $shell to check its completion with"
  elif ! "$shell" -n "$work/orch.$shell"; then
    bad "completion $shell is valid"
  fi
done

experiment first 3 >long.lua
mkdir lone && touch lone.csv
orch run long.lua
orch run long.lua --runs elsewhere --where 'accumulate == 1'
ids=(runs/first/*-*/)
id=${ids[0]#runs/first/} id=${id%/}
own=$XDG_DATA_HOME/orch/machines/$(uname -n)
mkdir -p "$own"
# shellcheck disable=SC2016 # nobody may expand it
strange='$(touch pwned) `touch pwned`'
touch "$own/$strange.yaml" "$strange.lua"
mkdir -p "runs/$strange/$strange-12345678"
touch "runs/$strange/$strange-12345678/run.json"

# offers WORDS...: bash's completions for the last word.
offers() {
  # shellcheck disable=SC2016
  bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _orch; echo "${COMPREPLY[*]}"' \
    - "$work/orch.bash" "$orch_program" "$@"
}
offers_are() { # WORDS... EXPECTED
  same "${*: -1}" "$(offers "${@:1:$#-1}")" "completion of ${*:1:$#-1}"
}
offers_are expl 'explain'
offers_are _ ''
offers_are run --for '--format'
offers_are -- ''
offers_are run --format '' 'table md csv json'
offers_are run --format = j 'json'
offers_are plan long.lua --format = 'table md csv json'
offers_are report x --format h 'html'
offers_are completion '' 'bash zsh fish'
offers_are data '' 'build show'
offers_are data build --type '' 'auto text jsonl'
offers_are data show --for '--format'
offers_are help expl 'explain'
offers_are doctor --f '--format'
offers_are run --top '' ''
for words in 'plan lone long.lua' 'validate lone lone.csv' 'ingest lone lone.csv long.lua'; do
  same "${words#* }" "$(offers "${words%% *}" lo | tr ' ' '\n' | sort | paste -sd' ')" "files of ${words%% *}"
done
offers_are backends dee 'deepspeed'
offers_are backends tr 'training'
offers_are backends st 'stacks'
offers_are clusters dgx-a 'dgx-a100'
offers_are validate --cluster jean 'jean-zay'
offers_are status firs 'first'
offers_are plan '$' "$strange.lua"
offers_are logs "$id" "$id"
offers_are logs firs ''
same 3 "$(offers logs gpt | wc -w)" 'runs'
same 1 "$(offers logs --runs elsewhere gpt | wc -w)" 'runs of another folder'
offers_are explain "${id:0:8}" "$(offers logs gpt)"
orch models --format json
same "$(python3 -c 'import json, sys
print(*(m["name"] for m in json.load(sys.stdin)["models"] if m["name"].startswith("gpt-1")))' <<<"$out")" \
  "$(offers models gpt-1)" 'presets'
for verb in clusters status plan; do offers "$verb" '' >/dev/null; done
same '' "$(find "$work" -name pwned)" 'a name is never a command'

# The same in an interactive bash.
if python3 "$here/terminal.py" 80 24 -- true >/dev/null 2>&1; then
  ln -s "$orch_program" "$work/orch"
  prompt='bash-[0-9.]+[$#] '
  typed=$(PATH=$work:$PATH python3 "$here/terminal.py" 120 24 "$prompt" "source $work/orch.bash\n" "$prompt" \
    'orch clusters jea\t --format js\t | head -c 200; exit\n' -- bash --norc --noprofile -i || true)
  has "$typed" 'orch clusters jean-zay  --format json' 'the key in a real bash'
  has "$typed" '"partitions"' 'what it completed is understood'
else
  echo 'SKIPPED: no terminal can be made here'
fi
if command -v zsh >/dev/null; then
  mkdir "$work/zsh" && cp "$work/orch.zsh" "$work/zsh/_orch"
  # shellcheck disable=SC2016 # zsh expands it
  echo 'fpath=($ZDOTDIR $fpath); autoload -Uz compinit; compinit -u -D; PS1="ready> "' >"$work/zsh/.zshrc"
  typed=$(PATH=$work:$PATH ZDOTDIR=$work/zsh python3 "$here/terminal.py" 120 24 \
    'ready> ' 'orch clusters jea\t' 'jean-zay' '--format=js\t' 'json' '\x15exit\n' -- zsh -i || true)
  has "$typed" 'json' 'the key in a real zsh'
fi
if command -v fish >/dev/null; then
  fish_offers() { PATH=$(dirname "$orch_program"):$PATH fish -c "source $work/orch.fish; complete -C '$1'" | cut -f 1 | paste -sd' '; }
  same 'csv json md table' "$(fish_offers 'orch run --format ')" 'fish: formats'
  has "$(fish_offers 'orch clusters jean')" 'jean-zay' 'fish: clusters'
  has "$(fish_offers 'orch plan lo')" 'long.lua' 'fish: experiments'
  same 'explain' "$(fish_offers 'orch expl')" 'fish: verbs'
fi
