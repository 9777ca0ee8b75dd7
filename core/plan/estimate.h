#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace orch::plan {

enum class Fit { fits, tight, oom };

std::string_view name(Fit fit);

// A part of the step time or of the memory, with the formula and its numbers.
struct Item {
  std::string name;
  std::string kind;   // gemm, memory, collective, copy, host, bubble, overhead; device, host
  double amount = 0;  // seconds or bytes
  std::string formula;
};

struct StageMemory {
  std::int64_t first_stage = 0;  // stages first..last are alike
  std::int64_t last_stage = 0;
  std::vector<Item> items;
  Bytes total = 0;
};

// What a run would take. The items are there only if asked for; they add up to the totals.
struct Estimate {
  Fit fit = Fit::fits;
  Bytes peak_memory = 0;
  Bytes usable_memory = 0;
  Bytes host_memory = 0;  // per node
  std::int64_t peak_stage = 0;
  std::string fit_reason;  // empty when it fits
  double step_seconds = 0;
  double micro_seconds = 0;          // of the slowest stage: what one more micro-batch costs
  double tflops_per_gpu = 0;         // megatron convention
  double tflops_per_gpu_simple = 0;  // simple convention
  double mfu = 0;                    // without recomputation, against the datasheet peak
  double tokens_per_second = 0;
  double days_per_100b_tokens = 0;
  double days_to_train = 0;
  double gpu_hours = 0;

  std::vector<Item> time;           // one step of the slowest stage
  std::vector<StageMemory> memory;  // by stage
};

}  // namespace orch::plan
