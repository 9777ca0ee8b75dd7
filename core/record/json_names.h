#pragma once

#include <utility>

#include "core/record/record.h"

namespace orch::record {

inline constexpr int kRecordsVersion = 1;

// The numbers of an estimate, as JSON calls them.
inline constexpr std::pair<const char*, double Estimated::*> kEstimated[] = {
    {"step_seconds", &Estimated::step_seconds},
    {"step_low", &Estimated::step_low},
    {"step_high", &Estimated::step_high},
    {"peak_memory_bytes", &Estimated::peak_memory_bytes},
    {"memory_low", &Estimated::memory_low},
    {"memory_high", &Estimated::memory_high},
    {"usable_memory_bytes", &Estimated::usable_memory_bytes},
    {"tokens_per_second", &Estimated::tokens_per_second},
    {"days_per_100b_tokens", &Estimated::days_per_100b_tokens},
    {"tflops_per_gpu", &Estimated::tflops_per_gpu},
    {"tflops_per_gpu_simple", &Estimated::tflops_per_gpu_simple},
    {"mfu", &Estimated::mfu},
    {"gpu_hours", &Estimated::gpu_hours},
    {"days_to_train", &Estimated::days_to_train},
    {"host_memory_bytes", &Estimated::host_memory_bytes},
    {"communicated_bytes", &Estimated::communicated_bytes},
    {"bubble", &Estimated::bubble},
};

}  // namespace orch::record
