#include "core/train/tokenize/pre_tokenizer.h"

#include <string>

#include "core/train/tokenize/regex_syntax.h"

namespace orch::tokenize {

const std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

bool PreTokenizer::split(std::string_view text, std::size_t step, const Words& words) const {
  if (text.empty()) return true;
  if (step == cuts_.size()) return words(text);
  if (cuts_[step].add_prefix_space && !text.starts_with(' '))
    return cut(" " + std::string(text), step, words);
  return cut(text, step, words);
}

bool PreTokenizer::cut(std::string_view text, std::size_t step, const Words& words) const {
  const auto& how = cuts_[step];
  if (!how.pattern) return split(text, step + 1, words);
  std::size_t done = 0;
  while (const auto match = find(*how.pattern, text, done)) {
    if (how.keep_between && !split(text.substr(done, match->begin - done), step + 1, words))
      return false;
    if (how.keep_matches &&
        !split(text.substr(match->begin, match->end - match->begin), step + 1, words))
      return false;
    done = match->end;
  }
  return !how.keep_between || split(text.substr(done), step + 1, words);
}

}  // namespace orch::tokenize
