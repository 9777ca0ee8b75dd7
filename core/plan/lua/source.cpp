#include "core/plan/lua/source.h"

#include <algorithm>
#include <cctype>

namespace orch::lua {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// How many bytes the UTF-8 character at the front takes; 0 if it is not one. Overlong forms and
// surrogates do not count as UTF-8.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool second = follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf);
    return second && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool second = follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

std::size_t valid_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto size = character_size(text.substr(at));
    if (size == 0) break;
    at += size;
  }
  return at;
}

std::string line_place(std::string_view before, const std::string& file) {
  return file + ":" + std::to_string(1 + std::count(before.begin(), before.end(), '\n'));
}

}  // namespace

Status check_source(std::string_view text, const std::string& file) {
  const char* fix = "give a file in plain text";
  if (text.starts_with('\x1b')) return Error{file, "this is Lua bytecode, not text", fix};
  if (text.find('\0') != std::string_view::npos)
    return Error{file, "this is a binary file, not text", fix};
  const auto valid = valid_prefix(text);
  if (valid < text.size())
    return Error{line_place(text.substr(0, valid), file), "not UTF-8", "save the file as UTF-8"};
  return {};
}

std::string_view without_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

Located locate(std::string_view message, std::string_view short_name, const std::string& file) {
  if (short_name.empty() || !message.starts_with(short_name)) return {"", std::string(message)};
  auto rest = message.substr(short_name.size());
  if (!rest.starts_with(':')) return {"", std::string(message)};
  std::size_t end = 1;
  while (end < rest.size() && std::isdigit(static_cast<unsigned char>(rest[end]))) ++end;
  if (end == 1 || rest.substr(end, 2) != ": ") return {"", std::string(message)};
  return {file + std::string(rest.substr(0, end)), std::string(rest.substr(end + 2))};
}

}  // namespace orch::lua
