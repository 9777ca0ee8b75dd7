#pragma once

#include <system_error>

#include "core/base/draft.h"
#include "core/base/files.h"
#include "core/base/result.h"
#include "core/run/store/store.h"

namespace orch::store {

// Calls visit(directory_entry) for each entry, where it matters that none is overlooked: a folder
// that cannot be read is an error. One that is missing has no entries.
template <class F>
Status list_entries(const fs::path& folder, F&& visit) {
  std::error_code code;
  fs::directory_iterator entry(folder, code);
  if (code == std::errc::no_such_file_or_directory) return {};
  for (const fs::directory_iterator end; !code && entry != end; entry.increment(code))
    visit(*entry);
  if (code) return file_error(folder, "cannot list", code.value());
  return {};
}

// A folder with these files, not synced, that is to appear at its place.
Result<DraftFolder> draft_of(const fs::path& place, const std::vector<File>& files);

}  // namespace orch::store
