#pragma once

#include <string>
#include <vector>

#include "core/plan/cluster.h"

namespace orch::hardware {

// What the partition's constants were fitted on, each said once: "127 rows of bloom-prequel" for an
// origin "fitted: 127 rows of bloom-prequel". Empty: nobody fitted any of them.
std::vector<std::string> fitted_on(const plan::Partition& partition);

}  // namespace orch::hardware
