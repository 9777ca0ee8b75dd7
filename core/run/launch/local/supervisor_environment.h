#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/run/launch/local/local_run.h"
#include "core/run/launch/local/supervisor_attempt.h"
#include "core/run/launch/local/supervisor_ranks.h"

namespace orch::launch {

// Our own environment without what a SLURM job left in it, with a rank's share of the cores as the
// number of its threads.
std::map<std::string, std::string> machine_environment(std::int64_t ranks);

// Where so many ranks meet: a free port of the loopback.
void meet_here(std::int64_t ranks, std::map<std::string, std::string>& environment);

// The command as ranks 0, 1, ... Our cores are divided among them where there are enough.
std::vector<RankCommand> spread(const RankCommand& command, std::int64_t ranks);

// What all ranks of a run share: our own environment without what a SLURM job left in it, the
// job's, and what a script and a trainer agree on (templates/slurm/README.md).
std::map<std::string, std::string> rank_environment(const LocalRun& local,
                                                    const LocalAttempt& attempt,
                                                    const std::string& submission);

// The processes of a run. Our cores are divided among the ranks where there are enough; each sees
// all GPUs and takes the one of its LOCAL_RANK.
// Of a framework that starts its own ranks there is one.
std::vector<RankCommand> rank_commands(const LocalRun& local, const LocalAttempt& attempt,
                                       const std::string& submission,
                                       const std::vector<std::string>& trainer);

// What starts a rank's program: the trainer, or a shell with the framework's start.
std::vector<std::string> trainer_words(const LocalRun& local, const fs::path& trainers);

}  // namespace orch::launch
