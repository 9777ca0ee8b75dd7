#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/regex.h"

namespace orch::tokenize {

// Gets words as they come; false: no more are wanted.
using Words = std::function<bool(std::string_view)>;

// One step of cutting text into words, within which alone tokens are merged.
struct Cut {
  std::optional<Regex> pattern;  // none: nothing is cut
  bool keep_matches = true;
  bool keep_between = true;       // what lies between matches
  bool add_prefix_space = false;  // before text that does not begin with one
};

// The steps one after the other, each on every piece of the one before.
class PreTokenizer {
 public:
  void add(Cut cut) { cuts_.push_back(std::move(cut)); }
  // Text must be UTF-8. False if no more words were wanted.
  bool split(std::string_view text, const Words& words) const { return split(text, 0, words); }

 private:
  bool split(std::string_view text, std::size_t step, const Words& words) const;
  bool cut(std::string_view text, std::size_t step, const Words& words) const;

  std::vector<Cut> cuts_;
};

// As ByteLevel cuts (GPT-2).
extern const std::string_view kByteLevelPattern;

}  // namespace orch::tokenize
