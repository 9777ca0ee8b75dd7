#pragma once

#include "core/app/commands.h"

namespace orch::app {

// orch doctor --nodes: a short job measures the nodes of a partition, and the slow ones are named.
Ending nodes_command(App& app, const DoctorArguments& arguments, Console& console);

}  // namespace orch::app
