#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace orch::tokenize {

// A regular expression of Oniguruma, which tokenizer.json is written for, as PCRE2 writes the same:
// classes within classes, and what white space is. What means something else there is an error.
Result<std::string> to_pcre(std::string_view pattern);

}  // namespace orch::tokenize
