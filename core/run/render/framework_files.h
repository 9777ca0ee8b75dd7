#pragma once

#include <string>
#include <vector>

#include "core/run/render/framework.h"
#include "core/run/render/template.h"

namespace orch::render {

// What a run that a framework trains has in its folder besides job scripts: `start`, which a job
// calls in the trainer's place, launch.json, which says how for programs and lists what could not be
// made equal, and the framework's own files. start_template is templates/frameworks/start.bash.
Result<std::vector<File>> launch_files(Template& start_template, const Launch& launch,
                                             const plan::Run& run, Context context);

}  // namespace orch::render
