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

// One step of cutting text into words; tokens are merged only within words.
struct SplitStep {
  std::optional<Regex> pattern = {};  // none: no cut
  bool keep_matches = true;
  bool keep_between = true;       // keep the text between matches
  bool add_prefix_space = false;  // add a blank before text that does not begin with one
};

// The content of a tokenizer.json.
struct TextParts {
  BpeModel model;
  std::vector<SplitStep> cuts;  // applied in order, each to every piece of the previous one
  bool nfc = false;
  std::unordered_map<std::string, std::int32_t> names;  // as the file writes them
  std::unordered_map<std::int32_t, std::string> texts;  // the bytes of each token
  // Tokens that are found in text before it is cut into words: "<|endoftext|>".
  std::vector<std::pair<std::string, std::int32_t>> added;
};

std::unique_ptr<Tokenizer> make_bpe_tokenizer(TextParts parts);

}  // namespace orch::tokenize
