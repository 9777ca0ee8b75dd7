#include "core/train/tokenize/bpe_tokenizer.h"

#include <algorithm>

#include "core/train/tokenize/byte_alphabet.h"
#include "core/train/tokenize/normalize.h"
#include "core/base/text.h"
#include "core/base/utf8.h"

namespace orch::tokenize {
namespace {

constexpr std::size_t kTokensAtOnce = 1 << 16;  // tokens that are handed on at a time

// As the models that have them end a document, in their pre-training.
constexpr std::string_view kEnds[] = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>",
                                      "<|end▁of▁sentence|>"};

class BpeTokenizer : public Tokenizer {
 public:
  explicit BpeTokenizer(Parts parts) : bpe_(std::move(parts.model)), parts_(std::move(parts)) {
    for (const auto& [token, text] : parts_.texts)
      vocab_size_ = std::max<std::int64_t>(vocab_size_, token + 1);
    texts_.resize(static_cast<std::size_t>(vocab_size_));
    for (auto& [token, text] : parts_.texts)
      texts_[static_cast<std::size_t>(token)] = std::move(text);
    for (const auto end : kEnds)
      if (!end_ && contains(parts_.added_names, end)) end_ = find(end);
  }

  std::int64_t vocab_size() const override { return vocab_size_; }
  std::optional<std::int32_t> end_of_text() const override { return end_; }

  std::optional<std::int32_t> find(std::string_view token) const override {
    for (const auto& name : {std::string(token), to_byte_alphabet(token)})
      if (const auto found = parts_.names.find(name); found != parts_.names.end()) return found->second;
    return std::nullopt;
  }

  void encode(std::string_view text, const Sink& sink) override {
    tokens_.clear();
    while (const auto found = parts_.added.find(text)) {
      if (!encode_plain(text.substr(0, found->begin), sink)) return;
      tokens_.push_back(found->token);
      text.remove_prefix(found->end);
    }
    if (encode_plain(text, sink) && !tokens_.empty()) sink(tokens_);
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string out;
    for (const auto token : tokens)
      if (token >= 0 && token < vocab_size_) out += texts_[static_cast<std::size_t>(token)];
    return out;
  }

 private:
  // Text without added tokens. Bytes that are no UTF-8 are words by themselves.
  bool encode_plain(std::string_view text, const Sink& sink) {
    while (!text.empty()) {
      const auto valid = valid_prefix(text);
      if (!encode_valid(text.substr(0, valid), sink)) return false;
      text.remove_prefix(valid);
      if (text.empty()) break;
      if (!encode_word(text.substr(0, 1), sink)) return false;
      text.remove_prefix(1);
    }
    return true;
  }

  bool encode_valid(std::string_view text, const Sink& sink) {
    if (parts_.nfc && !surely_nfc(text)) return encode_words(to_nfc(text), sink);
    return encode_words(text, sink);
  }

  bool encode_words(std::string_view text, const Sink& sink) {
    return parts_.pre_tokenizer.split(text,
                                      [&](std::string_view word) { return encode_word(word, sink); });
  }

  bool encode_word(std::string_view word, const Sink& sink) {
    bpe_.encode(word, tokens_);
    if (tokens_.size() < kTokensAtOnce) return true;
    const bool more = sink(tokens_);
    tokens_.clear();
    return more;
  }

  Bpe bpe_;
  Parts parts_;
  std::vector<std::string> texts_;  // by token
  std::int64_t vocab_size_ = 0;
  std::optional<std::int32_t> end_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(Parts parts) {
  return std::make_unique<BpeTokenizer>(std::move(parts));
}

}  // namespace orch::tokenize
