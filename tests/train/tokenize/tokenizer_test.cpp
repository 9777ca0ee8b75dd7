#include "core/train/tokenize/tokenizer.h"

#include "tests/test.h"
#include "tests/train/tokenize/gpt2.h"

using namespace orch;
using namespace orch::tokenize;

namespace {

using TokenList = std::vector<std::int32_t>;

// Bytes of all kinds: whole characters of every length, incomplete ones, spaces, special tokens.
std::string random_text(std::mt19937& random) {
  const std::vector<std::string> pieces{
      "a",    " the",          "é",           "生", "😊",  "\n",  "  ",       "\r\n", "\xc3",
      "\x80", "\xff",          "\0",          "'s", "12", "​", "\xe4\xb8", "\t",   "ﷺ",
      "test", "<|endoftext|>", "\xed\xa0\x80"};
  std::string out;
  for (auto n = random() % 40; n > 0; --n)
    out += random() % 5 == 0 ? std::string(1, static_cast<char>(random()))
                             : pieces[random() % pieces.size()];
  return out;
}

}  // namespace

TEST_CASE("bytes are tokens", "[tokenize]") {
  const auto tokenizer = byte_tokenizer();
  CHECK(tokenizer->vocab_size() == 257);
  CHECK(tokenizer->end_of_text() == 256);
  CHECK(tokenizer->find("<|endoftext|>") == 256);
  CHECK(tokenizer->encode("A\xff\n") == TokenList{65, 255, 10});
  CHECK(tokenizer->encode("é") == TokenList{0xc3, 0xa9});
  CHECK(tokenizer->decode(TokenList{72, 105, 256, -1, 999}) == "Hi<|endoftext|>");
}

TEST_CASE("what was encoded decodes to itself, whatever the bytes", "[tokenize]") {
  std::mt19937 random(1);
  auto json = gpt2_json();
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  tokenizers.push_back(byte_tokenizer());
  tokenizers.push_back(open(json));
  json["pre_tokenizer"]["use_regex"] = false;
  tokenizers.push_back(open(json));
  json["model"]["ignore_merges"] = true;
  tokenizers.push_back(open(json));
  for (const auto& tokenizer : tokenizers) {
    REQUIRE(tokenizer);
    for (int i = 0; i < 2000; ++i) {
      const auto text = random_text(random);
      REQUIRE(tokenizer->decode(tokenizer->encode(text)) == text);
    }
  }
}

TEST_CASE("a document is handed on in parts, and can be stopped", "[tokenize]") {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += " a";
  for (const auto& tokenizer : {byte_tokenizer(), open(gpt2_json())}) {
    std::size_t parts = 0, all = 0, largest = 0;
    tokenizer->encode(text, [&](std::span<const std::int32_t> tokens) {
      ++parts;
      all += tokens.size();
      largest = std::max(largest, tokens.size());
      return true;
    });
    CHECK(all == tokenizer->encode(text).size());
    CHECK(parts > 3);
    CHECK(largest < 100'000);
    parts = 0;
    tokenizer->encode(text, [&](auto) { return ++parts < 2; });
    CHECK(parts == 2);
  }
}

TEST_CASE("a tokenizer that is not there says what may be given", "[tokenize]") {
  CHECK(open_tokenizer("byte"));
  const auto none = open_tokenizer("/nowhere/tokenizer.json");
  REQUIRE_FALSE(none);
  CHECK(has(text(none.error()), "give byte, or the path of a tokenizer.json"));
}
