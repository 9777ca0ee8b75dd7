#include "core/ingest/prefix.h"

#include <array>

#include "core/base/date.h"
#include "core/ingest/number.h"

namespace orch::ingest {
namespace {

using number_detail::is_digit;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

constexpr std::array<bool, 256> make_host_characters() {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (const char c : {'-', '.', '_'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr auto kHostCharacters = make_host_characters();

bool is_host_character(char c) { return kHostCharacters[static_cast<unsigned char>(c)]; }

// "2024-05-01 12:00:00" at the front.
bool is_stamp(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-dd dd:dd:dd";
  if (text.size() < kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool fits = kForm[i] == 'd'   ? is_digit(text[i])
                      : kForm[i] == ' ' ? text[i] == ' ' || text[i] == 'T'
                                        : text[i] == kForm[i];
    if (!fits) return false;
  }
  return true;
}

// "Z" and "+02:00" behind a stamp: how many characters.
std::size_t zone(std::string_view text) {
  if (text.starts_with('Z')) return 1;
  if (!text.starts_with('+') && !text.starts_with('-')) return 0;
  std::size_t size = 1;
  while (size < text.size() && size < 6 && (is_digit(text[size]) || text[size] == ':')) ++size;
  return size >= 5 ? size : 0;
}

// "[default7]:", "[rank3]:", "[3]<stdout>:", "[1,3]<stderr>:": how many characters; 0: none.
std::size_t bracket_label(std::string_view text, std::string_view& label) {
  const auto close = text.find(']');
  if (close == std::string_view::npos || close > 40) return 0;
  const auto inside = text.substr(1, close - 1);
  auto rest = text.substr(close + 1);
  const auto digits = inside.find_first_of("0123456789");
  if (digits == std::string_view::npos) return 0;
  const auto word = inside.substr(0, digits);
  if (word == "default" || word == "rank") {
    if (!rest.starts_with(':')) return 0;
    label = inside;
    return close + 2;
  }
  if (!word.empty() || !rest.starts_with("<std")) return 0;
  const auto end = rest.find(">:");
  if (end == std::string_view::npos || end > 8) return 0;
  label = inside;
  return close + 1 + end + 2;
}

// "3: " and "node12: ": how many characters; 0: none. A time (12:00:05) is none.
std::size_t colon_label(std::string_view text, std::string_view& label) {
  std::size_t end = 0;
  bool digit = false;
  while (end < text.size() && end < 64 && is_host_character(text[end]))
    digit |= is_digit(text[end++]);
  if (end == 0 || !digit || end >= text.size() || text[end] != ':') return 0;
  if (end + 1 < text.size() && !is_blank(text[end + 1])) return 0;
  label = text.substr(0, end);
  return end + (end + 1 < text.size() ? 2 : 1);
}

// One prefix at the front of the text, blanks before it included; 0: none.
std::size_t one(std::string_view text, Prefix& out) {
  std::size_t blanks = 0;
  while (blanks < text.size() && is_blank(text[blanks])) ++blanks;
  const auto rest = text.substr(blanks);
  if (rest.empty()) return 0;
  std::size_t size = 0;
  const char first = rest.front();
  if (first == '>') {
    size = blanks == 0 && rest.size() > 1 && rest[1] == ' ' ? 2 : 0;  // quoted
  } else if (first == '[') {
    if (is_stamp(rest.substr(1))) {
      const auto close = rest.find(']');
      if (close != std::string_view::npos && close < 40) {
        out.stamp = rest.substr(1, 19);
        size = close + 1;
      }
    } else {
      size = bracket_label(rest, out.label);
    }
  } else if (is_digit(first) && is_stamp(rest)) {
    out.stamp = rest.substr(0, 19);
    size = 19;
    while (size < rest.size() && (is_digit(rest[size]) || rest[size] == '.' || rest[size] == ','))
      ++size;
    size += zone(rest.substr(size));
  } else if (is_host_character(first)) {
    size = colon_label(rest, out.label);
  }
  return size == 0 ? 0 : blanks + size;
}

}  // namespace

Prefix read_prefix(std::string_view line) {
  Prefix out;
  for (int i = 0; i < 4; ++i) {
    const auto size = one(line.substr(out.begin), out);
    if (size == 0) break;
    out.begin += size;
  }
  return out;
}

double seconds_of(std::string_view stamp) {
  if (!is_stamp(stamp)) return 0;
  const auto day = parse_date(stamp.substr(0, 10));
  if (!day) return 0;
  const auto two = [&](std::size_t at) { return (stamp[at] - '0') * 10 + (stamp[at + 1] - '0'); };
  return static_cast<double>(day->time_since_epoch().count()) * 86400.0 + two(11) * 3600.0 +
         two(14) * 60.0 + two(17);
}

}  // namespace orch::ingest
