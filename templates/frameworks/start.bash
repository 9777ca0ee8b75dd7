#!/bin/bash
% -- Starts a framework in the trainer's place; the language is that of templates/slurm/README.md.
# {{ run.framework }} for run {{ run.id }}, once per {{ run.launch }}; written by orch {{ orch.version }}.
# The job calls it instead of our trainer, with RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR,
# MASTER_PORT, ORCH_RUN_FOLDER and ORCH_ATTEMPT_FOLDER set. launch.json has the same for programs.
# shellcheck disable=SC2034,SC2054,SC2317,SC2016 # traps call functions; values may look like mistakes
: "${ORCH_RUN_FOLDER:?}" "${ORCH_ATTEMPT_FOLDER:?}" "${RANK:?}" "${WORLD_SIZE:?}" "${MASTER_ADDR:?}"
folder=$ORCH_RUN_FOLDER attempt=$ORCH_ATTEMPT_FOLDER
# SLURM sends a signal to all processes of a task: the program would die of one that it does not
# handle.
trap '' USR1
say() { printf 'orch: %s\n' "$*"; }

% for name, what in pairs(launch.needs) do
if [ -z "${{! name }}" ]; then
  say {{ name .. " is not set: " .. what .. "; set it in environment = { ... } of the strategy, or in setup" }}
  exit 78
fi
% end
% for name, word in pairs(launch.environment) do
export {{! name }}={{! word }}
% end
% if run.launch == "node" then
if [ -n "${SLURM_CPUS_PER_TASK:-}" ]; then
  export OMP_NUM_THREADS=$((SLURM_CPUS_PER_TASK < {{ phase.tasks_per_node }} ? 1 : SLURM_CPUS_PER_TASK / {{ phase.tasks_per_node }}))
fi
% end
set -u
cd -- "$folder" || exit 1
% if #launch.version > 0 then
# "start check" asks the program for its version and starts nothing.
if [ "${1-}" = check ]; then
  exec{{! launch.version_line }}
fi
% end

command=(
% for _, word in ipairs(launch.program) do
  {{! word }}
% end
% if run.launch == "node" then
  # Ranks are numbered by node, not by order of arrival; SLURM restarts jobs.
  -m torch.distributed.run --nproc_per_node={{ phase.tasks_per_node }} --nnodes="$WORLD_SIZE"
  --node_rank="$RANK" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT"
  --rdzv_id={{ run.id }} --max_restarts=0 --tee=3
% end
% for _, word in ipairs(launch.argv) do
  {{! word }}
% end
)

% if #launch.version > 0 then
# Asks the program for its version, during its training and not before.
ask_version() {
  local says
  says=$(timeout 60{{! launch.version_line }} 2>/dev/null | tail -n 1) || true
  says=${says//[^A-Za-z0-9._+-]/}
% if launch.tested ~= "" then
  if [ -n "$says" ] && [ "${says%%+*}" != {{ launch.tested }} ]; then
    say {{ launch.package }} "$says was not tested with this template:" {{ launch.tested }} was
  fi
% end
  printf '{\n  "version": 1,\n  "framework": "%s",\n  "says": "%s"\n}\n' {{ run.framework }} "$says" \
    >"$attempt/.framework" && mv -f -- "$attempt/.framework" "$attempt/framework.json"
}
asker=
if [ "$RANK" = 0 ]; then
  ask_version &
  asker=$!
fi

% end
# The processes that train: the program itself, or those that its launcher started.
workers() {
% if run.launch == "node" then
  cat "/proc/$child/task/$child/children" 2>/dev/null || pgrep -P "$child"
% else
  printf '%s\n' "$child"
% end
}

signals=0
on_stop() {
  signals=$((signals + 1))
% if launch.stop_file ~= "" then
  : >"$attempt/"{{ launch.stop_file }}
% elseif launch.stop_signal ~= "" then
  # shellcheck disable=SC2046 # one word each
  kill -s {{! launch.stop_signal }} $(workers) 2>/dev/null || true
% else
  say {{ run.framework .. " cannot be told to save: it goes on until the time limit" }}
% end
}
on_end() {
  signals=$((signals + 1))
  kill -s TERM "$child" 2>/dev/null || true
}

% if run.launch == "node" then
env -u RANK -u LOCAL_RANK -u WORLD_SIZE -u MASTER_ADDR -u MASTER_PORT "${command[@]}" &
% else
"${command[@]}" &
% end
child=$!
trap on_stop USR1
trap on_end TERM
# A signal ends "wait" early, after its trap: then wait again.
while true; do
  seen=$signals code=0
  wait "$child" || code=$?
  if [ "$seen" = "$signals" ]; then break; fi
done
% if #launch.version > 0 then
# When the job is over, the version query is not waited for.
if [ -n "$asker" ] && [ "$signals" = 0 ]; then wait "$asker"; fi
# A program that cannot even say its version is missing, or dies when it is imported.
if [ "$code" != 0 ] && [ "$signals" = 0 ]; then
  answer=0
  why=$(timeout 60{{! launch.version_line }} 2>&1 >/dev/null) || answer=$?
  # Not if it was ended by a signal or by the time limit.
  if [ "$answer" != 0 ] && [ "$answer" -lt 124 ] && [ "$signals" = 0 ]; then
    why=${why##*$'\n'}
    why=${why//[^A-Za-z0-9 ._+:,;()=\/\'-]/}
    why={{ run.framework .. " does not start: " }}$why
% if launch.setup ~= "" then
    why+={{ "; templates/frameworks/setup " .. launch.setup .. " installs what was tested" }}
% end
    say "$why"
    printf '{"event": "failed", "time": %(%s)T, "class": "bad_exit", "message": "%s"}\n' -1 "$why" >>"$attempt/events.jsonl"
  fi
fi
% end
exit "$code"
