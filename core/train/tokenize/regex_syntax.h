#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/regex.h"
#include "core/base/result.h"

namespace orch::tokenize {

// Translates a regular expression of Oniguruma, for which tokenizer.json is written, to PCRE2:
// nested classes, and the definition of white space. Syntax with another meaning is an error.
Result<std::string> to_pcre(std::string_view pattern);

// Compiled for UTF-8; ^ and $ match at the ends of lines, as always in Oniguruma.
Result<Regex> compile(std::string_view oniguruma);

struct RegexMatch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The first match at or after `from` with at least one character. The text must be UTF-8. Throws
// std::runtime_error if matching takes too much memory.
std::optional<RegexMatch> find(const Regex& regex, std::string_view text, std::size_t from);

}  // namespace orch::tokenize
