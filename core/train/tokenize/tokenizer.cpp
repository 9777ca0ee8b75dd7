#include "core/train/tokenize/tokenizer.h"

#include <algorithm>

#include "core/base/files.h"

namespace orch::tokenize {
namespace {

constexpr std::int32_t kEndOfText = 256;
constexpr std::string_view kEndOfTextName = "<|endoftext|>";
constexpr std::size_t kBlock = 1 << 16;

class ByteTokenizer : public Tokenizer {
 public:
  std::int64_t vocab_size() const override { return 257; }
  std::optional<std::int32_t> end_of_text() const override { return kEndOfText; }

  std::optional<std::int32_t> find(std::string_view token) const override {
    if (token == kEndOfTextName) return kEndOfText;
    if (token.size() != 1) return std::nullopt;
    return static_cast<unsigned char>(token.front());
  }

  void encode(std::string_view text, const Sink& sink) override {
    block_.resize(kBlock);
    while (!text.empty()) {
      const auto n = std::min(kBlock, text.size());
      std::transform(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(n), block_.begin(),
                     [](char c) { return static_cast<unsigned char>(c); });
      if (!sink(std::span(block_).first(n))) return;
      text.remove_prefix(n);
    }
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string out;
    for (const auto token : tokens) {
      if (token >= 0 && token < 256) out += static_cast<char>(token);
      if (token == kEndOfText) out += kEndOfTextName;
    }
    return out;
  }

 private:
  std::vector<std::int32_t> block_;
};

}  // namespace

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) {
  std::vector<std::int32_t> out;
  encode(text, [&](std::span<const std::int32_t> tokens) {
    out.insert(out.end(), tokens.begin(), tokens.end());
    return true;
  });
  return out;
}

std::unique_ptr<Tokenizer> byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& name) {
  if (name == "byte") return byte_tokenizer();
  const auto text = read_file(name);
  if (!text) {
    auto error = text.error().front();
    error.fix = "give byte, or the path of a tokenizer.json";
    return error;
  }
  return parse_tokenizer_json(*text, name);
}

}  // namespace orch::tokenize
