#pragma once

#include <string>
#include <variant>

#include "core/cli/app.h"

namespace orch::cli {

// A run that a word names.
struct Chosen {
  plan::Run run;
  plan::Calendar calendar;
};

// FILE.lua, or - for stdin: the best of its runs, of those for which `where` is true. Else a run
// folder by its path, or by id, hash or beginning below `runs`. The exit code instead, once the
// errors are told.
std::variant<Chosen, int> choose_run(App& app, const experiment::Source& word,
                                     const std::string& where, const std::string& start,
                                     const std::string& runs);

}  // namespace orch::cli
