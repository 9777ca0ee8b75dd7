#pragma once

#include "backends/measure/timing.h"

namespace orch::measure {

// What orch doctor --nodes wants to know of the nodes of a job: the rate of products and of memory
// of each rank, and the seconds of all-reduces within each node, and between each pair of nodes by
// groups of one rank of either. Null on all ranks but 0. (core/price/measure/nodes.h reads it.)
Json nodes(train::World& world, double seconds_each);

}  // namespace orch::measure
