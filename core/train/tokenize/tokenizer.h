#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace orch::tokenize {

// Gets tokens as they come; false: no more are wanted.
using Sink = std::function<bool(std::span<const std::int32_t>)>;

// Text to tokens and back. Any bytes may be given; what is no UTF-8 comes back as it was. Remembers
// words, so it is for one thread.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int64_t vocab_size() const = 0;  // the largest token and one
  virtual std::optional<std::int32_t> end_of_text() const = 0;
  // The token with this text, special or not.
  virtual std::optional<std::int32_t> find(std::string_view token) const = 0;

  // A document of any length, in constant memory. Special tokens are not added; those that stand in
  // the text are found in it. Throws std::runtime_error if a regular expression cannot be matched.
  virtual void encode(std::string_view text, const Sink& sink) = 0;
  std::vector<std::int32_t> encode(std::string_view text);

  // Tokens that do not exist give nothing.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;
};

// 256 bytes, and <|endoftext|>.
std::unique_ptr<Tokenizer> byte_tokenizer();

// Hugging Face's tokenizer.json with a byte-level BPE: GPT-2, BLOOM, Llama 3, Qwen and their kind.
// What it asks for and we do not do is an error.
Result<std::unique_ptr<Tokenizer>> parse_tokenizer_json(const std::string& text,
                                                        const std::string& place);

// "byte", or the path of a tokenizer.json.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& name);

}  // namespace orch::tokenize
