#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/cluster.h"

namespace orch::plan {

// A job script, or a single command, that starts a training: what it asks of the cluster, and the
// program with its arguments. Launchers (srun, torchrun, deepspeed, accelerate, mpirun) are read
// for the number of processes.
struct JobScript {
  std::string program;                 // pretrain_gpt.py, without its folder
  std::vector<std::string> arguments;  // behind it
  std::vector<std::string> launcher;   // the words before it
  int line = 0;                        // of the program
  std::vector<int> other_lines;        // of further trainings in the same script
  std::int64_t gpus = 0;               // 0: unknown
  std::int64_t nodes = 0;
  std::int64_t gpus_per_node = 0;
  std::string gpu;      // as --gres names it: "a100"; empty: it does not
  SlurmSettings slurm;  // its #SBATCH lines
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;  // that it writes: a here-document
};

// `programs`: the ends of the paths of training programs, such as "pretrain_gpt.py"; `variables`:
// those that are set before. An error: none of the programs is started.
Result<JobScript> read_job_script(const std::string& name, std::string_view text,
                                  const std::vector<std::string>& programs,
                                  const std::map<std::string, std::string>& variables);

}  // namespace orch::plan
