#!/bin/bash
# The tables of docs/accuracy.md must equal what the program prints now. If not: docs/update.
. "$(dirname -- "$0")/lib.sh"
page=$ORCH_HOME/docs/accuracy.md

part() { sed -n "/^<!-- $1 -->\$/,/^<!-- \/$1 -->\$/p" "$page" | grep '^|'; }

for way in none datasheet loto; do
  orch validate --calibrate "$way" --format md
  exits 0 "--calibrate $way"
  same "$(sed -n '/^| source/,/^$/p' <<<"$out" | grep '^|' | grep -v '^| · ')" "$(part "$way")" "the page has the table of --calibrate $way"
done

# An old table of ablations would start from other errors than these of loto.
mape() { awk -F' \\| ' -v source="| $1" '$1 == source { print $3 }' <<<"$out"; }
whole="| nothing |"
for source in bloom-prequel bench-1b3 gpt2-jz-v100 pp-perlmutter bloom7b-days; do
  whole+=" $(mape "$source") |"
done
has "$(part ablation)" "$whole" 'the ablations are of these estimates'

orch validate --calibrate loto --format svg
same "$(grep -c '<circle' <<<"$out")" "$(grep -c '<circle' "$ORCH_HOME/docs/accuracy.svg")" \
  'the plot of the page has the points of now'
