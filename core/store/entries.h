#pragma once

#include <system_error>

#include "core/base/files.h"

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

}  // namespace orch::store
