#include "core/record/ingest/prefix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/base/date.h"
#include "core/record/ingest/number.h"

namespace orch::ingest {
namespace {

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

bool has_form(std::string_view text, std::string_view form) {
  if (text.size() < form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool fits = form[i] == 'd'   ? is_digit(text[i])
                      : form[i] == ' ' ? text[i] == ' ' || text[i] == 'T'
                                       : text[i] == form[i];
    if (!fits) return false;
  }
  return true;
}

constexpr std::string_view kIso = "dddd-dd-dd dd:dd:dd", kAmerican = "dd/dd/dddd dd:dd:dd";
static_assert(kIso.size() == kAmerican.size());

// True if "2024-05-01 12:00:00" or "05/01/2024 12:00:00" is at the front.
bool is_stamp(std::string_view text) { return has_form(text, kIso) || has_form(text, kAmerican); }

// The length of the time stamp at the front, including its fraction.
std::size_t stamp_size(std::string_view text) {
  auto size = kIso.size();
  const bool fraction = size + 1 < text.size() && (text[size] == '.' || text[size] == ',') &&
                        is_digit(text[size + 1]);
  if (!fraction) return size;
  for (++size; size < text.size() && is_digit(text[size]);) ++size;
  return size;
}

// The length of a time zone behind a time stamp: "Z" or "+02:00".
std::size_t zone(std::string_view text) {
  if (text.starts_with('Z')) return 1;
  if (!text.starts_with('+') && !text.starts_with('-')) return 0;
  std::size_t size = 1;
  while (size < text.size() && size < 6 && (is_digit(text[size]) || text[size] == ':')) ++size;
  return size >= 5 ? size : 0;
}

// The length of a label in brackets, 0 if there is none: "[default7]:", "[rank3]:", "[3]<stdout>:",
// "[1,3]<stderr>:".
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

// The length of a label such as "3: " or "node12: ", 0 if there is none. A time (12:00:05) is not a
// label.
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

// The length of one prefix at the front of the text, including leading blanks; 0 if there is none.
std::size_t one(std::string_view text, Prefix& out) {
  std::size_t blanks = 0;
  while (blanks < text.size() && is_blank(text[blanks])) ++blanks;
  const auto rest = text.substr(blanks);
  if (rest.empty()) return 0;
  std::size_t size = 0;
  const char first = rest.front();
  if (first == '>') {
    size = blanks == 0 && rest.size() > 1 && rest[1] == ' ' ? 2 : 0;  // a quoted line
  } else if (first == '[') {
    if (is_stamp(rest.substr(1))) {
      const auto close = rest.find(']');
      if (close != std::string_view::npos && close < 40) {
        out.stamp = rest.substr(1, std::min(stamp_size(rest.substr(1)), kLongestStamp));
        size = close + 1;
      }
    } else {
      size = bracket_label(rest, out.label);
    }
  } else if (is_digit(first) && is_stamp(rest)) {
    size = stamp_size(rest);
    out.stamp = rest.substr(0, std::min(size, kLongestStamp));
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
  const auto two = [&](std::size_t at) { return (stamp[at] - '0') * 10 + (stamp[at + 1] - '0'); };
  std::string day(stamp.substr(0, 10));
  if (stamp[2] == '/') {
    const bool month_first = two(0) <= 12;
    day = std::string(stamp.substr(6, 4)) + "-" +
          std::string(stamp.substr(month_first ? 0 : 3, 2)) + "-" +
          std::string(stamp.substr(month_first ? 3 : 0, 2));
  }
  const auto date = parse_date(day);
  if (!date) return 0;
  double fraction = 0, place = 1;
  for (auto at = kIso.size() + 1; at < stamp_size(stamp); ++at)
    fraction += (stamp[at] - '0') * (place /= 10);
  return static_cast<double>(date->time_since_epoch().count()) * 86400.0 + two(11) * 3600.0 +
         two(14) * 60.0 + two(17) + fraction;
}

double tick_of(std::string_view stamp) {
  if (!is_stamp(stamp) || stamp_size(stamp) == kIso.size()) return 1;
  return std::pow(10.0, -static_cast<double>(stamp_size(stamp) - kIso.size() - 1));
}

}  // namespace orch::ingest
