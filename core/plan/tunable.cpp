#include "core/plan/tunable.h"

#include <fmt/format.h>

#include <array>

#include "core/base/units.h"

namespace orch::plan {
namespace {

template <Constant Efficiency::*member>
Constant& of_efficiency(Partition& partition) {
  return partition.efficiency.*member;
}

template <Link Partition::*link>
Constant& efficiency_of(Partition& partition) {
  return (partition.*link).efficiency;
}

Constant& context_memory(Partition& partition) { return partition.gpu.context_memory; }

// The doubts say how far the assumed values of gpus.yaml have been off where rows showed it: a few
// tens of percent for rates, factors for fixed costs and for networks.
const std::array<Tunable, 11> kTime{{
    {"gemm", of_efficiency<&Efficiency::gemm>, 0.2, 0.02, 1},
    {"attention", of_efficiency<&Efficiency::attention>, 0.3, 0.01, 1},
    {"attention_unaligned", of_efficiency<&Efficiency::attention_unaligned>, 0.5, 0.002, 1},
    {"memory", of_efficiency<&Efficiency::memory>, 0.15, 0.05, 1},
    {"layer_overhead", of_efficiency<&Efficiency::layer_overhead>, 0.5, 0, 1},
    {"stage_overhead", of_efficiency<&Efficiency::stage_overhead>, 0.7, 0, 10},
    {"step_overhead", of_efficiency<&Efficiency::step_overhead>, 0.5, 0, 100},
    {"host", of_efficiency<&Efficiency::host>, 0.7, 0.005, 1},
    {"intra_node.efficiency", efficiency_of<&Partition::intra_node>, 1.2, 0.01, 1},
    {"network.efficiency", efficiency_of<&Partition::network>, 0.5, 0.005, 1},
    {"pcie.efficiency", efficiency_of<&Partition::pcie>, 0.3, 0.02, 1},
}};

const std::array<Tunable, 2> kMemory{{
    {"context_memory", context_memory, 0.2, 0, 2e10},
    {"allocator_slack", of_efficiency<&Efficiency::allocator_slack>, 0.5, 0, 0.3},
}};

const std::array<Tunable, 2> kSpreads{{
    {"time_spread", of_efficiency<&Efficiency::time_spread>, 0, 0, 1},
    {"memory_spread", of_efficiency<&Efficiency::memory_spread>, 0, 0, 1},
}};

}  // namespace

std::span<const Tunable> time_tunables() { return kTime; }
std::span<const Tunable> memory_tunables() { return kMemory; }
std::span<const Tunable> spread_tunables() { return kSpreads; }

std::string shown(std::string_view name, double value) {
  if (name.ends_with("_overhead")) return format_seconds(value);
  if (name == "context_memory") return format_bytes(value);
  return fmt::format("{:.4g}", value);
}

const Tunable* find_tunable(std::string_view name) {
  for (const auto list : {time_tunables(), memory_tunables(), spread_tunables()})
    for (const auto& tunable : list)
      if (tunable.name == name) return &tunable;
  return nullptr;
}

}  // namespace orch::plan
