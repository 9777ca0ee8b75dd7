#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/base/text.h"
#include "core/plan/experiment/state.h"

namespace orch::experiment {
namespace {

constexpr const char* kIncludeExample =
    "write include \"common.lua\", a file beside the experiment or below it";

[[noreturn]] void refuse(const Error& error) {
  throw std::runtime_error(error.fix.empty() ? error.fact : error.fact + "\n  " + error.fix);
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

// Both paths are free of links.
bool is_within(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

}  // namespace

void Includes::define() {
  sandbox_.state()["include"] = [this](const sol::object& name) { return include(name); };
}

void Includes::begin(const std::string& file) {
  std::error_code code;
  root_ = fs::weakly_canonical(folder_of(file), code);
  open_ = {file};
  files_.clear();
  errors_.clear();
}

Result<fs::path> Includes::find(const std::string& name) const {
  const fs::path wanted = name;
  const auto said = fmt::format("include \"{}\"", printable(name));
  const auto folder = folder_of(open_.back());
  std::error_code code;
  if (wanted.is_absolute() || !wanted.has_filename() || name.find('\0') != std::string::npos ||
      !is_within((fs::weakly_canonical(folder, code) / wanted).lexically_normal(), root_))
    return Error{"", said + " leads out of the experiment's folder", kIncludeExample};
  const auto file = folder == "." ? wanted.lexically_normal() : folder / wanted.lexically_normal();
  if (!fs::exists(file, code))
    return Error{"", fmt::format("{}: no such file, looked for {}", said, printable(file.string())),
                 kIncludeExample};
  if (!fs::is_regular_file(file, code)) return Error{"", said + " is not a file", kIncludeExample};
  const auto real = fs::canonical(file, code);
  if (code || !is_within(real, root_))
    return Error{"", said + " is a link that leads out of the experiment's folder",
                 "copy the file beside the experiment"};
  const auto same = [&](const fs::path& one) { return fs::equivalent(one, file, code); };
  if (std::any_of(open_.begin(), open_.end(), same))
    return Error{"", said + " is circular: that file includes this one", "remove one of the two"};
  return file;
}

sol::object Includes::include(const sol::object& name) {
  if (open_.empty()) refuse({"", "include works in experiments only", "write what is needed here"});
  if (name.get_type() != sol::type::string)
    refuse({"", "include takes the name of a file", kIncludeExample});
  const auto file = find(name.as<std::string>());
  if (!file) refuse(file.error().front());
  const auto text = read_file(*file);
  if (!text) refuse(text.error().front());
  if (!contains(files_, file->string())) files_.push_back(file->string());
  open_.push_back(*file);
  auto result = sandbox_.run(*text, file->string());
  open_.pop_back();
  if (result) return *result;
  if (errors_.empty()) errors_ = result.error();
  refuse(errors_.front());
}

}  // namespace orch::experiment
