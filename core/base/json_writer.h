#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orch {

// Writes indented JSON straight into a string: for documents that are written ten thousand times,
// where building a document first costs ten times as much. The caller keeps the nesting right and
// the keys plain: they are not escaped.
class JsonWriter {
 public:
  JsonWriter() { out_.reserve(2048); }

  JsonWriter& begin(std::string_view key = {});  // an object, under a key or at the top
  JsonWriter& end();
  JsonWriter& begin_list(std::string_view key);
  JsonWriter& end_list();
  JsonWriter& item(std::string_view text);  // an item of a list

  JsonWriter& field(std::string_view key, std::string_view text);
  JsonWriter& field(std::string_view key, const char* text) {
    return field(key, std::string_view(text));
  }
  JsonWriter& field(std::string_view key, std::int64_t number);
  JsonWriter& field(std::string_view key, double number);
  JsonWriter& field(std::string_view key, bool flag);
  JsonWriter& null(std::string_view key);

  // The document, with a line break at its end.
  std::string text() && { return std::move(out_) + "\n"; }

 private:
  void next();  // comma, line break, indentation
  void key(std::string_view name);
  void quote(std::string_view text);

  std::string out_;
  int depth_ = 0;
  bool first_ = true;
};

}  // namespace orch
