#pragma once

#include <string>
#include <string_view>

#include "core/plan/run.h"

// Defaults of settings that follow from the rest of a run. Others are those of the strategy's
// parameters.
namespace orch::plan {

// What a default follows from.
struct DefaultsOf {
  const Partition* partition = nullptr;  // null: not known
  std::string_view dtype;
  const std::string& framework;
  const std::string& stack;  // as the experiment names it; empty: it names none
};

// Whether GPU, number format and trainer have attention that keeps no scores. A trainer lacks it
// that refuses it, or whose stack is named and was never measured with it; one that is not named is
// taken as of today.
bool has_flash_attention(const DefaultsOf& of);
bool has_flash_attention(const Run& run);

// true where it can be had, else the parameter's own default.
Value default_flash_attention(const Param& param, const DefaultsOf& of);

// What a run has where its experiment, which names this stack or none, gives no value.
Value default_setting(const Param& param, const Run& run, const std::string& stack);

// The stack of a run that its experiment names; empty: it follows from the trainer.
std::string named_stack(const Run& run);

}  // namespace orch::plan
