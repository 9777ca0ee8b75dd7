#pragma once

#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/record/record.h"

namespace orch::app {

// Records as their logs or tables say them with all that follows: each with its estimate, or why there
// is none, and its doubts. The cluster is for those whose site is none of ours.
std::vector<record::Record> judged(App& app, const std::vector<record::Record>& said,
                                   const std::string& cluster);

}  // namespace orch::app
