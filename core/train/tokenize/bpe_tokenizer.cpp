#include "core/train/tokenize/bpe_tokenizer.h"

#include <algorithm>
#include <array>

#include "core/base/utf8.h"
#include "core/train/tokenize/byte_alphabet.h"
#include "core/train/tokenize/normalize.h"
#include "core/train/tokenize/regex_syntax.h"

namespace orch::tokenize {
namespace {

constexpr std::size_t kTokensAtOnce = 1 << 16;  // tokens per call of the sink

// The end-of-document tokens of models with these vocabularies, in pre-training.
constexpr std::string_view kEnds[] = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>",
                                      "<|end▁of▁sentence|>"};

// Finds the first of several strings in a text.
class AddedTokens {
 public:
  struct FoundToken {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::int32_t token = 0;
  };

  void add(const std::string& text, std::int32_t token) {
    if (text.empty()) return;
    auto& entries = by_first_[static_cast<unsigned char>(text.front())];
    entries.emplace_back(text, token);
    std::stable_sort(entries.begin(), entries.end(),
                     [](auto& a, auto& b) { return a.first.size() > b.first.size(); });
    if (firsts_.find(text.front()) == std::string::npos) firsts_ += text.front();
  }

  // The leftmost match, and of those the longest.
  std::optional<FoundToken> find(std::string_view text) const {
    // Nearly always all begin with '<', which allows a fast search.
    const auto candidate = [&](std::size_t from) {
      return firsts_.size() == 1 ? text.find(firsts_.front(), from)
                                 : text.find_first_of(firsts_, from);
    };
    for (auto at = candidate(0); at != std::string_view::npos; at = candidate(at + 1))
      for (const auto& [added, token] : by_first_[static_cast<unsigned char>(text[at])])
        if (text.substr(at).starts_with(added)) return FoundToken{at, at + added.size(), token};
    return std::nullopt;
  }

 private:
  std::array<std::vector<std::pair<std::string, std::int32_t>>, 256> by_first_;  // by first byte
  std::string firsts_;
};

class BpeTokenizer : public Tokenizer {
 public:
  explicit BpeTokenizer(TextParts parts) : bpe_(std::move(parts.model)), parts_(std::move(parts)) {
    for (const auto& [token, text] : parts_.texts)
      vocab_size_ = std::max<std::int64_t>(vocab_size_, token + 1);
    texts_.resize(static_cast<std::size_t>(vocab_size_));
    for (auto& [token, text] : parts_.texts)
      texts_[static_cast<std::size_t>(token)] = std::move(text);
    for (const auto& [text, token] : parts_.added) added_.add(text, token);
    for (const auto end : kEnds)
      for (const auto& [text, token] : parts_.added)
        if (!end_ && text == end) end_ = find(end);
  }

  std::int64_t vocab_size() const override { return vocab_size_; }
  std::optional<std::int32_t> end_of_text() const override { return end_; }

  std::optional<std::int32_t> find(std::string_view token) const override {
    for (const auto& name : {std::string(token), to_byte_alphabet(token)})
      if (const auto found = parts_.names.find(name); found != parts_.names.end())
        return found->second;
    return std::nullopt;
  }

  void encode(std::string_view text, const Sink& sink) override {
    tokens_.clear();
    while (const auto found = added_.find(text)) {
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
  // Encodes text without added tokens. Invalid UTF-8 bytes become separate words.
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
    if (parts_.nfc && !surely_nfc(text)) return encode_words(to_nfc(text), 0, sink);
    return encode_words(text, 0, sink);
  }

  // Encodes a piece of text, after the cuts before `step`.
  bool encode_words(std::string_view text, std::size_t step, const Sink& sink) {
    if (text.empty()) return true;
    if (step == parts_.cuts.size()) return encode_word(text, sink);
    if (parts_.cuts[step].add_prefix_space && !text.starts_with(' '))
      return cut(" " + std::string(text), step, sink);
    return cut(text, step, sink);
  }

  bool cut(std::string_view text, std::size_t step, const Sink& sink) {
    const auto& how = parts_.cuts[step];
    if (!how.pattern) return encode_words(text, step + 1, sink);
    std::size_t done = 0;
    while (const auto match = tokenize::find(*how.pattern, text, done)) {
      const auto between = text.substr(done, match->begin - done);
      const auto matched = text.substr(match->begin, match->end - match->begin);
      if (how.keep_between && !encode_words(between, step + 1, sink)) return false;
      if (how.keep_matches && !encode_words(matched, step + 1, sink)) return false;
      done = match->end;
    }
    return !how.keep_between || encode_words(text.substr(done), step + 1, sink);
  }

  bool encode_word(std::string_view word, const Sink& sink) {
    bpe_.encode(word, tokens_);
    if (tokens_.size() < kTokensAtOnce) return true;
    const bool more = sink(tokens_);
    tokens_.clear();
    return more;
  }

  Bpe bpe_;
  TextParts parts_;
  AddedTokens added_;
  std::vector<std::string> texts_;  // by token
  std::int64_t vocab_size_ = 0;
  std::optional<std::int32_t> end_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(TextParts parts) {
  return std::make_unique<BpeTokenizer>(std::move(parts));
}

}  // namespace orch::tokenize
