#include "core/price/estimate/fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units.h"

namespace orch::estimate {

using plan::MemoryFit;

namespace {

// From 66 runs on 384 A100: with 68 GB needed of 79, the slack is half of the share's value; a run
// that needs 73 fails.
constexpr double kOfTheRest = 0.63;
constexpr double kLeast = 0.05;

}  // namespace

bool is_on_host(const backend::Memory& item, const plan::Partition& partition) {
  return item.place == ORCH_HOST_MEMORY && partition.gpu.name != "cpu";
}

double bytes_of(const backend::Memory& item, const plan::Partition& partition) {
  if (item.place != ORCH_COMMUNICATORS) return item.bytes;
  return item.bytes * partition.gpu.communicator_memory.value;
}

double allocator_slack(const plan::Partition& partition, double held, double settled) {
  const double rest = partition.gpu.usable_memory.value - partition.gpu.context_memory.value - held;
  const double moving = held - settled;
  const double wanted = partition.efficiency.allocator_slack.value * moving;
  const double least = std::min(kLeast * moving, wanted);
  return std::max(least, std::min(wanted, kOfTheRest * rest));
}

MemoryFit judge_fit(const plan::Partition& partition, const plan::Estimate& estimate) {
  if (estimate.peak_memory > estimate.usable_memory ||
      estimate.host_memory > partition.host_memory.value)
    return MemoryFit::oom;
  if (estimate.memory_high > estimate.usable_memory ||
      estimate.peak_memory > partition.efficiency.tight.value * estimate.usable_memory)
    return MemoryFit::tight;
  return MemoryFit::fits;
}

std::string fit_reason(const plan::Partition& partition, const plan::Estimate& estimate) {
  const auto of = [](Bytes part, Bytes all, std::string_view place) {
    return fmt::format("{} of {} on the {}", format_bytes(part), format_bytes(all), place);
  };
  const Bytes usable = estimate.usable_memory;
  if (judge_fit(partition, estimate) == MemoryFit::fits) return "";
  if (estimate.peak_memory > usable) return of(estimate.peak_memory, usable, "GPU");
  if (estimate.host_memory > partition.host_memory.value)
    return of(estimate.host_memory, partition.host_memory.value, "host");
  if (estimate.memory_high > usable) return "up to " + of(estimate.memory_high, usable, "GPU");
  return fmt::format("{:.0f} % of the GPU", 100 * estimate.peak_memory / usable);
}

}  // namespace orch::estimate
