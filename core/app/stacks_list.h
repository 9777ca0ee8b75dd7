#pragma once

#include <vector>

#include "core/app/app.h"
#include "core/show/answer.h"

namespace orch::app {

// Adds the known software stacks: the rows of each, and the efficiency on the GPUs of its rows.
Status add_stacks(App& app, std::vector<show::Section>& to);

}  // namespace orch::app
