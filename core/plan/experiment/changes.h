#pragma once

#include <string>
#include <vector>

#include "core/plan/experiment/state.h"

namespace orch::experiment {

// "hardware.nodes=16,32": what a command line changes in an experiment's table before it is read.
// The path goes by fields, with a position or a strategy's name in lists; the value is written as
// in Lua, but a bare word is a text, and several with commas are a list.
struct Change {
  std::string text;                 // as it was given
  std::vector<std::string> places;  // where the reader will meet it: "strategies[1].fsdp.prefetch"
};

// Changes the table; what it shares with others is copied first.
Result<Change> apply_change(Loader::State& state, const std::string& text, sol::table& top);

// Errors about what a change brought in get the change as their place.
void blame_changes(const std::vector<Change>& changes, const std::string& file, Errors& errors);

}  // namespace orch::experiment
