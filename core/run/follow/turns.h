#pragma once

#include <cstddef>
#include <vector>

namespace orch::follow {

// How many tasks of a submission may run at once, and in which lane it stands: in a lane one begins
// when the one before it has ended.
struct Turn {
  int at_a_time = 1;
  std::size_t lane = 0;
};

// Deals a limit (1 or more) to submissions of so many tasks, so that all together keep it: each has a
// share by its size and a lane of its own, or, where there are more than the limit, one task in one
// of so many lanes.
std::vector<Turn> deal_turns(const std::vector<std::size_t>& sizes, int limit);

}  // namespace orch::follow
