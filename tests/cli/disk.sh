#!/bin/bash
# A disk that refuses writes. Needs to mount; skipped (77) if that is not allowed.
. "$(dirname -- "$0")/lib.sh"

experiment small 40 >small.lua

# A file in place of a folder.
touch file
orch run small.lua --runs file
exits 1 'runs is a file'
has "$err" 'a file is in the way' 'runs is a file'
mkdir runs
touch runs/small
orch run small.lua
exits 1 'runs/small is a file'
has "$err" 'runs/small' 'runs/small is a file'
rm -r runs

# A limit on the size of files (SIGXFSZ must not kill orch).
code=0
(ulimit -f 1 && exec "$orch_program" run small.lua --runs limited) >/dev/null 2>"$work/err" || code=$?
err=$(cat "$work/err")
exits 1 'ulimit -f'
has "$err" 'File too large' 'ulimit -f'
has "$err" 'ulimit -f' 'the next step of ulimit -f'
if [ -e limited ]; then bad 'ulimit -f: nothing is left behind' "$(find limited)"; fi

mkdir disk
mounted() {
  mount -t tmpfs -o "$1" orch-test disk 2>/dev/null
}
unmount() { umount disk; }
if ! mounted size=400k; then
  echo 'SKIPPED: a full and a read-only disk: this user may not mount'
  if [ "$failures" = 0 ]; then exit 77; fi
  exit 1
fi
orch run small.lua --runs disk/runs
exits 1 'a full disk'
has "$err" 'No space left' 'a full disk'
has "$err" 'free some space' 'a full disk'
if [ -n "$(find disk -name '.tmp*')" ]; then bad 'a full disk: no drafts are left' "$(find disk)"; fi
mount -o remount,size=10m disk
orch run small.lua --runs disk/runs
exits 0 'once there is space'
same 40 "$(find disk/runs/small -mindepth 1 -maxdepth 1 | wc -l)" 'once there is space'
mount -o remount,ro disk
orch run small.lua --runs disk/runs
exits 0 'nothing to write on a read-only disk'
experiment small 50 >more.lua
for folder in disk/runs disk/elsewhere; do
  orch run more.lua --runs "$folder"
  exits 1 "a read-only disk, $folder"
  has "$err" 'Read-only file system' "a read-only disk, $folder"
  has "$err" 'name another place' "a read-only disk, $folder"
done
orch run more.lua --runs disk/runs --dry-run
exits 0 '--dry-run on a read-only disk'
orch explain "$(find disk/runs/small -mindepth 1 -maxdepth 1 | head -n 1)"
exits 0 'explain on a read-only disk'
unmount
