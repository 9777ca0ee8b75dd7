#include "core/base/text.h"
#include "core/train/checkpoint/checkpoint.h"
#include "core/train/checkpoint/folders.h"

namespace orch::checkpoint {
namespace {

bool try_open(const fs::path& path, Latest& latest) {
  auto reader = Reader::open(path);
  if (!reader) {
    const auto& why = reader.error();
    latest.skipped.insert(latest.skipped.end(), why.begin(), why.end());
    return false;
  }
  latest.reader.emplace(std::move(*reader));
  latest.path = path;
  return true;
}

}  // namespace

Latest open_latest(const fs::path& folder) {
  Latest latest;
  for (const auto& path : list(folder))
    if (try_open(path, latest)) break;
  return latest;
}

Latest open_at(const fs::path& place, std::optional<std::int64_t> step) {
  std::error_code code;
  if (fs::exists(place / "checkpoint.json", code)) {
    Latest latest;
    if (try_open(place, latest) && step && latest.reader->facts().step != *step) {
      latest.skipped.push_back({printable(place.string()),
                                "is of step " + std::to_string(latest.reader->facts().step), ""});
      latest.reader.reset();
    }
    return latest;
  }
  const auto folder = fs::is_directory(place / "checkpoints", code) ? place / "checkpoints" : place;
  if (!step) return open_latest(folder);
  Latest latest;
  for (const auto& path : list(folder))
    if (parse_folder_name(path.filename().string())->step == *step && try_open(path, latest)) break;
  return latest;
}

}  // namespace orch::checkpoint
