#pragma once

#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/run/launch/local/doctor.h"

namespace orch::app {

// A table without the column of that title, where every cell of it says the same plain word.
tables::Rows without_plain(tables::Rows rows, const std::string& title, const std::string& word);

// Where clusters, GPUs and models come from, one check for each: the user's own files or ours.
std::vector<launch::Check> check_sources(App& app);

}  // namespace orch::app
