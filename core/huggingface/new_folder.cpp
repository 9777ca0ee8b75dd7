#include "core/huggingface/new_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "core/base/text.h"

namespace orch::huggingface {
namespace {

// "out/" names the folder "out".
fs::path without_slash(const fs::path& place) {
  const auto path = fs::absolute(place).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

Status check_new(const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder, code)) return {};
  if (!fs::is_directory(folder, code)) return file_error(folder, "cannot create", EEXIST);
  if (fs::is_empty(folder, code) && !code) return {};
  return Error{printable(folder.string()), "is there and not empty", "name a new folder"};
}

Result<NewFolder> NewFolder::create(const fs::path& place) {
  if (auto status = check_new(place); !status) return status.error();
  const auto target = without_slash(place);
  const fs::path draft = target.string() + ".writing" + std::to_string(::getpid());
  std::error_code code;
  fs::remove_all(draft, code);
  fs::create_directories(draft, code);
  if (code) return file_error(place, "cannot create", code.value());
  return NewFolder(target, draft);
}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : place_(std::move(other.place_)), draft_(std::exchange(other.draft_, {})) {}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!draft_.empty()) fs::remove_all(draft_, ignored);
}

Status NewFolder::finish() {
  sync_folder(draft_);
  if (std::rename(draft_.c_str(), place_.c_str()) != 0)
    return file_error(place_, "cannot put in place", errno);
  sync_folder(place_.parent_path());
  draft_.clear();
  return {};
}

}  // namespace orch::huggingface
