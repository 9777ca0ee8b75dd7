#pragma once

#include "core/app/app.h"
#include "core/app/commands.h"

namespace orch::app {

// Whether the number of GPUs or the size of the model is opened (--open gpus, --open params).
bool opens_sizes(const search::Opening& opening);

// The fewest GPUs that fit and that keep the budget, and the cheapest run; or the largest model. A
// search of layouts for each size.
Ending search_sizes(App& app, const SearchArguments& arguments, Console& console);

}  // namespace orch::app
