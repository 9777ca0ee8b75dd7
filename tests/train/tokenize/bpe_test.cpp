#include "core/train/tokenize/bpe.h"

#include "tests/test.h"

using namespace orch::tokenize;

namespace {

using TokenList = std::vector<std::int32_t>;
using Merges = std::vector<std::pair<std::string, std::string>>;

// Bytes are tokens 0 to 255, merge n is 256 + n.
BpeModel model(const Merges& merges) {
  BpeModel out;
  for (int byte = 0; byte < 256; ++byte) out.vocab[std::string(1, static_cast<char>(byte))] = byte;
  out.merges = PairTable(merges.size());
  std::uint32_t rank = 0;
  for (const auto& [left, right] : merges) {
    const auto token = static_cast<std::int32_t>(256 + rank);
    out.vocab.emplace(left + right, token);
    out.merges.add(out.vocab.at(left), out.vocab.at(right), {rank++, out.vocab.at(left + right)});
  }
  return out;
}

// Sennrich's own algorithm: the pair that was merged first in training, everywhere, then the next.
TokenList by_the_book(const std::string& word, const Merges& merges, const BpeModel& with) {
  std::vector<std::string> parts;
  for (const char c : word) parts.emplace_back(1, c);
  while (true) {
    auto best = merges.end();
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      best = std::min(best,
                      std::find(merges.begin(), merges.end(), std::pair(parts[i], parts[i + 1])));
    if (best == merges.end()) break;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      if (parts[i] == best->first && parts[i + 1] == best->second) {
        parts[i] += parts[i + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
  }
  TokenList out;
  for (const auto& part : parts) out.push_back(with.vocab.at(part));
  return out;
}

TokenList encode(Bpe& bpe, const std::string& word) {
  TokenList out;
  bpe.encode(word, out);
  return out;
}

// As in training: each merge joins existing tokens.
Merges random_merges(std::mt19937& random, int count) {
  std::vector<std::string> parts{"a", "b", "c"};
  Merges merges;
  while (static_cast<int>(merges.size()) < count) {
    const auto& left = parts[random() % parts.size()];
    const auto& right = parts[random() % parts.size()];
    if (left.size() + right.size() > 8) continue;
    if (std::find(parts.begin(), parts.end(), left + right) != parts.end()) continue;
    merges.emplace_back(left, right);
    parts.push_back(left + right);
  }
  return merges;
}

}  // namespace

TEST_CASE("what was merged first in training is merged first", "[tokenize][bpe]") {
  Bpe bpe(model({{"b", "c"}, {"a", "b"}, {"a", "bc"}}));
  CHECK(encode(bpe, "abc") == TokenList{258});  // not ab, c
  CHECK(encode(bpe, "abd") == TokenList{257, 'd'});
  CHECK(encode(bpe, "") == TokenList{});
}

TEST_CASE("of two pairs of one kind the left one is merged", "[tokenize][bpe]") {
  Bpe bpe(model({{"a", "a"}}));
  CHECK(encode(bpe, "aaa") == TokenList{256, 'a'});
  CHECK(encode(bpe, "aaaaa") == TokenList{256, 256, 'a'});
}

TEST_CASE("short and long words are merged by the book", "[tokenize][bpe]") {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    const auto merges = random_merges(random, 40);
    const auto with = model(merges);
    Bpe bpe(with);
    for (int i = 0; i < 40; ++i) {
      std::string word(random() % 300, ' ');
      for (auto& c : word) c = static_cast<char>('a' + random() % 3);
      REQUIRE(encode(bpe, word) == by_the_book(word, merges, with));
      REQUIRE(encode(bpe, word) == by_the_book(word, merges, with));  // cached, or not
    }
  }
}

TEST_CASE("many words do not mix in memory", "[tokenize][bpe]") {
  Bpe bpe(model({{"1", "2"}}));
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 100'000; ++i) {
      const auto word = std::to_string(i);
      std::string back;
      for (const auto token : encode(bpe, word))
        back += token == 256 ? "12" : std::string(1, static_cast<char>(token));
      REQUIRE(back == word);
    }
}

TEST_CASE("a word of a million bytes takes no million squared", "[tokenize][bpe]") {
  Bpe bpe(model({{"a", "a"}, {"aa", "aa"}}));
  CHECK(encode(bpe, std::string(1'000'000, 'a')) == TokenList(250'000, 257));
}
