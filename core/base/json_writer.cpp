#include "core/base/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace orch {

void JsonWriter::next() {
  if (!first_) out_ += ',';
  first_ = false;
  if (depth_ == 0) return;
  out_ += '\n';
  out_.append(static_cast<std::size_t>(2 * depth_), ' ');
}

void JsonWriter::quote(std::string_view text) {
  const auto special = [](char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
  };
  out_ += '"';
  while (true) {
    const auto plain = std::find_if(text.begin(), text.end(), special);
    const auto length = static_cast<std::size_t>(plain - text.begin());
    out_.append(text, 0, length);
    if (length == text.size()) break;
    if (*plain == '"' || *plain == '\\')
      out_.append({'\\', *plain});
    else
      fmt::format_to(std::back_inserter(out_), "\\u{:04x}", static_cast<unsigned char>(*plain));
    text.remove_prefix(length + 1);
  }
  out_ += '"';
}

void JsonWriter::key(std::string_view name) {
  next();
  if (name.empty()) return;
  out_ += '"';
  out_ += name;
  out_ += "\": ";
}

JsonWriter& JsonWriter::begin(std::string_view name) {
  key(name);
  out_ += '{';
  ++depth_;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end() {
  --depth_;
  if (!first_) {
    out_ += '\n';
    out_.append(static_cast<std::size_t>(2 * depth_), ' ');
  }
  out_ += '}';
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::begin_list(std::string_view name) {
  key(name);
  out_ += '[';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end_list() {
  out_ += ']';
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::item(std::string_view text) {
  if (!first_) out_ += ", ";
  first_ = false;
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::field(std::string_view name, std::string_view text) {
  key(name);
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::field(std::string_view name, std::int64_t number) {
  key(name);
  out_ += fmt::format_int(number).c_str();
  return *this;
}

JsonWriter& JsonWriter::field(std::string_view name, double number) {
  key(name);
  fmt::format_to(std::back_inserter(out_), "{}", number);  // the shortest that reads back equal
  return *this;
}

JsonWriter& JsonWriter::field(std::string_view name, bool flag) {
  key(name);
  out_ += flag ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::null(std::string_view name) {
  key(name);
  out_ += "null";
  return *this;
}

}  // namespace orch
