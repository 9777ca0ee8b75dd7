#pragma once

#include <string>
#include <string_view>

namespace orch {

// Text of several lines made safe for a terminal: line breaks and tabs stay, and, if colors is set,
// colour codes ("\033[1;31m"); any other control character, and bytes that are not UTF-8, are shown
// as \xNN (for a string of one line: printable() in text.h).
std::string printable_lines(std::string_view text, bool colors = false);

}  // namespace orch
