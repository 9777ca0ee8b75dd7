#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/regex.h"
#include "core/base/result.h"

namespace orch::tokenize {

// A regular expression of Oniguruma, which tokenizer.json is written for, as PCRE2 writes the same:
// classes within classes, and what white space is. What means something else there is an error.
Result<std::string> to_pcre(std::string_view pattern);

// Compiled for UTF-8, with ^ and $ at the ends of lines as they always are there.
Result<Regex> compile(std::string_view oniguruma);

struct Match {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The first match that begins at `from` or later, of at least one character. The text must be
// UTF-8. Throws std::runtime_error if matching takes too much memory.
std::optional<Match> find(const Regex& regex, std::string_view text, std::size_t from);

}  // namespace orch::tokenize
