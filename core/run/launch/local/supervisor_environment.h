#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/run/launch/local/local_run.h"
#include "core/run/launch/local/supervisor_attempt.h"
#include "core/run/launch/local/supervisor_ranks.h"

namespace orch::launch {

// Our own environment without variables of a SLURM job, with a rank's share of the cores as the
// number of its threads.
std::map<std::string, std::string> machine_environment(std::int64_t ranks);

// Sets the address at which the ranks meet: a free port of the loopback interface.
void meet_here(std::int64_t ranks, std::map<std::string, std::string>& environment);

// The command as ranks 0, 1, ... Our cores are divided among them if there are enough.
std::vector<RankCommand> spread(const RankCommand& command, std::int64_t ranks);

// The environment that all ranks of a run share: our own without variables of a SLURM job, the
// job's, and those of the interface between script and trainer (templates/slurm/README.md).
std::map<std::string, std::string> rank_environment(const LocalRun& local,
                                                    const LocalAttempt& attempt,
                                                    const std::string& submission);

// The processes of a run. Our cores are divided among the ranks if there are enough; each sees all
// GPUs and uses that of its LOCAL_RANK. A framework that starts its own ranks is one process.
std::vector<RankCommand> rank_commands(const LocalRun& local, const LocalAttempt& attempt,
                                       const std::string& submission,
                                       const std::vector<std::string>& trainer);

// The command line of a rank: the trainer, or a shell with the framework's `start`.
std::vector<std::string> trainer_words(const LocalRun& local, const fs::path& trainers);

}  // namespace orch::launch
