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

// The problems of one file, collected while reading.
struct YamlReport {
  std::string file;
  Errors errors;
};

// A value of a YAML file that knows its place. A failed conversion is added to the report.
class YamlField {
 public:
  YamlField(YAML::Node node, std::string path, int line, YamlReport& report);

  std::string place() const;  // "file:12: partitions[1].gpu"
  void problem(std::string fact, std::string fix) const;
  void add(const Errors& errors) const;

  bool is_scalar() const { return node_.IsScalar(); }
  bool is_list() const { return node_.IsSequence(); }
  // Non-empty text without control characters except line ends and tabs.
  std::optional<std::string> text() const;
  // Text verbatim, even empty; only NUL is refused.
  std::optional<std::string> verbatim() const;
  std::optional<std::int64_t> integer(std::int64_t min, std::int64_t max) const;
  std::optional<std::vector<YamlField>> list() const;
  std::vector<std::string> texts() const;  // of a list; "" for an item that is not text

 private:
  friend class Map;
  std::string kind() const;

  YAML::Node node_;
  std::string path_;
  int line_;
  YamlReport* report_;
};

// The entries of a map. If the field is not a map, or a key is not a word or occurs twice, that is
// reported; lookups in such a field find nothing and report nothing more. Returned pointers live as
// long as the map, so a temporary map cannot be asked.
class Map {
 public:
  struct Entry {
    std::string key;
    YamlField value;
  };

  explicit Map(const YamlField& field);
  Map(const YamlField& field, const std::vector<std::string>& known);  // reports unknown keys

  const std::vector<Entry>& entries() const& { return entries_; }
  const std::vector<Entry>& entries() const&& = delete;
  const YamlField* find(std::string_view key) const&;
  const YamlField* find(std::string_view key) const&& = delete;
  // If it is missing, reports that, with the example of what to write.
  const YamlField* require(std::string_view key, std::string_view example) const&;
  const YamlField* require(std::string_view key, std::string_view example) const&& = delete;

 private:
  void read();

  YamlField field_;
  bool sound_ = false;
  std::vector<Entry> entries_;
};

// The only document of a string; nothing, with a report, if the text is empty or not YAML.
std::optional<YamlField> read_document(const std::string& text, YamlReport& report);

// Reads a file written by people: a regular file of limited size.
Result<std::string> read_yaml_file(const fs::path& file);

// Merges the catalogs of some files; earlier files override later ones.
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
