#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/train/tokenize/added_tokens.h"
#include "core/train/tokenize/bpe.h"
#include "core/train/tokenize/pre_tokenizer.h"
#include "core/train/tokenize/tokenizer.h"

namespace orch::tokenize {

// What a tokenizer.json says.
struct Parts {
  BpeModel model;
  PreTokenizer pre_tokenizer;
  AddedTokens added;
  bool nfc = false;
  std::unordered_map<std::string, std::int32_t> names;  // as the file writes them
  std::unordered_map<std::int32_t, std::string> texts;  // what each token stands for
  std::vector<std::string> added_names;
};

std::unique_ptr<Tokenizer> make_bpe_tokenizer(Parts parts);

}  // namespace orch::tokenize
