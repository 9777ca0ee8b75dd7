#include "core/base/json_fields.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cmath>

#include "core/base/text.h"

namespace orch {
namespace {

using SortedJson = nlohmann::json;

constexpr int kVersion = 1;
const SortedJson kNothing;

constexpr int kDeepest = 64;  // our own documents have five levels

SortedJson parse(std::string text, bool lenient) {
  auto json = parse_json(text);
  if (!json.is_discarded() || !lenient) return json;
  for (auto& c : text)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return parse_json(text);
}

}  // namespace

static Result<std::optional<off_t>> plain_size(const fs::path& path) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<off_t>();
    auto error = file_error(path, "cannot look at", errno);
    if (error.fix.empty()) error.fix = "move it away";
    return error;
  }
  // Opening a pipe would block until it has a writer.
  if (!S_ISREG(about.st_mode))
    return Error{printable(path.string()), "is not a plain file", "move it away"};
  return std::optional(about.st_size);
}

Result<bool> is_plain_file(const fs::path& path) {
  const auto size = plain_size(path);
  if (!size) return size.error();
  return size->has_value();
}

Result<std::optional<std::string>> read_if_there(const fs::path& path, std::size_t limit) {
  const auto size = plain_size(path);
  if (!size) return size.error();
  if (!*size) return std::optional<std::string>();
  if (**size > static_cast<off_t>(limit))
    return Error{printable(path.string()),
                 fmt::format("has {} bytes: too large to be a file of orch", **size),
                 "move it away"};
  auto text = read_file(path, limit);
  if (!text) return text.error();
  return std::optional(std::move(*text));
}

Error damaged(const fs::path& path, const std::string& problem, const std::string& fix) {
  return {printable(path.string()), "is damaged: " + problem, fix};
}

Result<std::optional<SortedJson>> read_json(const fs::path& path, const JsonOptions& options) {
  auto text = read_if_there(path, options.limit);
  if (!text) return text.error();
  if (!*text) return std::optional<SortedJson>();
  auto json = parse(std::move(**text), options.lenient);
  if (!json.is_object()) return damaged(path, "it is not a JSON object", options.fix);
  JsonFields fields(json);
  const auto version = fields.whole("version");
  if (!fields.problem().empty()) return damaged(path, fields.problem(), options.fix);
  if (version != kVersion)
    return Error{printable(path.string()), "was written by another version of orch", options.fix};
  return std::optional(std::move(json));
}

// A document nested deeper than this would overflow the stack in its destructor.
static bool is_sane(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (!in_text && (c == '[' || c == '{')) {
      if (++depth > kDeepest) return false;
    } else if (!in_text && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return true;
}

template <class Any>
Any parse_json(std::string_view text) {
  if (!is_sane(text)) return Any(Any::value_t::discarded);
  return Any::parse(text, nullptr, false);
}
template nlohmann::json parse_json(std::string_view text);
template nlohmann::ordered_json parse_json(std::string_view text);

void JsonFields::complain(const std::string& problem) { problems_->push_back(prefix_ + problem); }

std::string JsonFields::problem() const { return join(*problems_, "; "); }

bool JsonFields::has(std::string_view key) const {
  const auto found = object_.find(std::string(key));
  return found != object_.end() && !found->is_null();
}

const SortedJson& JsonFields::value(std::string_view key) const {
  const auto found = object_.find(std::string(key));
  return found == object_.end() ? kNothing : *found;
}

std::string JsonFields::text(std::string_view key) {
  const auto& held = value(key);
  if (const auto* text = held.get_ptr<const std::string*>()) return *text;
  complain(fmt::format("'{}' is not a string", key));
  return {};
}

double JsonFields::number(std::string_view key) {
  const auto& held = value(key);
  const double number = held.is_number() ? held.get<double>() : std::nan("");
  if (std::isfinite(number)) return number;
  complain(fmt::format("'{}' is not a number", key));
  return 0;
}

std::int64_t JsonFields::whole(std::string_view key, std::int64_t least, std::int64_t most) {
  const auto& held = value(key);
  const double number = held.is_number() ? held.get<double>() : std::nan("");  // exact up to kMost
  if (number >= static_cast<double>(least) && number <= static_cast<double>(most) &&
      number == std::floor(number))
    return static_cast<std::int64_t>(number);
  complain(fmt::format("'{}' is not an integer from {} to {}", key, least, most));
  return least;
}

bool JsonFields::flag(std::string_view key) {
  const auto& held = value(key);
  if (held.is_boolean()) return held.get<bool>();
  complain(fmt::format("'{}' is not true or false", key));
  return false;
}

std::vector<std::string> JsonFields::texts(std::string_view key) {
  std::vector<std::string> out;
  const auto& list = value(key);
  bool good = list.is_array();
  if (good) {
    out.reserve(list.size());
    for (const auto& item : list) {
      const auto* text = item.get_ptr<const std::string*>();
      if (text) out.push_back(*text);
      good = good && text;
    }
  }
  if (!good) complain(fmt::format("'{}' is not a list of strings", key));
  return out;
}

JsonFields JsonFields::object(std::string_view key) {
  static const SortedJson kNone = SortedJson::object();
  const auto& held = value(key);
  if (!held.is_object()) complain(fmt::format("'{}' is not an object", key));
  return {held.is_object() ? held : kNone, prefix_ + std::string(key) + ".", problems_};
}

std::string JsonFields::text_or(std::string_view key, std::string fallback) {
  return has(key) ? text(key) : std::move(fallback);
}

double JsonFields::number_or(std::string_view key, double fallback) {
  return has(key) ? number(key) : fallback;
}

std::vector<std::string> JsonFields::keys() const {
  std::vector<std::string> all;
  for (const auto& item : object_.items()) all.push_back(item.key());
  return all;
}

}  // namespace orch
