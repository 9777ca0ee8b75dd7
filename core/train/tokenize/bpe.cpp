#include "core/train/tokenize/bpe.h"

#include <algorithm>
#include <cstring>
#include <queue>

namespace orch::tokenize {
namespace {

constexpr std::size_t kPlaces = 1 << 15;  // cached words: 2 MiB
constexpr std::size_t kShort = 100;       // bytes up to which all pairs are compared

std::uint64_t hash_of(std::string_view word) {
  std::uint64_t hash = word.size();
  for (std::size_t at = 0; at < word.size(); at += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, word.data() + at, std::min<std::size_t>(8, word.size() - at));
    hash = counter_random::mix(hash ^ eight);
  }
  return hash;
}

}  // namespace

Bpe::Bpe(BpeModel model) : model_(std::move(model)), remembered_(kPlaces) {
  for (int byte = 0; byte < 256; ++byte)
    bytes_[static_cast<std::size_t>(byte)] =
        model_.vocab.at(std::string(1, static_cast<char>(byte)));
}

void Bpe::encode(std::string_view word, std::vector<std::int32_t>& to) {
  if (word.size() > sizeof Remembered::word) return merge(word, to);
  auto& place = remembered_[hash_of(word) & (kPlaces - 1)];
  if (std::string_view(place.word, place.bytes) != word) {
    const auto before = to.size();
    merge(word, to);
    const auto count = to.size() - before;
    if (count > std::size(place.tokens)) return;
    place.bytes = static_cast<std::uint8_t>(word.size());
    place.count = static_cast<std::uint8_t>(count);
    std::copy(word.begin(), word.end(), place.word);
    std::copy(to.begin() + static_cast<std::ptrdiff_t>(before), to.end(), place.tokens);
    return;
  }
  to.insert(to.end(), place.tokens, place.tokens + place.count);
}

void Bpe::merge(std::string_view word, std::vector<std::int32_t>& to) {
  if (model_.ignore_merges) {
    const auto found = model_.vocab.find(std::string(word));
    if (found != model_.vocab.end()) return to.push_back(found->second);
  }
  symbols_.clear();
  for (const char byte : word) symbols_.push_back(bytes_[static_cast<unsigned char>(byte)]);
  symbols_.size() <= kShort ? merge_short(symbols_) : merge_long(symbols_);
  to.insert(to.end(), symbols_.begin(), symbols_.end());
}

// next_[i] is the merge of symbols i and i + 1.
void Bpe::merge_short(std::vector<std::int32_t>& symbols) {
  next_.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
    next_.push_back(model_.merges.find(symbols[i], symbols[i + 1]));
  while (!next_.empty()) {
    const auto first = std::min_element(next_.begin(), next_.end(),
                                        [](auto& a, auto& b) { return a.rank < b.rank; });
    if (first->rank == PairTable::kNever) return;
    const auto i = static_cast<std::size_t>(first - next_.begin());
    symbols[i] = first->token;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    next_.erase(first);
    if (i < next_.size()) next_[i] = model_.merges.find(symbols[i], symbols[i + 1]);
    if (i > 0) next_[i - 1] = model_.merges.find(symbols[i - 1], symbols[i]);
  }
}

// Uses a queue of pairs, and a linked list of neighbours. A queue entry is outdated if its place no
// longer has the tokens of the entry.
void Bpe::merge_long(std::vector<std::int32_t>& symbols) {
  constexpr std::int32_t kGone = -1;
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Pair {
    PairTable::Merge merge;
    std::size_t left, right;
    std::int32_t left_token, right_token;
    bool operator>(const Pair& other) const {
      return merge.rank != other.merge.rank ? merge.rank > other.merge.rank : left > other.left;
    }
  };
  std::vector<std::size_t> before(symbols.size()), after(symbols.size());
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> queue;
  const auto offer = [&](std::size_t left, std::size_t right) {
    if (left == kNone || right == kNone) return;
    const auto merge = model_.merges.find(symbols[left], symbols[right]);
    if (merge.rank != PairTable::kNever)
      queue.push({merge, left, right, symbols[left], symbols[right]});
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    before[i] = i == 0 ? kNone : i - 1;
    after[i] = i + 1 == symbols.size() ? kNone : i + 1;
    offer(i, after[i]);
  }
  while (!queue.empty()) {
    const auto pair = queue.top();
    queue.pop();
    if (symbols[pair.left] != pair.left_token || symbols[pair.right] != pair.right_token ||
        after[pair.left] != pair.right)
      continue;
    symbols[pair.left] = pair.merge.token;
    symbols[pair.right] = kGone;
    after[pair.left] = after[pair.right];
    if (after[pair.left] != kNone) before[after[pair.left]] = pair.left;
    offer(before[pair.left], pair.left);
    offer(pair.left, after[pair.left]);
  }
  std::erase(symbols, kGone);
}

}  // namespace orch::tokenize
