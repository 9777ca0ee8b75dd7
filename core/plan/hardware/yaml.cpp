#include "core/plan/hardware/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "core/base/text.h"

namespace orch::hardware {
namespace {

constexpr std::uintmax_t kLargestFile = 4 << 20;

int line_of(const YAML::Mark& mark) { return mark.is_null() ? 1 : mark.line + 1; }

std::string joined(const std::string& path, const std::string& key) {
  return path.empty() ? printable(key) : path + "." + printable(key);
}

bool is_clean(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
  });
}

// Counts documents and remembers the line of the last one.
class DocumentCounter : public YAML::EventHandler {
 public:
  int count() const { return count_; }
  int line() const { return line_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    ++count_;
    line_ = line_of(mark);
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int count_ = 0;
  int line_ = 1;
};

// YAML::Load reads the first document and silently drops the rest; LoadAll finds documents
// endlessly after a stray comma. So check for a second document and read no further.
std::optional<int> line_of_second_document(const std::string& text, const YAML::Node& first) {
  // After a map in block style, anything but a document marker is a syntax error: no need to read
  // twice.
  if (first.IsMap() && first.Style() == YAML::EmitterStyle::Block &&
      text.find("\n---") == std::string::npos && text.find("\n...") == std::string::npos)
    return std::nullopt;
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentCounter counter;
  while (counter.count() < 2 && parser.HandleNextDocument(counter)) {
  }
  return counter.count() < 2 ? std::nullopt : std::optional(counter.line());
}

}  // namespace

YamlField::YamlField(YAML::Node node, std::string path, int line, YamlReport& report)
    : node_(std::move(node)), path_(std::move(path)), line_(line), report_(&report) {}

std::string YamlField::place() const {
  const auto file = fmt::format("{}:{}", report_->file, line_);
  return path_.empty() ? file : file + ": " + path_;
}

void YamlField::problem(std::string fact, std::string fix) const {
  report_->errors.push_back({place(), std::move(fact), std::move(fix)});
}

void YamlField::add(const Errors& errors) const {
  report_->errors.insert(report_->errors.end(), errors.begin(), errors.end());
}

std::string YamlField::kind() const {
  if (node_.IsMap()) return "a map";
  if (node_.IsSequence()) return "a list";
  if (node_.IsScalar()) return "a single value";
  return "nothing";
}

std::optional<std::string> YamlField::verbatim() const {
  if (!node_.IsScalar()) {
    problem(kind() + " where text belongs", "give one value, or leave the key out");
    return std::nullopt;
  }
  if (node_.Scalar().find('\0') != std::string::npos) {
    problem("holds a NUL character", "remove it");
    return std::nullopt;
  }
  return node_.Scalar();
}

std::optional<std::string> YamlField::text() const {
  auto value = verbatim();
  if (!value) return std::nullopt;
  if (trim(*value).empty()) {
    problem("is empty", "give a value, or leave the key out");
    return std::nullopt;
  }
  if (!is_clean(*value)) {
    problem(fmt::format("'{}' holds control characters", printable(*value)), "remove them");
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> YamlField::integer(std::int64_t min, std::int64_t max) const {
  const auto value = text();
  if (!value) return std::nullopt;
  std::int64_t number = 0;
  const auto* end = value->data() + value->size();
  const auto [stop, code] = std::from_chars(value->data(), end, number);
  const auto fix = fmt::format("give an integer from {} to {}", min, max);
  if (code == std::errc::invalid_argument || stop != end) {
    problem(fmt::format("'{}' is not an integer", printable(*value)), fix);
    return std::nullopt;
  }
  if (code != std::errc() || number < min || number > max) {
    problem(fmt::format("{} is out of range", *value), fix);
    return std::nullopt;
  }
  return number;
}

std::optional<std::vector<YamlField>> YamlField::list() const {
  if (!node_.IsSequence()) {
    problem(kind() + " where a list belongs", "start each item on its own line with '- '");
    return std::nullopt;
  }
  std::vector<YamlField> items;
  // Counted from 1, as in Lua, the other language that users write.
  for (const auto& item : node_)
    items.emplace_back(item, fmt::format("{}[{}]", path_, items.size() + 1), line_of(item.Mark()),
                       *report_);
  return items;
}

std::vector<std::string> YamlField::texts() const {
  std::vector<std::string> out;
  for (const auto& item : list().value_or(std::vector<YamlField>{}))
    out.push_back(item.text().value_or(""));
  return out;
}

Map::Map(const YamlField& field) : field_(field) { read(); }

Map::Map(const YamlField& field, const std::vector<std::string>& known) : field_(field) {
  read();
  for (const auto& [key, value] : entries_)
    if (!contains(known, key)) value.problem("no such field", suggestion(key, known));
}

void Map::read() {
  if (!field_.node_.IsMap()) {
    field_.problem(field_.kind() + " where a map belongs", "give it fields, each 'key: value'");
    return;
  }
  sound_ = true;
  for (const auto& pair : field_.node_) {
    // The line of the key: its value may begin on a later line, and an empty one has no line.
    const int line = line_of(pair.first.Mark());
    if (!pair.first.IsScalar()) {
      YamlField(pair.first, field_.path_, line, *field_.report_)
          .problem("a key that is not a word", "write 'key: value'");
      continue;
    }
    const auto key = pair.first.Scalar();
    YamlField value(pair.second, joined(field_.path_, key), line, *field_.report_);
    if (const auto* earlier = find(key))
      value.problem(fmt::format("given twice, first on line {}", earlier->line_), "keep one");
    else
      entries_.push_back({key, std::move(value)});
  }
}

const YamlField* Map::find(std::string_view key) const& {
  for (const auto& entry : entries_)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

const YamlField* Map::require(std::string_view key, std::string_view example) const& {
  const auto* found = find(key);
  if (!found && sound_)
    field_.problem(fmt::format("'{}' is missing", key), fmt::format("add {}: {}", key, example));
  return found;
}

std::optional<YamlField> read_document(const std::string& text, YamlReport& report) {
  try {
    const auto document = YAML::Load(text);
    if (const auto line = line_of_second_document(text, document)) {
      report.errors.push_back({fmt::format("{}:{}", report.file, *line),
                               "text after the end of the document",
                               "remove a '---', or fix the indentation and quotes on this line"});
      return std::nullopt;
    }
    if (document.IsNull()) {
      report.errors.push_back(
          {report.file, "the file is empty", "fill it in, or copy one that works and change it"});
      return std::nullopt;
    }
    return YamlField(document, "", line_of(document.Mark()), report);
  } catch (const YAML::Exception& error) {
    report.errors.push_back({fmt::format("{}:{}", report.file, line_of(error.mark)),
                             "not valid YAML: " + printable(error.msg),
                             "check indentation, colons and quotes on this line and just above"});
    return std::nullopt;
  }
}

Result<std::string> read_yaml_file(const fs::path& file) {
  std::error_code ignored;
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
    return Error{printable(file.string()), "is not a file", "name a YAML file"};
  const auto size = fs::file_size(file, ignored);
  if (!ignored && size > kLargestFile)
    return Error{printable(file.string()), fmt::format("{} bytes are too many", size),
                 "hardware files are a few kB: check the path"};
  return read_file(file);
}

}  // namespace orch::hardware
