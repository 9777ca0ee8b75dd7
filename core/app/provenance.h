#pragma once

#include <string>

#include "core/base/shell.h"
#include "core/plan/experiment.h"
#include "core/run/store/run_folder.h"

namespace orch::app {

// The origin of an experiment, without the cluster's file: as given, with the commit of the
// repository that contains it, if git finds one.
store::Provenance provenance_of(Shell& shell, const plan::Experiment& experiment);

}  // namespace orch::app
