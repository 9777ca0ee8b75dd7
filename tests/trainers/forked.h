#pragma once

#include <string>
#include <vector>

namespace orch::test {

// main() of a backend's trainer in this process, with one thread: for ranks that are forked from
// here instead of started. LibTorch, whose loading takes more than half of a short training, is
// already loaded.
int run_trainer(const std::string& backend, std::vector<std::string> arguments);

}  // namespace orch::test
