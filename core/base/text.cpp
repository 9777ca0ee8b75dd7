#include "core/base/text.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/base/utf8.h"

namespace orch {
namespace {

// The number of letters to insert, delete, replace or swap with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);  // the rows of a[..i-2], i-1 and i
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// C0, DEL, and C1 (U+0080 to U+009F), which terminals obey as well; and the Unicode characters that
// change the writing direction, so that a line would read as something else.
bool is_control(char32_t code) {
  const bool turns = code == 0x061c || code == 0x200e || code == 0x200f ||
                     (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || turns;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const auto distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  if (best) return *best;
  for (const auto& candidate : candidates)
    if (word.size() >= 3 && candidate.find(word) != std::string::npos) return candidate;
  return std::nullopt;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  if (const auto near = nearest(word, candidates)) return "did you mean '" + *near + "'?";
  return candidates.empty() ? "" : "one of: " + join(candidates, ", ");
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

std::string and_list(std::span<const std::string> parts) {
  if (parts.size() < 2) return join(parts, "");
  return join(parts.first(parts.size() - 1), ", ") + " and " + parts.back();
}

std::string first_of(std::span<const std::string> names, std::size_t most) {
  const auto shown = std::min(names.size(), most);
  const auto out = join(names.first(shown), ", ");
  return shown == names.size() ? out
                               : out + " and " + std::to_string(names.size() - shown) + " more";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= text.size()) {
    const auto end = std::min(text.find(separator, start), text.size());
    parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string without_numbers(std::string_view text) {
  const auto is_digit = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool number = out.ends_with('#');
    if (is_digit(i)) {
      if (!number) out += '#';
    } else if (number && (c == '.' || c == ',') && is_digit(i + 1)) {
      continue;
    } else if (number && c == ' ' && i + 2 < text.size() && text[i + 2] == 'B' &&
               std::string_view("kMGTP").find(text[i + 1]) != std::string_view::npos) {
      out += " ";  // and the "B"
      ++i;
    } else {
      out += c;
    }
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string shell_quote(std::string_view text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-./:=,@+").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

namespace {

// The length of the variable name that begins a string: letters, digits and '_', no digit first.
std::size_t name_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() &&
         (text[length] == '_' ||
          (length == 0 ? std::isalpha(static_cast<unsigned char>(text[length]))
                       : std::isalnum(static_cast<unsigned char>(text[length])))))
    ++length;
  return length;
}

}  // namespace

std::optional<std::string> shell_expand(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' || text[i] == '\\' || text[i] == '`') {
      (out += '\\') += text[i];
    } else if (text[i] != '$') {
      out += text[i];
    } else if (text.substr(i + 1).starts_with('$')) {
      out += "\\$";
      ++i;
    } else {
      const bool braces = text.substr(i + 1).starts_with('{');
      const auto rest = text.substr(i + 1 + (braces ? 1 : 0));
      const auto length = name_length(rest);
      if (length == 0 || (braces && !rest.substr(length).starts_with('}'))) return std::nullopt;
      // In braces, so that the text behind it does not become part of the name.
      ((out += "${") += rest.substr(0, length)) += '}';
      i += length + (braces ? 2 : 0);
    }
  }
  return out + '"';
}

std::string printable(std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const auto next = first_character(text);
    if (next && !is_control(next->code)) {
      out += text.substr(0, next->bytes);
      text.remove_prefix(next->bytes);
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(text[0]));
      out += code;
      text.remove_prefix(1);
    }
  }
  return out;
}

bool is_plain_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestName || text[0] == '-' || text[0] == '.') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  });
}

// Reads eight bytes at a time as a little-endian integer: FNV's multiplication with a rotation, so
// that high bits affect the low ones, and MurmurHash3's finisher.
unsigned long long stable_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull ^ text.size();
  for (std::size_t i = 0; i < text.size(); i += 8) {
    std::uint64_t word = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&word, text.data() + i, std::min<std::size_t>(8, text.size() - i));
    } else {
      for (std::size_t j = 0; j < 8 && i + j < text.size(); ++j)
        word |= std::uint64_t{static_cast<unsigned char>(text[i + j])} << (8 * j);
    }
    hash = std::rotl((hash ^ word) * 0x9e3779b97f4a7c15ull, 29);
  }
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 33);
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace orch
