#pragma once

#include <string>
#include <vector>

#include "core/plan/planned.h"

namespace orch::search {

// A part of the step in which two runs differ.
struct SettingDifference {
  std::string part;    // "compute", "pipeline bubble", "tensor all-reduce"
  double seconds = 0;  // how much more the slower run takes
};

// Explains why one run is slower than another by the items of their explained estimates: compute,
// memory-bound kernels, overhead and the bubble as one part each, communication and the end of the
// step by name. The largest difference comes first; they add up to the difference of the step times
// (scaled to the samples of the faster run's step).
std::vector<SettingDifference> differences(const plan::Planned& faster,
                                           const plan::Planned& slower);

// "pipeline bubble +3.1 s, tensor all-reduce -1.2 s"; negligible differences are left out.
std::string text(const std::vector<SettingDifference>& differences);

}  // namespace orch::search
