#!/bin/bash
# The manual page has every verb and option of --help, and man reports no errors.
. "$(dirname -- "$0")/lib.sh"

orch help --man
exits 0 'the manual page'
cp "$work/out" "$work/orch.1"
if command -v groff >/dev/null; then
  same '' "$(groff -man -Tutf8 -ww -z "$work/orch.1" 2>&1)" 'groff takes the page'
else
  echo 'SKIPPED: no groff to read the page with'
fi
if command -v mandoc >/dev/null; then
  same '' "$(mandoc -T lint -W error "$work/orch.1" 2>&1)" 'mandoc takes the page'
fi
page=$(sed 's/\\-/-/g; s/\\f[BIR]//g' "$work/orch.1")
orch --help
verbs=$(sed -n '/^Runs:/,/^Exit codes:/s/^  \([a-z]*\)  .*/\1/p' <<<"$out")
if [ "$(wc -w <<<"$verbs")" -lt 20 ]; then bad 'the verbs of --help' "$out"; fi
section() { # VERB
  sed -n "/^\.SS orch $1\$/,/^\.S[SH]/p" <<<"$page" | sed '$d'
}
for verb in $verbs 'data build' 'data show'; do
  # shellcheck disable=SC2086 # two words
  orch $verb --help
  text=$(section "$verb")
  has "$text" "${out%%$'\n'*}" "the page on $verb"
  while read -r option; do
    has "$text" "$option" "the page on $verb"
  done < <(grep -oE '^  (-[a-zA-Z],)?--[a-z0-9-]+' <<<"$out" | tr -d ' ')
done
lacks "$page" '_local' 'the manual page'
