#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/train/tokenize/byte_alphabet.h"
#include "core/train/tokenize/tokenizer.h"
#include "tests/text.h"

namespace orch::tokenize {

using Json = nlohmann::ordered_json;

// A merge of GPT-2's, and its token: parts in the byte alphabet.
struct Gpt2Merge {
  std::string left, right;
  int token;
};

// The merges of GPT-2's 50,000 that make the words of the tests, in their order. Its vocabulary
// begins with the 256 bytes, visible ones first; merge n is token 256 + n; the last one is 50256.
inline const std::vector<Gpt2Merge> kGpt2Merges{
    {"Ġ", "t", 256},  {"Ġ", "a", 257},     {"h", "e", 258},    {"i", "n", 259},
    {"r", "e", 260},  {"o", "n", 261},     {"Ġt", "he", 262},  {"e", "r", 263},
    {"Ġ", "s", 264},  {"a", "t", 265},     {"Ġ", "w", 266},    {"Ġ", "o", 267},
    {"e", "n", 268},  {"i", "t", 270},     {"i", "s", 271},    {"o", "r", 273},
    {"e", "s", 274},  {"o", "u", 280},     {"Ġa", "n", 281},   {"Ġo", "f", 286},
    {"Ġ", "in", 287}, {"Ġan", "d", 290},   {"a", "s", 292},    {"l", "l", 297},
    {"s", "t", 301},  {"l", "d", 335},     {"Ġ", "is", 318},   {"Ġw", "as", 373},
    {"es", "t", 395}, {"T", "he", 464},    {"Ċ", "Ċ", 628},    {"Ġw", "or", 476},
    {"T", "h", 817},  {"Ġwor", "ld", 995}, {"Th", "is", 1212}, {"Ġt", "est", 1332},
};

inline std::vector<std::string> gpt2_bytes() {
  std::vector<std::string> seen, others;
  for (int byte = 0; byte < 256; ++byte) {
    const auto text = to_byte_alphabet(std::string(1, static_cast<char>(byte)));
    const bool plain = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    (plain ? seen : others).push_back(text);
  }
  seen.insert(seen.end(), others.begin(), others.end());
  return seen;
}

// A tokenizer.json with these merges, as Hugging Face writes GPT-2's.
inline Json gpt2_json() {
  Json vocab = Json::object(), merges = Json::array();
  int token = 0;
  for (const auto& text : gpt2_bytes()) vocab[text] = token++;
  auto sorted = kGpt2Merges;
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.token < b.token; });
  for (const auto& merge : sorted) {
    vocab[merge.left + merge.right] = merge.token;
    merges.push_back(merge.left + " " + merge.right);
  }
  vocab["<|endoftext|>"] = 50256;
  const Json byte_level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens",
           {{{"id", 50256},
             {"special", true},
             {"content", "<|endoftext|>"},
             {"single_word", false},
             {"lstrip", false},
             {"rstrip", false},
             {"normalized", false}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", byte_level},
          {"decoder", byte_level},
          {"model",
           {{"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", ""},
            {"end_of_word_suffix", ""},
            {"fuse_unk", false},
            {"vocab", vocab},
            {"merges", merges}}}};
}

inline std::unique_ptr<Tokenizer> open(const Json& json) {
  auto tokenizer = parse_tokenizer_json(json.dump(), "tokenizer.json");
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

inline std::string error_of(const Json& json) {
  const auto tokenizer = parse_tokenizer_json(json.dump(), "tokenizer.json");
  return tokenizer ? "opened" : text(tokenizer.error());
}

}  // namespace orch::tokenize
