#pragma once

#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/app/calibrate.h"
#include "core/app/commands.h"

namespace orch::app {

// What was fitted, and of what.
struct Calibrated {
  const Study& study;
  calibrate::Fitted fitted;
};

// Whether a cluster can be written there: <name>.yaml, and no file of another kind. "" is no place.
Status check_output(const std::string& output);

// Puts what was fitted into the files of its clusters, or into one other file (of several clusters,
// that which is called like it), and stacks into theirs. All texts are made and read again before
// the first is written.
Status write_calibrated(App& app, const Calibrated& calibrated, const CalibrateArguments& arguments,
                        Console& console);

}  // namespace orch::app
