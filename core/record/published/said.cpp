#include "core/record/published/said.h"

#include <cmath>

#include "core/base/units.h"

namespace orch::published {

using record::Failure, record::Record, record::State;

std::optional<double> step_time(const Record& record) {
  const auto& step = record.measured.step_seconds;
  return step ? std::optional(step->value) : std::nullopt;
}

std::optional<double> memory_gib(const Record& record) {
  const auto& bytes = record.measured.peak_memory_bytes;
  return bytes ? std::optional(*bytes / kGiB) : std::nullopt;
}

std::optional<double> stated_tflops(const Record& record) {
  const auto& tflops = record.measured.tflops;
  return tflops.empty() || tflops.front().value <= 0 ? std::nullopt
                                                     : std::optional(tflops.front().value);
}

std::string tflops_formula(const Record& record) {
  const auto& tflops = record.measured.tflops;
  return tflops.empty() ? "" : tflops.front().convention;
}

// A log that says how long its steps took ran, however it went on.
std::string status_of(const Record& record) {
  if (record.failure == Failure::gpu_memory || record.failure == Failure::host_memory) return "oom";
  if (record.failure == Failure::hang) return "hang";
  if (record.state == State::failed) return "failed";
  const bool ran = record.origin.kind == "log" ? record.measured.step_seconds.has_value()
                                               : record.state == State::finished;
  return ran ? "ok" : "";
}

std::optional<double> billions(const Record& record) {
  const auto params = record.field_number("params");
  return params ? std::optional(std::round(*params) / 1e9) : std::nullopt;
}

bool left_out(const Record& record) {
  return record.flag("suspect").value_or(false) || record.field("dup_of") != nullptr;
}

}  // namespace orch::published
