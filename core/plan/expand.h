#pragma once

#include <functional>
#include <vector>

#include "core/base/result.h"
#include "core/plan/experiment.h"
#include "core/plan/resolve.h"

namespace orch::plan {

struct ExpandOptions {
  double max_runs = 200'000;          // more combinations than this are refused with their count
  std::function<bool()> interrupted;  // checked regularly; true stops with an error
  // Gets each run as it is made, instead of the plan, because there may be 200,000. An error stops.
  std::function<Status(Run)> take;
};

// A backend's own view of a run: reasons to reject it and warnings.
using CheckBackend =
    std::function<void(const Run&, std::vector<Error>& reasons, std::vector<Error>& warnings)>;

// The number of runs that an experiment describes, before any is checked.
double combinations(const Experiment& experiment);

// Reports a missing cluster or partition once, as an error of the experiment and not of each run.
Errors check_hardware(const Experiment& experiment, const FindCluster& find_cluster);

// The run that the resolver has started, with every default filled in; it gets the first of the
// experiment's `trainings`.
Run make_run(const FieldSources& frame, Resolver& resolver);

// Adds the constraints of the user that the started run breaks.
void check_constraints(const Experiment& experiment, const Lookup& lookup,
                       std::vector<Error>& reasons);

// Expands every combination, fills in defaults, derives numbers, and sorts runs from rejected ones.
// An error is a problem that does not belong to a single run.
Result<Plan> expand(const Experiment& experiment, const FindCluster& find_cluster,
                    const CheckBackend& check_backend, const ExpandOptions& options = {});

}  // namespace orch::plan
