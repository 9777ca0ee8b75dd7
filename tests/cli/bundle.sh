#!/bin/bash
# The tarball of cmake/bundle runs in a root that contains only busybox, prints the same as the
# program it was made from, and programs that it starts do not see its libraries.
. "$(dirname -- "$0")/lib.sh"
. "$here/runs.sh"
. "$here/fake_slurm.sh"
built=$orch_program
preload=$3
# Not through a pipe: grep -q exits early, and ldd would be killed and count as failed.
if grep -q 'lib[a-z]*san\.so' <<<"$(ldd "$built")"; then
  echo 'skipped: sanitizers are not for a bundle'
  exit 77
fi

# --- the file --------------------------------------------------------------------------------------

bundle() { "$ORCH_HOME/cmake/bundle" "$(dirname -- "$(dirname -- "$built")")" "$1" >"$work/log" 2>&1; }
bundle "$work/first" || bad 'cmake/bundle' "$(cat "$work/log")"
tarball=$(echo "$work"/first/*)
name=$(basename -- "$tarball" .tar.gz)
same "orch-$("$built" --version | sed 's/orch //')-$(uname -m).tar.gz" "${tarball##*/}" 'its name'
size=$(stat -c %s -- "$tarball")
if [ "$size" -ge 40000000 ]; then bad 'it has less than 40 MB' "$size"; fi
(umask 077 && TZ=Asia/Tokyo bundle "$work/second") || bad 'cmake/bundle again' "$(cat "$work/log")"
cmp -- "$tarball" "$work/second/$name.tar.gz" || bad 'again the same bytes'
same '0/0' "$(tar -tvzf "$tarball" | awk '{print $2}' | sort -u)" 'whose the files are'

# The files listed in README are included, and the manual page is the program's.
list=$(tar -tzf "$tarball")
pages=$(cd "$ORCH_HOME" && echo docs/*.md docs/*/README.md docs/*.svg docs/*.png)
for file in README.md CHANGELOG.md LICENSE $pages experiments/logs/ddp.out share/man/man1/orch.1; do
  has "$list" "$name/$file" 'its documents'
done
lacks "$list" "$name/docs/update" 'its documents: no tools of ours'
same "$("$built" help --man)" "$(tar -xzOf "$tarball" "$name/share/man/man1/orch.1")" 'its manual page'

# --- without anything else ------------------------------------------------------------------------

# in_root COMMAND: runs orch in a root with busybox. /proc and /dev/null are the kernel's; there are
# no users, locales, libraries, and no loader.
root=$work/root
in_root() {
  code=0
  # shellcheck disable=SC2016 # the inner shell's
  env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin unshare --map-root-user --mount sh -c '
    mount --rbind /proc "$1/proc" && mount --bind /dev/null "$1/dev/null" &&
      exec chroot "$1" /bin/busybox env -i PATH=/bin HOME=/ sh -c "$2"' sh "$root" "$1" \
    >"$work/out" 2>"$work/err" </dev/null || code=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}
alike() { # ARGUMENTS: there and here, the same
  in_root "cd $name && bin/orch $*"
  exits 0 "$* in a bare root"
  local there=$out
  orch "$@"
  same "$out" "$there" "$*: as outside"
}

skipped=
busybox=$(command -v busybox) || busybox=
if [ -z "$busybox" ] || ldd "$busybox" >/dev/null 2>&1; then
  skipped='there is no static busybox (busybox-static)'
else
  mkdir -p "$root"/{bin,proc,dev}
  : >"$root/dev/null"
  cp -- "$busybox" "$root/bin/busybox"
  for tool in sh tar gzip readlink; do ln -s busybox "$root/bin/$tool"; done
  in_root 'exit 7'
  if [ "$code" != 7 ]; then skipped="this machine lets nobody have a root of his own: $err"; fi
fi

if [ -z "$skipped" ]; then
  cp -- "$tarball" "$root/"
  in_root "tar -xzf $name.tar.gz"
  exits 0 'unpacked by busybox'
  cp -- "$here/../record/ingest/cases/bigscience_ramp/log.txt" "$root/$name/"
  cp -- "$here/../record/ingest/cases/bigscience_ramp/log.txt" .
  touch -d 2026-01-01 log.txt "$root/$name/log.txt" # nobody writes to it any more
  ln -s "$ORCH_HOME/experiments" experiments
  in_root "cd $name && libexec/orch version"
  exits 127 'without its loader it cannot start there'
  alike run experiments/200b.lua
  has "$out" '1=  megatron recompute=selective   4  12   8      1    192  tight ' 'the first table'
  has "$out" 'stopped after rendering: SLURM not found' 'no SLURM'
  same "$(cd runs && find . -name job.sbatch | sort)" \
    "$(cd "$root/$name/runs" && find . -name job.sbatch | sort)" 'the same folders'
  alike search experiments/200b.lua --format csv
  alike ingest log.txt
  alike report experiments/200b.lua --format csv
  in_root "cd $name && bin/orch report experiments/200b.lua -o page.html"
  exits 0 'a page'
  has "$(tail -c 100 "$root/$name/page.html")" '</html>' 'a whole page'
  in_root "cd $name && bin/orch doctor"
  has "$out" "plug-ins in /$name/lib" 'doctor finds its plug-ins'
fi

# --- what it starts --------------------------------------------------------------------------------

# Unpacked, moved and called through a link: no file contains its old place.
mkdir "$work/moved to" "$work/links"
tar -xzf "$tarball" -C "$work"
mv -- "$work/$name" "$work/moved to/it's here"
home="$work/moved to/it's here"
ln -s "$home/bin/orch" "$work/links/orch"
orch_program=$work/links/orch
unset ORCH_HOME ORCH_PLUGINS
for tool in readlink cat env ls; do ln -s "$(command -v "$tool")" "$fake/$tool"; done

# look NAME: a bash that records properties of a process and of its parent, then continues.
look() {
  # shellcheck disable=SC2016 # the process's own
  printf 'env >%q; cat /proc/self/maps >%q; ls -l /proc/self/fd >%q; cat /proc/$PPID/maps >%q\n' \
    "$work/$1.env" "$work/$1.maps" "$work/$1.files" "$work/$1.parent"
}
clean() { # NAME
  local part
  for part in env maps files; do
    lacks "$(grep -v '^_=' "$work/$1.$part")" "$home" "$1: nothing of the bundle in its $part"
  done
  lacks "$(cat "$work/$1.env")" 'ORCH_LD_PRELOAD' "$1: its environment"
  has "$(cat "$work/$1.env")" "LD_PRELOAD=$preload" "$1: what the site preloads"
  has "$(cat "$work/$1.env")" 'LD_LIBRARY_PATH=/of/the/site' "$1: where the site has libraries"
  has "$(cat "$work/$1.parent")" "$home/lib/libc.so.6" "$1: who started it has the bundle's libraries"
  lacks "$(cat "$work/$1.parent")" "$preload" "$1: who started it has none that the site preloads"
}
export LD_PRELOAD=$preload LD_LIBRARY_PATH=/of/the/site

sed -i "2i $(look sbatch | sed 's/[\\&]/\\&/g')" "$fake/sbatch"
experiment sent 2 >sent.lua
ORCH_TRAINER=/bin/true with_slurm run sent.lua --detach -y
exits 0 'submitted'
same 1 "$(submitted | wc -l)" 'one array was submitted'
clean sbatch

# A run on this machine: orch starts itself as its supervisor, which starts the trainer.
{ echo '#!/bin/bash' && look trainer && echo "exec \"$here/../slurm/stand_in\" \"\$@\""; } >"$work/trainer"
chmod +x "$work/trainer"
cat >here.lua <<LUA
return experiment {
  name = "here", model = "gpt-tiny", batch = { global_batch = 8 }, tokens = 1e6,
  trainer = "$work/trainer", hardware = { cluster = "local", gpus = 1 },
  strategies = { ddp { dtype = "fp32" } },
}
LUA
code=0
"$orch_program" run here.lua -y >"$work/out" 2>"$work/err" </dev/null || code=$?
out=$(cat "$work/out") err=$(cat "$work/err")
exits 0 'a run on this machine'
has "$out" '1 finished' 'a run on this machine'
clean trainer
unset LD_PRELOAD LD_LIBRARY_PATH

# --- errors ---------------------------------------------------------------------------------------

cp -- "$home/bin/orch" "$work/links/alone"
orch_program=$work/links/alone
with_slurm version
exits 127 'the launcher alone'
has "$err" 'leave bin/orch in its folder' 'the launcher alone'
mv -- "$home" "$work/a:b"
orch_program=$work/a:b/bin/orch
with_slurm version
exits 127 'a folder that no loader can search'
has "$err" 'unpack it elsewhere' 'a folder that no loader can search'

if [ "$failures" = 0 ] && [ -n "$skipped" ]; then
  echo "skipped where there is nothing else: $skipped"
  exit 77
fi
