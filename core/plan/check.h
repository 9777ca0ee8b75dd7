#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/plan/experiment.h"
#include "core/plan/run.h"

namespace orch::plan {

// Checks what every backend would refuse (reasons) or discourage (warnings): ranks and GPUs, nodes
// and the partition, the batch at every step of the ramp-up, the model's sizes, the number format.
void check(const Run& run, const Budget& budget, std::vector<Error>& reasons,
           std::vector<Error>& warnings);
// Its parts in their order, for a search, which changes only the settings of a run: what is checked
// before them, the settings themselves, and the length of the training.
void check_layout(const Run& run, const Budget& budget, std::vector<Error>& reasons,
                  std::vector<Error>& warnings);
void check_settings(const Run& run, std::vector<Error>& reasons);
bool is_checked(const Strategy& strategy, const Param& param);  // by check_settings
void check_length(const Run& run, std::vector<Error>& reasons, std::vector<Error>& warnings);

// Only the reasons that hold on any machine: without nodes, limits and the ramp-up.
void check_anywhere(const Run& run, std::vector<Error>& reasons);

// Only the checks that need no more than the document: ranks, the batch at every step, the model's
// sizes.
void check_sizes(const Run& run, std::vector<Error>& reasons);

// Why our own trainers cannot train this run, although it can be planned; empty if they can.
std::string cannot_train(const Run& run);

// Adds an error if the run needs more nodes than the calendar ever has: it would wait forever.
void check_calendar(const Run& run, const Calendar& calendar, std::vector<Error>& reasons);

// A deadline needs a start date and must be after it.
Status check_dates(const Experiment& experiment);

}  // namespace orch::plan
