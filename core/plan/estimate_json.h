#pragma once

#include <string>
#include <utility>

#include "core/base/json_fields.h"
#include "core/plan/estimate.h"
#include "core/plan/run.h"

namespace orch::plan {

// The numbers of an estimate, by their names in JSON.
inline constexpr std::pair<const char*, double Estimate::*> kEstimateNumbers[] = {
    {"peak_memory_bytes", &Estimate::peak_memory},
    {"memory_low", &Estimate::memory_low},
    {"memory_high", &Estimate::memory_high},
    {"usable_memory_bytes", &Estimate::usable_memory},
    {"host_memory_bytes", &Estimate::host_memory},
    {"step_seconds", &Estimate::step_seconds},
    {"step_low", &Estimate::step_low},
    {"step_high", &Estimate::step_high},
    {"tflops_per_gpu", &Estimate::tflops_per_gpu},
    {"tflops_per_gpu_simple", &Estimate::tflops_per_gpu_simple},
    {"mfu", &Estimate::mfu},
    {"tokens_per_second", &Estimate::tokens_per_second},
    {"days_per_100b_tokens", &Estimate::days_per_100b_tokens},
    {"days_to_train", &Estimate::days_to_train},
    {"gpu_hours", &Estimate::gpu_hours},
    {"interruptions", &Estimate::interruptions},
    {"days_with_failures", &Estimate::days_with_failures},
    {"days_with_failures_low", &Estimate::days_with_failures_low},
    {"days_with_failures_high", &Estimate::days_with_failures_high},
    {"cost", &Estimate::cost},
    {"energy_kwh", &Estimate::energy_kwh},
    {"co2_kg", &Estimate::co2_kg},
    {"communicated_bytes", &Estimate::communicated},
    {"bubble", &Estimate::bubble},
};

// The text of estimate.json: the totals, without the items, and the run's variant, which tables
// show.
std::string estimate_json(const Run& run, const Estimate& estimate);

// Reads the fit and the numbers back; problems are added to the fields'.
Estimate parse_estimate(JsonFields& fields);

}  // namespace orch::plan
