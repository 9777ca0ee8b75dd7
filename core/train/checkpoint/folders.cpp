#include "core/train/checkpoint/folders.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <vector>

#include "core/base/text.h"
#include "core/train/checkpoint/checkpoint.h"
#include "core/train/checkpoint/checksum.h"

namespace orch::checkpoint {
namespace {

using FolderKind = FolderName::Kind;
constexpr std::string_view kPrefix = "step-", kWriting = ".writing";
constexpr const char* kRemoving = ".removing";
constexpr const char* kReplaced = ".replaced";

struct FoundFolder {
  FolderName name;
  fs::path path;
};

std::vector<FoundFolder> look(const fs::path& folder) {
  std::vector<FoundFolder> found;
  for (const auto& entry : entries_of(folder))
    if (auto name = parse_folder_name(entry.filename().string())) found.push_back({*name, entry});
  return found;
}

std::string step_name(std::int64_t step) {
  auto digits = std::to_string(step);
  return std::string(kPrefix) + std::string(8 - std::min<std::size_t>(8, digits.size()), '0') +
         digits;
}

FolderKind kind_of(std::string_view ending, std::string& attempt) {
  if (ending == kRemoving) return FolderKind::removing;
  if (ending == kReplaced) return FolderKind::replaced;
  ending.remove_suffix(kWriting.size());
  attempt = ending.empty() ? "" : ending.substr(1);
  return FolderKind::writing;
}

Status move(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return file_error(to, "cannot put in place", errno);
}

// Renamed first, so that an incomplete one is never taken for a checkpoint.
void retire(const fs::path& path) {
  const fs::path away = path.string() + kRemoving;
  remove_folder(away);
  remove_folder(move(path, away) ? away : path);
}

}  // namespace

std::optional<FolderName> parse_folder_name(std::string_view name) {
  FolderName out;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const auto* end = name.data() + name.size();
  const auto [stop, code] = std::from_chars(name.data(), end, out.step);
  if (code != std::errc() || stop - name.data() < 8 || out.step < 0) return std::nullopt;
  const std::string_view ending(stop, static_cast<std::size_t>(end - stop));
  if (ending.empty()) return out;
  if (ending.front() != '.' ||
      (ending != kRemoving && ending != kReplaced && !ending.ends_with(kWriting)))
    return std::nullopt;
  out.kind = kind_of(ending, out.attempt);
  return out;
}

std::string attempt_token(const std::string& attempt) {
  return attempt.empty() || is_plain_name(attempt) ? attempt : hex(checksum(attempt));
}

fs::path whole_folder(const fs::path& folder, std::int64_t step) {
  return folder / step_name(step);
}

fs::path writing_folder(const fs::path& folder, std::int64_t step, const std::string& token) {
  return folder / (step_name(step) + (token.empty() ? "" : "." + token) + std::string(kWriting));
}

void remove_folder(const fs::path& folder) {
  // Another rank may put something into it meanwhile.
  for (int tries = 0; tries < 3; ++tries)
    if (const int error = remove_tree(folder); error != ENOTEMPTY && error != EEXIST) return;
}

void remove_leftovers(const fs::path& folder, std::int64_t step, const std::string& token) {
  for (const auto& [name, path] : look(folder)) {
    if (name.kind == FolderKind::removing) remove_folder(path);
    // A faster rank may already be writing our next checkpoint.
    if (name.kind == FolderKind::writing && (name.attempt != token || name.step < step))
      remove_folder(path);
    if (name.kind == FolderKind::replaced && fs::exists(whole_folder(folder, name.step)))
      retire(path);
  }
}

Status put_in_place(const fs::path& written, const fs::path& folder, std::int64_t step) {
  const auto place = whole_folder(folder, step);
  const fs::path old = place.string() + kReplaced;
  if (is_there(place)) {
    retire(old);
    if (auto status = move(place, old); !status) return status;
  }
  if (auto status = move(written, place); !status) return status;
  sync_folder(folder);
  if (is_there(old)) retire(old);
  return {};
}

void remove_older(const fs::path& folder, std::int64_t step, std::int64_t keep) {
  if (keep <= 0) return;
  auto paths = list(folder);
  std::erase_if(paths, [&](const fs::path& path) {
    return parse_folder_name(path.filename().string())->step > step;
  });
  if (paths.size() <= static_cast<std::size_t>(keep)) return;
  for (const auto& path : paths) {
    if (keep <= 0)
      retire(path);
    else if (CheckpointReader::open(path, /*checksums=*/false))
      --keep;
  }
}

std::vector<fs::path> list(const fs::path& folder) {
  auto found = look(folder);
  std::erase_if(found, [](const FoundFolder& one) {
    return one.name.kind != FolderKind::whole && one.name.kind != FolderKind::replaced;
  });
  std::sort(found.begin(), found.end(), [](const FoundFolder& a, const FoundFolder& b) {
    if (a.name.step != b.name.step) return a.name.step > b.name.step;
    return a.name.kind < b.name.kind;  // the new one before the one that it replaces
  });
  std::vector<fs::path> paths;
  for (auto& one : found) paths.push_back(std::move(one.path));
  return paths;
}

}  // namespace orch::checkpoint
