#include "core/show/page/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orch::page {
namespace {

// At most the first N bytes, never cut in the middle of a character.
std::string_view first_bytes(std::string_view text, std::size_t longest) {
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0) == 0x80) --longest;
  return text.substr(0, longest);
}

// True for marks that change the direction of text (U+200E, U+200F, U+202A to U+202E, U+2066 to
// U+2069), line and paragraph separators (U+2028, U+2029), and characters that XML forbids (U+FFFE,
// U+FFFF).
bool is_unruly(unsigned code) {
  return code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFFFE || code == 0xFFFF;
}

// Replaces unruly characters, all of which have three bytes in UTF-8, by \uNNNN.
std::string ruly(std::string text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (byte(i) != 0xE2 && byte(i) != 0xEF) continue;
    const unsigned code =
        (byte(i) & 0x0Fu) << 12 | (byte(i + 1) & 0x3Fu) << 6 | (byte(i + 2) & 0x3Fu);
    if (is_unruly(code)) text.replace(i, 3, fmt::format("\\u{:04x}", code));
  }
  return text;
}

// Replaces each character for which `instead` returns a non-empty string.
template <class Instead>
std::string replaced(std::string_view text, Instead instead) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  auto from = text.begin();  // start of the part to copy next
  for (auto at = from; at != text.end(); ++at)
    if (const std::string_view other = instead(*at); !other.empty()) {
      out.append(from, at) += other;
      from = at + 1;
    }
  return out.append(from, text.end());
}

std::string_view in_html(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string clean(std::string_view text, std::size_t longest) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  const bool is_long = text.size() > longest;
  if (!is_long && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  if (is_long) text = first_bytes(text, longest);
  std::string out;
  const auto breaks = [](char c) { return c == '\n' || c == '\t'; };
  for (auto from = text.begin(); from != text.end();) {
    const auto end = std::find_if(from, text.end(), breaks);
    out += printable({from, end});
    from = std::find_if_not(end, text.end(), breaks);
    out.append(end, from);
  }
  out = ruly(std::move(out));
  return is_long ? out + "…" : out;
}

std::string escape(std::string_view text, std::size_t longest) {
  return replaced(clean(text, longest), in_html);
}

std::string for_script(std::string_view json) {
  return replaced(json, [](char c) -> std::string_view {
    return c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : "";
  });
}

std::string shown(std::optional<double> number) {
  return number && std::isfinite(*number) ? format_number(*number) : std::string();
}

std::string days_text(double days) {
  constexpr double kShort = 0.1;
  return days < kShort ? format_seconds(days * kDay) : shown(days) + " days";
}

}  // namespace orch::page
