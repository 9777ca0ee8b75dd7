#include "core/run/launch/slurm/serial_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/plan/slurm.h"
#include "core/run/launch/slurm/array_script.h"
#include "core/run/launch/slurm/slurm_jobs.h"
#include "core/run/launch/task_files.h"

namespace orch::launch {
namespace {

constexpr const char* kScript = R"bash()
export ORCH_MAX_RESTARTS=0 # a run that stops does not requeue the job of the others
place=${runs[0]%/*}/submissions/${ORCH_SUBMISSION:?submit this with orch}
poll=${ORCH_POLL_SECONDS:-2}
child='' watcher='' ended='' signals=0

# Called as: write_task STATE REASON EXIT_CODE START END. Written beside the file, then renamed.
write_task() {
  local tries=6
  until printf '{"version":1,"state":"%s","reason":"%s","exit_code":%d,"start":%d,"end":%d}\n' "$@" \
    >"$place/.task.$n" && mv -f -- "$place/.task.$n" "$place/task.$n.json"; do
    if ((--tries == 0)); then return 1; fi
    sleep 5
  done
}

# A step that is left would keep the GPUs from the next run.
end_steps() {
  timeout 60 squeue --steps --noheader --jobs="$SLURM_JOB_ID" --format=%i 2>/dev/null |
    grep -E '\.[0-9]+$' | xargs -r timeout 60 scancel || true
}

# Ends a run at its time limit, or when orch cancels it.
watch_run() {
  local until=$((SECONDS + limits[n])) why=TIMEOUT
  while ((SECONDS < until)) && [ ! -e "$place/cancel.$n" ]; do sleep "$poll"; done
  if [ -e "$place/cancel.$n" ]; then why=CANCELLED; fi
  printf '%s' "$why" >"$place/.why.$n"
  kill -s TERM "$1" 2>/dev/null
  sleep 60
  end_steps
  sleep 10
  kill -s KILL "$1" 2>/dev/null
}

is_unchanged() {
  local sum
  if ! grep -qsF '"script_sums"' "$place/submission.json"; then return 0; fi
  sum=$(sha256sum <"$1/job.sbatch") && grep -qF "\"${sum%% *}\"" "$place/submission.json"
}

do_run() {
  local folder=${runs[n]} start end code=0 seen why
  printf -v start '%(%s)T' -1
  if [ -e "$place/cancel.$n" ]; then write_task CANCELLED 'cancelled before it began' 143 "$start" "$start"; return; fi
  if ! is_unchanged "$folder"; then
    write_task FAILED 'job.sbatch changed since it was submitted' 1 "$start" "$start"
    return
  fi
  rm -f -- "$place/.why.$n"
  if [ -n "$ended" ]; then exit 143; fi
  write_task RUNNING '' 0 "$start" 0
  printf 'orch: %s\n' "${folder##*/}"
  bash -- "$folder/job.sbatch" &
  child=$!
  if [ -n "$ended" ]; then kill -s TERM "$child" 2>/dev/null; fi # it came before the trap knew the child
  watch_run "$child" >/dev/null 2>&1 &
  watcher=$!
  while true; do # a signal ends "wait" early, after its trap
    seen=$signals
    code=0
    wait "$child" || code=$?
    if [ "$seen" = "$signals" ]; then break; fi
  done
  child=
  kill "$watcher" 2>/dev/null
  wait "$watcher" 2>/dev/null
  if [ -n "$ended" ]; then exit 143; fi # SLURM ends the job, and knows why
  printf -v end '%(%s)T' -1
  why=$(cat -- "$place/.why.$n" 2>/dev/null) || true
  if [ "$code" -ne 0 ]; then end_steps; fi
  case $why in
    TIMEOUT) write_task "$why" "its limit of ${limits[n]} s" "$code" "$start" "$end" ;;
    CANCELLED) write_task "$why" '' "$code" "$start" "$end" ;;
    *) write_task "$([ "$code" -eq 0 ] && echo COMPLETED || echo FAILED)" '' "$code" "$start" "$end" ;;
  esac
}

# The warning that the job's own limit is near would end a run that has a limit of its own.
trap 'signals=$((signals + 1))' USR1
trap 'signals=$((signals + 1)) ended=yes; if [ -n "$child" ]; then kill -s TERM "$child" 2>/dev/null; fi' TERM
for ((n = 0; n < ${#runs[@]}; n++)); do
  if [ -n "$ended" ]; then exit 143; fi
  if [ ! -d "$place" ]; then exit 0; fi # the submission was taken back
  if grep -qsE '"end":[1-9]' "$place/task.$n.json"; then continue; fi # before a requeue
  do_run
done
)bash";

bool runs_now(const record::JobFact& job) {
  return job.state == "RUNNING" || job.state == "COMPLETING" || job.state == "SUSPENDED";
}

}  // namespace

std::string serial_script(std::string_view header, const std::vector<SerialRun>& runs) {
  std::string script = "#!/bin/bash\n", limits;
  script += header;
  script +=
      "#\n# Runs with the same header, one after another in one job; written by orch.\nruns=(\n";
  for (const auto& run : runs) {
    script += "  " + quote_line(run.folder.string()) + "\n";
    limits += fmt::format(" {}", run.seconds);
  }
  return script + ")\nlimits=(" + limits.substr(1) + kScript;
}

std::optional<double> time_limit(std::string_view header) {
  constexpr std::string_view kOption = "#SBATCH --time=";
  for (const auto& line : split(header, '\n'))
    if (line.starts_with(kOption)) return plan::parse_slurm_time(line.substr(kOption.size()));
  return std::nullopt;
}

Status cancel_serial_run(const fs::path& folder, std::size_t index) {
  return mark(cancel_mark(folder, index));
}

bool is_all_cancelled(const record::Submission& submission, const fs::path& folder) {
  for (std::size_t index = 0; index < submission.runs.size(); ++index) {
    const auto task = read_task(folder, index);
    const bool ended = task && *task && (*task)->end > 0;
    if (!ended && !is_there(cancel_mark(folder, index))) return false;
  }
  return true;
}

void split_serial_job(const record::Submission& submission, const fs::path& folder, double now,
                      record::JobFacts& facts) {
  std::optional<record::JobFact> job;
  if (const auto node = facts.extract({submission.id, 0})) job = node.mapped();
  if (job) job->gpu_hours = 0;  // of all runs together: attempts know their own
  for (std::size_t index = 0; index < submission.runs.size(); ++index) {
    const auto read = read_task(folder, index);
    const auto task = read ? *read : std::nullopt;
    record::JobFact fact = job.value_or(record::JobFact());
    if (task && task->end > 0) {
      fact = *task;
      fact.job = submission.job;
      fact.nodes = job ? job->nodes : "";
    } else if (!task && is_there(cancel_mark(folder, index))) {
      fact = {};
      fact.state = "CANCELLED";
      fact.job = submission.job;
    } else if (!job || (has_ended(job->state) && !task && job->state != "CANCELLED")) {
      continue;
    } else if (task) {
      fact.start = task->start;
      fact.elapsed_seconds = std::max(0.0, (job->end > 0 ? job->end : now) - task->start);
    } else if (runs_now(*job)) {
      fact = {};
      fact.state = "PENDING";
      fact.reason = "InTurn";
      fact.job = job->job;
    }
    facts[{submission.id, index}] = std::move(fact);
  }
}

}  // namespace orch::launch
