#pragma once

#include <string>

#include "core/base/shell.h"
#include "core/plan/experiment.h"
#include "core/run/store/run_folder.h"

namespace orch::app {

// Where an experiment is from, all but the cluster's file: as it was given, with the commit of the
// repository that holds it, if there is one and git.
store::Provenance provenance_of(Shell& shell, const plan::Experiment& experiment);

}  // namespace orch::app
