#pragma once

#include <functional>
#include <vector>

#include "core/base/result.h"
#include "core/plan/experiment.h"
#include "core/plan/resolve.h"

namespace orch::plan {

struct ExpandOptions {
  double max_runs = 200'000;          // more combinations than this are refused with their count
  std::function<bool()> interrupted;  // asked now and then; true stops with an error
  // Gets each run as it is made, in place of the plan: there may be 200,000. An error stops.
  std::function<Status(Run)> take;
};

// A backend's own view of a run: reasons to reject it and warnings.
using CheckBackend =
    std::function<void(const Run&, std::vector<Error>& reasons, std::vector<Error>& warnings)>;

// How many runs an experiment describes, before any is looked at.
double combinations(const Experiment& experiment);

// A cluster or partition that is not there is the experiment's mistake, not that of each run.
Errors check_hardware(const Experiment& experiment, const FindCluster& find_cluster);

// The run that the resolver has started, every default filled in; it learns in the first of the
// experiment's ways.
Run make_run(const Frame& frame, Resolver& resolver);

// What the user's own rules say against the run that the resolver has started.
void check_constraints(const Experiment& experiment, const Lookup& lookup,
                       std::vector<Error>& reasons);

// Every combination, with defaults filled in and numbers derived, sorted into runs and rejected
// ones. An error is something that no single run is to blame for.
Result<Plan> expand(const Experiment& experiment, const FindCluster& find_cluster,
                    const CheckBackend& check_backend, const ExpandOptions& options = {});

}  // namespace orch::plan
