#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::store {

// The text of a file that may be anything: missing is nothing; a directory, a pipe, one that cannot
// be read or is larger than limit bytes is an error.
Result<std::optional<std::string>> read_if_there(const fs::path& path, std::size_t limit);

// The fields of a JSON object. What is missing or of another kind is noted: see problem(). Keys
// whose value is null count as missing.
class Fields {
 public:
  explicit Fields(const nlohmann::json& object) : object_(object) {}

  std::string text(const char* key);
  double number(const char* key);  // finite
  std::int64_t whole(const char* key, std::int64_t least = 0, std::int64_t most = kMost);
  bool flag(const char* key);
  std::vector<std::string> texts(const char* key);
  Fields object(const char* key);  // problems in it are its own

  bool has(const char* key) const;
  std::string text_or(const char* key, std::string fallback);  // if the key is missing
  double number_or(const char* key, double fallback);

  const std::string& problem() const { return problem_; }  // the first; empty: none
  void complain(const std::string& problem);

  static constexpr std::int64_t kMost = std::int64_t{1} << 53;

 private:
  const nlohmann::json& at(const char* key);

  const nlohmann::json& object_;
  std::string problem_;
};

// A file of ours: a JSON object with our version in it. Nothing where there is no file. lenient:
// bytes that are not UTF-8 count as '?'; scripts copy texts of others.
struct JsonOptions {
  std::size_t limit = std::size_t{1} << 20;
  bool lenient = false;
  std::string fix;  // what to do about a damaged one
};
Result<std::optional<nlohmann::json>> read_json(const fs::path& path, const JsonOptions& options);

// The error that a damaged file is.
Error damaged(const fs::path& path, const std::string& problem, const std::string& fix);

}  // namespace orch::store
