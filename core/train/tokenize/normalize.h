#pragma once

#include <string>
#include <string_view>

namespace orch::tokenize {

// Unicode's normalization form C: characters are composed if possible. The text must be UTF-8.
std::string to_nfc(std::string_view text);
// A fast test; false only means that to_nfc has to decide.
bool surely_nfc(std::string_view text);

}  // namespace orch::tokenize
