#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/base/text.h"

namespace orch::hardware {

// The problems of one file, collected while it is read.
struct Report {
  std::string file;
  Errors errors;
};

// A value of a YAML file that knows its place. What it cannot be read as, it reports.
class Field {
 public:
  Field(YAML::Node node, std::string path, int line, Report& report);

  std::string place() const;  // "file:12: partitions[1].gpu"
  void problem(std::string fact, std::string fix) const;
  void add(const Errors& errors) const;

  bool is_scalar() const { return node_.IsScalar(); }
  bool is_list() const { return node_.IsSequence(); }
  // Text that is not empty and, save for line ends and tabs, holds no control characters.
  std::optional<std::string> text() const;
  // Text as it stands, even empty; only NUL is refused.
  std::optional<std::string> verbatim() const;
  std::optional<std::int64_t> integer(std::int64_t min, std::int64_t max) const;
  std::optional<std::vector<Field>> list() const;
  std::vector<std::string> texts() const;  // of a list; "" for an item that is none

 private:
  friend class Map;
  std::string kind() const;

  YAML::Node node_;
  std::string path_;
  int line_;
  Report* report_;
};

// The entries of a map. A field that is none, and a key that is not a word or comes twice, are
// reported; looking further into such a field finds nothing and says nothing more. What it gives
// out lives as long as the map: of one that nobody holds, nothing can be asked.
class Map {
 public:
  struct Entry {
    std::string key;
    Field value;
  };

  explicit Map(const Field& field);
  Map(const Field& field, const std::vector<std::string>& known);  // reports unknown keys

  const std::vector<Entry>& entries() const& { return entries_; }
  const std::vector<Entry>& entries() const&& = delete;
  const Field* find(std::string_view key) const&;
  const Field* find(std::string_view key) const&& = delete;
  // Reports its absence, with the example as what to write.
  const Field* require(std::string_view key, std::string_view example) const&;
  const Field* require(std::string_view key, std::string_view example) const&& = delete;

 private:
  void read();

  Field field_;
  bool sound_ = false;
  std::vector<Entry> entries_;
};

// The one document of a string; nothing, and a report, if the text is not YAML or empty.
std::optional<Field> read_document(const std::string& text, Report& report);

// The text of a file that people write: a regular file of a sane size.
Result<std::string> read_yaml_file(const fs::path& file);

// A catalog of some files, each over what those behind it say.
template <class Catalog, class Parse>
Result<Catalog> read_over(const std::vector<fs::path>& files, const Parse& parse) {
  Catalog catalog;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const auto text = read_yaml_file(*file);
    if (!text) return text.error();
    auto read = parse(*text, printable(file->string()), catalog);
    if (!read) return read.error();
    catalog = std::move(*read);
  }
  return catalog;
}

}  // namespace orch::hardware
