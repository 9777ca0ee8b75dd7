#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace orch::ingest {

// Of each file the place of an earlier one that is the same, byte for byte; its own place where
// there is none. Files are read only where two have one size.
std::vector<std::size_t> copies_of(const std::vector<std::string>& files);

}  // namespace orch::ingest
