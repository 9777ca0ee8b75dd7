#pragma once

#include <cstddef>
#include <string>

#include "core/base/files.h"

namespace orch::measure {

// A description of the machine by which measurements can be compared: "Neoverse-N1 x 2", "NVIDIA
// H200 x 8, AMD EPYC 9654 x 192". root: for tests.
std::string describe(std::size_t cores, const fs::path& root = "/");

}  // namespace orch::measure
