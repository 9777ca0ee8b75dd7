#pragma once

#include <system_error>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::store {

// Neither throws: what cannot be read is not there.
inline bool is_there(const fs::path& path) {
  std::error_code code;
  return fs::exists(path, code);
}

// Calls visit(path) for each entry of a folder.
template <class F>
void for_each_entry(const fs::path& folder, F&& visit) {
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code))
    visit(entry->path());
}

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

}  // namespace orch::store
