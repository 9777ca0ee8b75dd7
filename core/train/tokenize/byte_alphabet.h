#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orch::tokenize {

// GPT-2 writes each byte as a visible character: printable ones of Latin-1 as they are, the others,
// in order, as U+0100 and on. " the" becomes "Ġthe".
std::string to_byte_alphabet(std::string_view bytes);
// Nothing if a character does not belong to the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace orch::tokenize
