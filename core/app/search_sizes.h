#pragma once

#include "core/app/app.h"
#include "core/app/commands.h"

namespace orch::app {

// True if the number of GPUs or the size of the model is opened (--open gpus, --open params).
bool opens_sizes(const search::OpenFields& opening);

// Searches for the fewest GPUs that fit and that keep the budget, and for the cheapest run; or for
// the largest model. Each size is a search of layouts.
Ending search_sizes(App& app, const SearchArguments& arguments, Console& console);

}  // namespace orch::app
