#include "core/plan/lua/source.h"

#include <algorithm>
#include <cctype>

#include "core/base/utf8.h"

namespace orch::lua {
namespace {

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
