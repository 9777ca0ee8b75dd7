#include "core/show/page/text.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orch::page {
namespace {

// Not in the middle of a character.
std::string_view first_bytes(std::string_view text, std::size_t longest) {
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0) == 0x80) --longest;
  return text.substr(0, longest);
}

// Marks that turn the text around them (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), line
// and paragraph separators (U+2028, U+2029), and what XML forbids (U+FFFE, U+FFFF).
bool is_unruly(unsigned code) {
  return code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFFFE || code == 0xFFFF;
}

// The same text with those as \uNNNN. All of them are characters of three bytes.
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

}  // namespace

std::string clean(std::string_view text, std::size_t longest) {
  const bool is_long = text.size() > longest;
  if (is_long) text = first_bytes(text, longest);
  std::string out;
  for (std::size_t from = 0; from <= text.size();) {
    const auto end = std::min(text.find_first_of("\n\t", from), text.size());
    out += printable(text.substr(from, end - from));
    if (end < text.size()) out += text[end];
    from = end + 1;
  }
  out = ruly(std::move(out));
  return is_long ? out + "…" : out;
}

std::string escape(std::string_view text, std::size_t longest) {
  std::string out;
  for (const char c : clean(text, longest)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string for_script(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  for (const char c : json) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string shown(std::optional<double> number) {
  return number && std::isfinite(*number) ? format_number(*number) : std::string();
}

}  // namespace orch::page
