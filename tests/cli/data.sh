#!/bin/bash
# orch data: datasets built from text, refused input, and the files left by Ctrl-C and kill.
. "$(dirname -- "$0")/lib.sh"

# The tokens of a dataset, read by another program.
tokens() { # PREFIX
  python3 - "$1" <<'PY'
import struct, sys
index = open(sys.argv[1] + ".idx", "rb").read()
tokens = open(sys.argv[1] + ".bin", "rb").read()
assert index[:9] == b"MMIDIDX\0\0"
version, kind, count, entries = struct.unpack("<QBQQ", index[9:34])
assert version == 1 and entries == count + 1
width, letter = {8: (2, "H"), 4: (4, "i")}[kind]
sizes = struct.unpack("<%di" % count, index[34:34 + 4 * count])
places = struct.unpack("<%dq" % count, index[34 + 4 * count:34 + 12 * count])
assert struct.unpack("<%dq" % entries, index[34 + 12 * count:]) == tuple(range(entries))
print("|".join(" ".join(map(str, struct.unpack_from("<%d%s" % (size, letter), tokens, at)))
               for size, at in zip(sizes, places)))
PY
}
left() { find . -name '*.tmp' -o -name 'never.*' -o -name 'stopped.*'; }

printf 'hi\nyou\n' >a.txt
printf 'é' >b.txt
orch data build a.txt b.txt -o two
exits 0 'two files'
has "$out" '2 documents, 11 tokens' 'two files'
same '104 105 10 121 111 117 10 256|195 169 256' "$(tokens two)" 'two files'
orch data show two
exits 0 show
has "$out" 'two: 2 documents, 11 tokens (22 B of uint16)' show
has "$out" 'for a vocabulary of 257 or more' show
has "$out" 'first: 104 105 10 121' show
orch data show two.idx --tokenizer byte
has "$out" 'as text: hi\x0ayou\x0a<|endoftext|>' 'show by the name of a file'
orch data show two --format json
python3 - "$work/out" <<'PY' || bad 'show as JSON'
import json, sys
data = json.load(open(sys.argv[1]))["data"]
assert (data["documents"], data["tokens"], data["highest_token"], data["dtype"]) == (2, 11, 256, "uint16")
PY

orch data build a.txt -o lines --split-lines --no-eod
same '104 105|121 111 117' "$(tokens lines)" '--split-lines --no-eod'

# JSON lines, from a file and from stdin.
printf '{"text": "a\\u00e9", "body": "x"}\n\n{"text": "", "body": "y"}\r\n{"body": "z", "text": "b"}' >c.jsonl
orch data build c.jsonl -o json
exits 0 jsonl
has "$out" '(1 empty left out)' jsonl
same '97 195 169 256|98 256' "$(tokens json)" jsonl
orch data build c.jsonl -o body --json-key body
same '120 256|121 256|122 256' "$(tokens body)" --json-key
code=0
"$orch_program" data build - --type jsonl -o piped <c.jsonl >"$work/out" 2>"$work/err" || code=$?
exits 0 stdin
same "$(tokens json)" "$(tokens piped)" stdin
code=0
"$orch_program" data build - <a.txt -o piped_text >/dev/null 2>"$work/err" || code=$?
same '104 105 10 121 111 117 10 256' "$(tokens piped_text)" 'text from stdin'

# A tokenizer.json: bytes, and two merges.
python3 - <<'PY'
import json
def seen(b): return 33 <= b <= 126 or 161 <= b <= 172 or b >= 174
letters, extra = {}, 256
for b in range(256):
    letters[b] = chr(b) if seen(b) else chr(extra)
    extra += not seen(b)
vocab = {letters[b]: b for b in range(256)}
vocab.update({"hi": 300, "Ġhi": 70000})
json.dump({"added_tokens": [{"id": 400, "content": "<end>"}],
           "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
           "model": {"type": "BPE", "vocab": vocab, "merges": ["h i", "Ġ hi"]}},
          open("tokenizer.json", "w"))
PY
printf 'hi hi' >hi.txt
orch data build hi.txt -o bpe --tokenizer tokenizer.json
exits 2 'no end-of-text token'
has "$err" '--eod TOKEN' 'no end-of-text token'
orch data build hi.txt -o bpe --tokenizer tokenizer.json --eod '<end>'
exits 0 'tokenizer.json'
same '300 70000 400' "$(tokens bpe)" 'tokenizer.json, int32'
orch data show bpe --tokenizer tokenizer.json
has "$out" 'as text: hi hi<end>' 'tokenizer.json'

# Errors are reported, and nothing is written.
refused() { # EXIT WORDS WHAT ARGUMENTS...
  local expected=$1 words=$2 what=$3
  shift 3
  orch data build -o never "$@"
  exits "$expected" "$what"
  has "$err" "$words" "$what"
  same '' "$(left)" "$what leaves nothing"
}
printf '{"text": 3}\n' >number.jsonl
printf '{"text": "a"}\n{"text": \n' >torn.jsonl
printf '{"body": "a"}\n' >other.jsonl
printf 'x' | gzip >z.gz
: >empty.txt
refused 1 'number.jsonl:1' 'a number for a string' number.jsonl
refused 1 'torn.jsonl:2: is not JSON' 'a torn line' c.jsonl torn.jsonl
refused 1 "has no 'text'" 'another key' other.jsonl
refused 1 'is compressed' 'a compressed file' z.gz
refused 1 'the inputs have no text' 'an empty file' empty.txt
refused 1 'missing.txt: cannot open' 'a missing file' a.txt missing.txt
refused 1 'is not a file' 'a folder' .
refused 1 'give byte, or the path' 'a missing tokenizer' a.txt --tokenizer nowhere.json
refused 2 "no option '--split-line'" 'a typo' a.txt --split-line
refused 2 'is not a token' 'an unknown token' a.txt --eod nothing
orch data build a.txt
exits 2 'no output'
orch data
exits 2 'no verb'
has "$err" 'one of: build, show' 'no verb'
orch data bild
has "$err" "did you mean 'build'?" 'a misspelt verb'
before=$(state_of .)
orch data build b.txt -o two
exits 1 'what is there'
has "$err" '--force' 'what is there'
same "$before" "$(state_of .)" 'what is there stays'
orch data build b.txt -o two --force
exits 0 --force
same '195 169 256' "$(tokens two)" --force
head -c 40 two.idx >cut.idx
cp two.bin cut.bin
orch data show cut
exits 1 'a truncated index'
has "$err" 'is truncated' 'a truncated index'
code=0
(ulimit -f 1 && head -c 100000 /dev/zero | "$orch_program" data build - -o never) >/dev/null 2>"$work/err" || code=$?
err=$(cat "$work/err")
exits 1 'ulimit -f'
has "$err" 'File too large' 'ulimit -f'
same '' "$(left)" 'ulimit -f leaves nothing'

# Ctrl-C leaves nothing; after a kill the next build overwrites what was left.
mkfifo pipe
started() { # SIGNAL
  "$orch_program" data build pipe --split-lines -o stopped >/dev/null 2>"$work/err" &
  local pid=$! i
  exec 3>pipe
  echo some >&3
  for ((i = 0; i < 4000; i++)); do
    [ -e stopped.idx.tmp ] && break
    sleep 0.05
  done
  sleep 0.2
  kill "-$1" "$pid"
  exec 3>&-
  code=0
  wait "$pid" 2>/dev/null || code=$?
  err=$(cat "$work/err")
}
started TERM
exits 130 'a signal'
has "$err" 'interrupted: nothing was written' 'a signal'
same '' "$(left)" 'a signal leaves nothing'
started KILL
if [ -e stopped.idx ] || [ -e stopped.bin ]; then bad 'a kill leaves no dataset' "$(ls)"; fi
orch data build b.txt -o stopped
exits 0 'after a kill'
same '195 169 256' "$(tokens stopped)" 'after a kill'
same '' "$(find . -name '*.tmp')" 'after a kill'
