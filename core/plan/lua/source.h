#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace orch::lua {

// Refuses what is not text: bytecode, binary files, text that is not UTF-8.
Status check_source(std::string_view text, const std::string& file);

// "experiment.lua:12" and the message itself out of Lua's "experiment.lua:12: message", where Lua
// may have shortened the file's name to `short_name`. An empty place if there is no such prefix.
struct Located {
  std::string place;
  std::string message;
};
Located locate(std::string_view message, std::string_view short_name, const std::string& file);

}  // namespace orch::lua
