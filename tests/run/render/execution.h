#pragma once

#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "tests/run/render/run.h"

// Rendered scripts, executed by bash. srun and scontrol are small stand-ins that start the tasks on
// this machine; SLURM's own behaviour is not tested here.
namespace orch::render {

using nlohmann::json;

inline const char* const kSrun = R"bash(#!/bin/bash
printf '%s\n' "$*" >>"$FAKE/srun.log"
ntasks=1 per_node=1
while [[ $1 == --* ]]; do
  case $1 in
    --ntasks=*) ntasks=${1#*=} ;;
    --ntasks-per-node=*) per_node=${1#*=} ;;
    --nodelist=*) SLURM_JOB_NODELIST=${1#*=} ;;
  esac
  shift
done
IFS=, read -ra nodes <<<"$SLURM_JOB_NODELIST"
pids=() signals=0 worst=0
forward() { signals=$((signals + 1)); kill -s "$1" "${pids[@]}" 2>/dev/null; }
trap 'forward USR1' USR1
trap 'forward TERM' TERM
for ((i = 0; i < ntasks; i++)); do
  SLURM_PROCID=$i SLURM_LOCALID=$((i % per_node)) SLURM_NTASKS=$ntasks \
    SLURMD_NODENAME=${nodes[i / per_node]} "$@" &
  pids+=($!)
done
for pid in "${pids[@]}"; do
  while true; do
    seen=$signals code=0
    wait "$pid" || code=$?
    [ "$seen" = "$signals" ] && break
  done
  ((code > worst)) && worst=$code
done
exit "$worst"
)bash";

inline const char* const kScontrol = R"bash(#!/bin/bash
printf '%s\n' "$*" >>"$FAKE/scontrol.log"
if [ "$1 $2" = "show hostnames" ]; then printf '%s\n' "${3//,/$'\n'}"; fi
)bash";

// The trainer: it runs the file "behaviour".
inline const char* const kTrainer = R"bash(#!/bin/bash
[ "$1" = --run ] && [ "$3" = --attempt ] && [ "$#" = 4 ] || exit 90
attempt=$4
[ "$2" = "$ORCH_RUN_FOLDER/run.json" ] && [ "$attempt" = "$ORCH_ATTEMPT_FOLDER" ] || exit 91
printf '%s\n' "$RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $MASTER_PORT" >>"$FAKE/ranks.log"
echo "rank $RANK speaks"
finish() { : >"$attempt/finished"; exit 0; }
. "$FAKE/behaviour"
)bash";

// Waits until told to stop; exits by itself after a minute so that no test hangs.
inline const char* const kPatient =
    "trap 'echo saved; exit 0' USR1\n: >\"$attempt/started.$RANK\"\n"
    "for ((n = 0; n < 1200; n++)); do sleep 0.05; done\nexit 99\n";

// A run folder with a rendered script, and an environment like that of a job with two nodes.
class ExecutedJob {
 public:
  explicit ExecutedJob(const std::string& behaviour, const std::string& name = "run",
                       plan::Run run = two_nodes())
      : folder_(name) {
    fs::create_directories(fake());
    write(fake() / "srun", kSrun, true);
    write(fake() / "scontrol", kScontrol, true);
    write(fake() / "orch-train-megatron", kTrainer, true);
    // Reports the GPUs that the test defines.
    write(fake() / "nvidia-smi",
          "#!/bin/bash\ncount=4\n[ \"$SLURMD_NODENAME\" = \"${FAKE_BAD_NODE:-}\" ] && count=3\n"
          "for ((i = 0; i < count; i++)); do echo \"GPU $i: A100\"; done\n",
          true);
    write(fake() / "behaviour", behaviour);
    write(path() / "run.json", "{\n  \"id\": \"gpt-12345678\"\n}\n");
    const auto made = scripts(run);
    write(path() / "job.sbatch", made.front().text);
  }

  const fs::path& path() const { return folder_.path(); }
  fs::path fake() const { return path().parent_path() / "fake"; }
  fs::path attempt(int number = 1) const { return path() / "attempts" / std::to_string(number); }

  // Bash code around the job; "job" starts it.
  Finished start(const std::string& around) const {
    return bash(fmt::format(
        "export FAKE={} PATH={}:$PATH SLURM_JOB_ID=123456 SLURM_NNODES=2 "
        "SLURM_JOB_NODELIST=node1,node2 SLURM_CPUS_PER_TASK=8 ORCH_POLL_SECONDS=0.1\n"
        "folder={}\n"
        "job() {{ exec bash \"$folder/job.sbatch\"; }}\n"
        "until_there() {{ for ((i = 0; i < 400; i++)); do [ -e \"$1\" ] && return; sleep 0.05; "
        "done; echo \"no $1\"; }}\n{}",
        shell_quote(fake().string()), shell_quote(fake().string()), shell_quote(path().string()),
        around));
  }
  Finished run() const { return start("job"); }

  // Starts the job, waits until every rank trains, and executes the action ($pid).
  Finished disturb(const std::string& action) const {
    return start(
        "job & pid=$!\nfor r in 0 1 2 3 4 5 6 7; do until_there "
        "\"$folder/attempts/1/started.$r\"; done\n" +
        action + "\nwait \"$pid\"");
  }

  json status(int number = 1) const { return json::parse(read(attempt(number) / "status.json")); }

 private:
  TemporaryFolder folder_;
};

}  // namespace orch::render
