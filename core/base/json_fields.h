#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch {

// True if a regular file exists; anything else at its path (a directory, a pipe) is an error, and
// so is a path that cannot be inspected.
Result<bool> is_plain_file(const fs::path& path);

// The content of a file, which may be anything: nothing if it is missing; an error for a directory,
// a pipe, a file that cannot be read or is larger than limit bytes.
Result<std::optional<std::string>> read_if_there(const fs::path& path, std::size_t limit);

// Parses JSON with a limit on nesting; gives `discarded` beyond it and for text that is not JSON.
// Use nothing else for files that others may have written. Json: nlohmann::json, or ordered_json.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text);

// The fields of a JSON object. Every field that is missing or of another type is noted: see
// problems(). Keys whose value is null count as missing. The document must outlive this.
class JsonFields {
 public:
  explicit JsonFields(const nlohmann::json& object)
      : object_(object), problems_(std::make_shared<std::vector<std::string>>()) {}

  std::string text(std::string_view key);
  double number(std::string_view key);  // finite
  std::int64_t whole(std::string_view key, std::int64_t least = 0, std::int64_t most = kMost);
  bool flag(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  JsonFields object(
      std::string_view key);  // a section: its problems are ours, with its name before

  bool has(std::string_view key) const;
  std::string text_or(std::string_view key, std::string fallback);  // if the key is missing
  double number_or(std::string_view key, double fallback);
  std::vector<std::string> keys() const;  // in alphabetical order

  const std::vector<std::string>& problems() const { return *problems_; }
  std::string problem() const;  // all problems in one line
  void complain(const std::string& problem);

  static constexpr std::int64_t kMost = std::int64_t{1} << 53;

 private:
  JsonFields(const nlohmann::json& object, std::string prefix,
             std::shared_ptr<std::vector<std::string>> problems)
      : object_(object), prefix_(std::move(prefix)), problems_(std::move(problems)) {}

  const nlohmann::json& value(std::string_view key) const;  // null where the key is missing

  const nlohmann::json& object_;
  std::string prefix_;  // "training."
  std::shared_ptr<std::vector<std::string>> problems_;
};

// One of our own files: a JSON object that contains our version. Gives nothing where there is no
// file. lenient: bytes that are not UTF-8 count as '?', because scripts copy text from other
// programs.
struct JsonOptions {
  std::size_t limit = std::size_t{1} << 20;
  bool lenient = false;
  std::string fix;  // what to do about a damaged one
};
Result<std::optional<nlohmann::json>> read_json(const fs::path& path, const JsonOptions& options);

// The error for a damaged file.
Error damaged(const fs::path& path, const std::string& problem, const std::string& fix);

}  // namespace orch
