#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/regex.h"
#include "core/train/tokenize/bpe.h"
#include "core/train/tokenize/tokenizer.h"

namespace orch::tokenize {

// One step of cutting text into words, within which alone tokens are merged.
struct Cut {
  std::optional<Regex> pattern = {};  // none: nothing is cut
  bool keep_matches = true;
  bool keep_between = true;       // what lies between matches
  bool add_prefix_space = false;  // before text that does not begin with one
};

// What a tokenizer.json says.
struct Parts {
  BpeModel model;
  std::vector<Cut> cuts;  // one after the other, each on every piece of the one before
  bool nfc = false;
  std::unordered_map<std::string, std::int32_t> names;  // as the file writes them
  std::unordered_map<std::int32_t, std::string> texts;  // what each token stands for
  // Found in text as they are, before it is cut into words: "<|endoftext|>".
  std::vector<std::pair<std::string, std::int32_t>> added;
};

std::unique_ptr<Tokenizer> make_bpe_tokenizer(Parts parts);

}  // namespace orch::tokenize
