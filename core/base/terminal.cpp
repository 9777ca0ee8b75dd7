#include "core/base/terminal.h"

#include <algorithm>

#include "core/base/text.h"

namespace orch {
namespace {

// Length in bytes of the colour code (ECMA-48 "SGR") with which the text begins; 0 if there is
// none.
std::size_t color_code(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const auto end = text.find_first_not_of("0123456789;", 2);
  return end < text.size() && text[end] == 'm' ? end + 1 : 0;
}

// True for all but printable ASCII, line breaks and tabs.
bool is_odd(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 || byte > 0x7e) && c != '\n' && c != '\t';
}

}  // namespace

std::string printable_lines(std::string_view text, bool colors) {
  std::string out;
  out.reserve(text.size());
  const auto take = [&](std::size_t bytes) {
    const auto taken = text.substr(0, bytes);
    text.remove_prefix(bytes);
    return taken;
  };
  while (!text.empty()) {
    const auto odd = std::find_if(text.begin(), text.end(), is_odd);
    out += take(static_cast<std::size_t>(odd - text.begin()));
    if (text.empty()) break;
    if (const auto code = colors ? color_code(text) : 0; code > 0) {
      out += take(code);
      continue;
    }
    const auto end = std::find_if(text.begin() + 1, text.end(),
                                  [](char c) { return !is_odd(c) || c == '\033'; });
    out += printable(take(static_cast<std::size_t>(end - text.begin())));
  }
  return out;
}

}  // namespace orch
