#pragma once

#include <string>
#include <string_view>

namespace orch {

// A text of several lines as it may go to a terminal: line breaks and tabs stay, and, where there
// are colours, their codes ("\033[1;31m"); any other control character, and what is no UTF-8, is
// shown as \xNN (printable() in text.h, for a string of one line).
std::string printable_lines(std::string_view text, bool colors = false);

}  // namespace orch
