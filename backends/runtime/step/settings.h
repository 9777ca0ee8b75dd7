#pragma once

#include <cstdint>
#include <string>

#include "core/plan/run.h"

namespace orch::train {

// A strategy's own parameters in a run, by name; throws std::out_of_range naming the one that
// run.json does not have, std::invalid_argument one of another type. The run outlives this.
class Settings {
 public:
  explicit Settings(const plan::Run& run) : run_(run) {}

  bool flag(const std::string& name) const;
  bool flag_or(const std::string& name, bool fallback) const;  // where not every strategy has it
  std::int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  double real_or(const std::string& name, double fallback) const;
  std::string text(const std::string& name) const;

 private:
  const plan::Run& run_;
};

}  // namespace orch::train
