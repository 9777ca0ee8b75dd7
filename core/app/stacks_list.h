#pragma once

#include <vector>

#include "core/app/app.h"
#include "core/show/answer.h"

namespace orch::app {

// The software that estimates know: the rows of each, and what it reaches on the GPUs that they ran
// on.
Status add_stacks(App& app, std::vector<show::Section>& to);

}  // namespace orch::app
