#pragma once

#include <string>
#include <string_view>

#include "core/plan/run.h"

// Defaults of settings that follow from the rest of a run. All other defaults are those of the
// strategy's parameters.
namespace orch::plan {

// The facts from which a default follows.
struct DefaultsOf {
  const Partition* partition = nullptr;  // null: unknown
  std::string_view dtype;
  const std::string& framework;
  const std::string& stack;  // as the experiment names it; may be empty
};

// True if the GPU, the number format and the trainer support attention that does not store its
// scores. A trainer does not if it refuses the setting, or if its stack is named and was never
// measured with it; where no stack is named, today's software is assumed.
bool has_flash_attention(const DefaultsOf& of);
bool has_flash_attention(const Run& run);

// true where it is available, else the parameter's own default.
Value default_flash_attention(const Param& param, const DefaultsOf& of);

// The value in a run whose experiment (which names this stack or none) gives none.
Value default_setting(const Param& param, const Run& run, const std::string& stack);

// The stack that the run's experiment names; empty: it follows from the trainer.
std::string named_stack(const Run& run);

}  // namespace orch::plan
