#pragma once

#include <map>
#include <string>

#include "core/base/files.h"
#include "core/plan/run.h"

namespace orch::app {

// Asks the programs that frameworks name for their versions, as a run would start them: with its
// setup and its variables. Each is asked once.
class FrameworkCheck {
 public:
  explicit FrameworkCheck(fs::path home) : home_(std::move(home)) {}

  // A line on what is wrong and one on what to do; empty if nothing is, if the run has no
  // framework, or if the program cannot be asked here.
  std::string ask(const plan::Run& run, const fs::path& folder);

 private:
  std::string answer(const plan::Run& run, const fs::path& folder, const std::string& script);

  fs::path home_;
  std::map<std::string, std::string> answers_;  // by framework and script
};

}  // namespace orch::app
