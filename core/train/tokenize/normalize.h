#pragma once

#include <string>
#include <string_view>

namespace orch::tokenize {

// Unicode's normalization form C: each character composed, where it can be. Text must be UTF-8.
std::string to_nfc(std::string_view text);
// Most text, as it is; false only says that to_nfc has to look.
bool surely_nfc(std::string_view text);

}  // namespace orch::tokenize
