#pragma once

#include <vector>

#include "core/app/session.h"
#include "core/plan/planned.h"

namespace orch::app {

// Holds what the runs ask for against what the cluster has, as SLURM itself tells it: every
// contradiction with the cluster's file, before anything is submitted.
Status preflight(Session& session, const std::vector<const plan::Planned*>& runs);

}  // namespace orch::app
