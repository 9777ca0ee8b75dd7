#include "core/train/tokenize/normalize.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/base/utf8.h"

namespace orch::tokenize {
namespace {

struct Combining {
  char32_t first, last;
  std::uint8_t kind;
};
struct Decomposition {
  char32_t code, first, second;
  bool composes;
};
#include "core/train/tokenize/unicode_tables.inc"

// Hangul is computed (The Unicode Standard, 3.12).
constexpr char32_t kL = 0x1100, kV = 0x1161, kT = 0x11a7, kSyllables = 0xac00;
constexpr char32_t kLs = 19, kVs = 21, kTs = 28;

int combining_class(char32_t code) {
  const auto* found =
      std::lower_bound(std::begin(kCombining), std::end(kCombining), code,
                       [](const Combining& range, char32_t c) { return range.last < c; });
  return found != std::end(kCombining) && found->first <= code ? found->kind : 0;
}

struct Character {
  char32_t code;
  int kind;
};
using Characters = std::vector<Character>;

void decompose(char32_t code, Characters& to) {
  if (code >= kSyllables && code < kSyllables + kLs * kVs * kTs) {
    const auto i = code - kSyllables;
    to.push_back({kL + i / (kVs * kTs), 0});
    to.push_back({kV + i / kTs % kVs, 0});
    if (i % kTs != 0) to.push_back({kT + i % kTs, 0});
    return;
  }
  const auto* found =
      std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), code,
                       [](const Decomposition& entry, char32_t c) { return entry.code < c; });
  if (found == std::end(kDecompositions) || found->code != code)
    return to.push_back({code, combining_class(code)});
  decompose(found->first, to);
  if (found->second != 0) decompose(found->second, to);
}

// Marks that do not touch each other, by their class.
void reorder(Characters& text) {
  for (auto from = text.begin(); from != text.end();) {
    if (from->kind == 0) {
      ++from;
      continue;
    }
    const auto to = std::find_if(from, text.end(), [](auto& c) { return c.kind == 0; });
    std::stable_sort(from, to, [](auto& a, auto& b) { return a.kind < b.kind; });
    from = to;
  }
}

const std::unordered_map<std::uint64_t, char32_t>& compositions() {
  static const auto made = [] {
    std::unordered_map<std::uint64_t, char32_t> out;
    for (const auto& entry : kDecompositions)
      if (entry.composes)
        out[static_cast<std::uint64_t>(entry.first) << 32 | entry.second] = entry.code;
    return out;
  }();
  return made;
}

// 0: they do not.
char32_t compose(char32_t first, char32_t second) {
  if (first >= kL && first < kL + kLs && second >= kV && second < kV + kVs)
    return kSyllables + ((first - kL) * kVs + (second - kV)) * kTs;
  if (first >= kSyllables && first < kSyllables + kLs * kVs * kTs &&
      (first - kSyllables) % kTs == 0 && second > kT && second < kT + kTs)
    return first + (second - kT);
  const auto found = compositions().find(static_cast<std::uint64_t>(first) << 32 | second);
  return found == compositions().end() ? 0 : found->second;
}

// Each character with the last starter before it, unless another one of its class or a higher one
// stands between them.
void compose(Characters& text) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t starter = kNone, size = 0;
  int between = -1;
  for (const auto next : text) {
    const char32_t made =
        starter != kNone && between < next.kind ? compose(text[starter].code, next.code) : 0;
    if (made != 0) {
      text[starter].code = made;
      continue;
    }
    between = next.kind;
    if (next.kind == 0) {
      starter = size;
      between = -1;
    }
    text[size++] = next;
  }
  text.resize(size);
}

}  // namespace

// Below U+0300 nothing combines; above it the first byte is 0xcc or more.
bool surely_nfc(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) >= 0xcc; });
}

std::string to_nfc(std::string_view text) {
  Characters characters;
  while (const auto next = first_character(text)) {
    decompose(next->code, characters);
    text.remove_prefix(next->bytes);
  }
  reorder(characters);
  compose(characters);
  std::string out;
  for (const auto& character : characters) append_utf8(character.code, out);
  return out;
}

}  // namespace orch::tokenize
