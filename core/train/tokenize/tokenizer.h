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

// Receives tokens; false: stop.
using Sink = std::function<bool(std::span<const std::int32_t>)>;

// Converts text to tokens and back. Accepts any bytes; invalid UTF-8 is preserved. Caches words, so
// it is not thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int64_t vocab_size() const = 0;  // the largest token plus one
  virtual std::optional<std::int32_t> end_of_text() const = 0;
  // The token of this text, special or not.
  virtual std::optional<std::int32_t> find(std::string_view token) const = 0;

  // Encodes a document of any length, in constant memory. Special tokens are not added, but
  // recognised in the text. Throws std::runtime_error if a regular expression cannot be matched.
  virtual void encode(std::string_view text, const Sink& sink) = 0;
  std::vector<std::int32_t> encode(std::string_view text);

  // Ignores tokens that do not exist.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;
};

// 256 bytes, and <|endoftext|>.
std::unique_ptr<Tokenizer> byte_tokenizer();

// Parses Hugging Face's tokenizer.json with a byte-level BPE: GPT-2, BLOOM, Llama 3, Qwen and the
// like. Unsupported features are errors.
Result<std::unique_ptr<Tokenizer>> parse_tokenizer_json(const std::string& text,
                                                        const std::string& place);

// "byte", or the path of a tokenizer.json.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& name);

}  // namespace orch::tokenize
