#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "core/base/counter_random.h"
#include "core/base/json_fields.h"

namespace orch::fuzz {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLargest = std::size_t{1}
                                 << 17;  // inputs are small: time and memory are limited

const char* const kNumbers[] = {"0",
                                "-0",
                                "-1",
                                "1",
                                "2",
                                "1e308",
                                "-1e308",
                                "1e-308",
                                "1e999",
                                "nan",
                                "inf",
                                "-inf",
                                "0.1",
                                "127",
                                "255",
                                "65536",
                                "2147483647",
                                "2147483648",
                                "-2147483648",
                                "4294967296",
                                "9007199254740993",
                                "9223372036854775807",
                                "-9223372036854775808",
                                "18446744073709551615",
                                "1e18",
                                "0x10",
                                "1e",
                                "007"};
const char* const kTexts[] = {"",     " ",    "\n",       "\r\n", "\t",      "\x1b[31m",
                              "\x07", "\x7f", "\xc2\x9b", "\xff", "\xc3",    "\xef\xbb\xbf",
                              "\"",   "'",    "\\",       "%s%n", "../../x", "/dev/zero",
                              "{}",   "[]",   "[[[[",     "null", "true",    "<script>",
                              "{{",   "}}",   "=",        ",",    ":",       "*",
                              "|"};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
         c == '+';
}

// The next word from there on: [begin, end).
std::pair<std::size_t, std::size_t> next_word(const std::string& text, std::size_t from) {
  while (from > 0 && is_word(text[from - 1]) && from < text.size() && is_word(text[from])) --from;
  while (from < text.size() && !is_word(text[from])) ++from;
  auto end = from;
  while (end < text.size() && is_word(text[end])) ++end;
  return {from, end};
}

void collect(Json& json, std::vector<Json*>& nodes) {
  nodes.push_back(&json);
  if (json.is_structured())
    for (auto& item : json) collect(item, nodes);
}

}  // namespace

// The source of an input's random numbers.
class Mutator::Dice {
 public:
  explicit Dice(std::uint64_t key) : key_(key) {}
  std::uint64_t bits() { return counter_random::bits(key_, count_++); }
  std::size_t below(std::size_t most) {
    return most == 0 ? 0 : static_cast<std::size_t>(bits() % most);
  }
  bool once_in(std::size_t times) { return below(times) == 0; }
  // Mostly short.
  std::size_t length(std::size_t most) {
    return std::min(most, below(std::size_t{1} << below(10)) + 1);
  }
  template <class List>
  auto& of(List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::uint64_t key_, count_ = 0;
};

Mutator::Mutator(std::vector<Input> seeds) : seeds_(std::move(seeds)) {
  std::set<std::string> words;
  for (const auto& seed : seeds_)
    for (const auto& part : seed)
      for (std::size_t at = 0; at < std::min(part.bytes.size(), kLargest) && words.size() < 5000;) {
        const auto [begin, end] = next_word(part.bytes, at);
        if (end > begin && end - begin < 40) words.insert(part.bytes.substr(begin, end - begin));
        at = end + 1;
      }
  words_.assign(words.begin(), words.end());
}

const std::string& Mutator::word(Dice& dice) const {
  static const std::vector<std::string> numbers(std::begin(kNumbers), std::end(kNumbers));
  static const std::vector<std::string> texts(std::begin(kTexts), std::end(kTexts));
  const auto which = dice.below(4);
  return which == 0 || words_.empty() ? dice.of(numbers)
         : which == 1                 ? dice.of(texts)
                                      : dice.of(words_);
}

void Mutator::change_word(std::string& text, Dice& dice) const {
  for (int tries = 0; tries < 4; ++tries) {
    const auto [begin, end] = next_word(text, dice.below(text.size() + 1));
    const bool number = begin < end && std::isdigit(static_cast<unsigned char>(text[begin]));
    if (tries < 3 && !number && dice.once_in(2)) continue;  // numbers have the most effect
    text.replace(begin, end - begin,
                 number && !dice.once_in(4) ? std::string(dice.of(kNumbers)) : word(dice));
    return;
  }
}

// Changes a document, or one line of many: another value, a member removed, doubled, or nested in
// another.
bool Mutator::change_json(std::string& text, Dice& dice) const {
  auto begin = std::size_t{0}, end = text.size();
  auto json = parse_json<Json>(text);
  if (json.is_discarded() && text.find('\n') != std::string::npos) {
    begin = text.rfind('\n', dice.below(text.size()));
    begin = begin == std::string::npos ? 0 : begin + 1;
    end = std::min(text.find('\n', begin), text.size());
    json = parse_json<Json>(std::string_view(text).substr(begin, end - begin));
  }
  if (!json.is_structured()) return false;
  std::vector<Json*> nodes;
  collect(json, nodes);
  auto& node = *dice.of(nodes);
  switch (dice.below(6)) {
    case 0: {
      auto value = parse_json<Json>(dice.of(kNumbers));
      node = value.is_discarded() ? Json(-1) : value;
      break;
    }
    case 1:
      node = word(dice);
      break;
    case 2: {
      const Json other = *dice.of(nodes);
      node = other;
      break;
    }
    case 3:
      if (node.is_structured() && !node.empty()) {
        auto place = node.begin();
        std::advance(place, static_cast<std::ptrdiff_t>(dice.below(node.size())));
        node.erase(place);
      } else {
        node = nullptr;
      }
      break;
    case 4:
      if (node.is_array() && !node.empty()) {
        const Json other = node[dice.below(node.size())];
        node.push_back(other);
      } else if (node.is_object()) {
        const Json other = *dice.of(nodes);
        node[word(dice)] = other;
      }
      break;
    default:
      node = Json::array({node});
  }
  text.replace(begin, end - begin,
               json.dump(begin > 0 || end < text.size() ? -1 : 1, ' ', false,
                         Json::error_handler_t::replace));
  return true;
}

void Mutator::change(std::string& text, const InputPart& other, Dice& dice) const {
  const auto at = dice.below(text.size() + 1);
  const auto length = dice.length(text.size() - at);
  switch (dice.below(14)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << dice.below(8)));
      break;
    case 1:
      if (at < text.size()) text[at] = static_cast<char>(dice.bits());
      break;
    case 2:
      text.erase(at, length);
      break;
    case 3:
      text.insert(dice.below(text.size() + 1), text.substr(at, length));
      break;
    case 4: {  // repeated many times
      const auto piece = text.substr(at, length);
      std::string many;
      for (auto times = dice.length(2000); times > 0 && many.size() < kLargest / 4; --times)
        many += piece;
      text.insert(at, many);
      break;
    }
    case 5:
      text.insert(at, word(dice));
      break;
    case 6:
      text = text.substr(0, at) + other.bytes.substr(dice.below(other.bytes.size() + 1));
      break;
    case 7: {
      const auto from = dice.below(other.bytes.size() + 1);
      text.insert(at, other.bytes.substr(from, dice.length(other.bytes.size() - from)));
      break;
    }
    case 8:
      if (dice.once_in(4)) text.resize(at);
      break;
    case 9:  // eight bytes, like numbers in binary files
      for (std::size_t i = at, value = dice.bits() >> dice.below(64);
           i < std::min(at + 8, text.size()); ++i)
        text[i] = static_cast<char>(value >> (8 * (i - at)));
      break;
    default:
      if (dice.once_in(3) || !change_json(text, dice)) change_word(text, dice);
  }
  if (text.size() > kLargest) text.resize(kLargest);
}

void Mutator::change(Input& input, Dice& dice) const {
  auto& part = dice.of(input);
  const auto& other = dice.of(dice.of(seeds_));
  if (input.size() > 1 && dice.once_in(40)) {
    input.erase(input.begin() + (&part - input.data()));
    return;
  }
  change(part.bytes, other, dice);
}

Input Mutator::make(std::uint64_t seed, std::uint64_t n) const {
  if (n < seeds_.size()) return seeds_[n];
  Dice dice(counter_random::combine(seed, n));
  auto input = dice.of(seeds_);
  for (auto times = std::size_t{1} << dice.below(4); times > 0; --times) change(input, dice);
  return input;
}

}  // namespace orch::fuzz
