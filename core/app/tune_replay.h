#pragma once

#include <vector>

#include "core/price/tune/replay.h"
#include "core/record/published/score.h"
#include "core/show/answer.h"

namespace orch::app {

// How many measurements orch tune would have needed among these measured runs, for each set of
// alternatives with enough choices.
show::Answer replays_answer(const std::vector<published::JudgedSample>& judged,
                            const tune::TuneLimits& limits);

}  // namespace orch::app
