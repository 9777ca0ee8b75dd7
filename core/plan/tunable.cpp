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

template <Link Partition::*link, Constant Link::*member>
Constant& of_link(Partition& partition) {
  return partition.*link.*member;
}

Constant& context_memory(Partition& partition) { return partition.gpu.context_memory; }

// The doubts are how far the assumed values of gpus.yaml were off where rows showed it: a few tens
// of percent for rates, factors for fixed costs and for networks. The speed of a chip's products
// belongs to the machine; launches and waits belong to the stack.
const std::array<Tunable, 22> kTunables{{
    // Step time.
    {"gemm", of_efficiency<&Efficiency::gemm>, 0.15, 0.3, 0.02, 1},
    {"experts", of_efficiency<&Efficiency::experts>, 0, 0.4, 0.02, 1},
    {"attention", of_efficiency<&Efficiency::attention>, 0.3, 0.3, 0.01, 1},
    {"attention_unaligned", of_efficiency<&Efficiency::attention_unaligned>, 0.5, 0, 0.002, 1},
    {"memory", of_efficiency<&Efficiency::memory>, 0.15, 0.2, 0.05, 1},
    {"layer_overhead", of_efficiency<&Efficiency::layer_overhead>, 0.5, 0.5, 0, 1},
    {"host_floor", of_efficiency<&Efficiency::host_floor>, 0.3, 0.7, 0, 1},
    {"expert_floor", of_efficiency<&Efficiency::expert_floor>, 0, 0.7, 0, 1},
    {"stage_overhead", of_efficiency<&Efficiency::stage_overhead>, 0.7, 0.7, 0, 10},
    {"step_overhead", of_efficiency<&Efficiency::step_overhead>, 0.5, 0.7, 0, 100},
    {"overlap", of_efficiency<&Efficiency::overlap>, 0, 0.4, 0, 1},
    {"gathers", of_efficiency<&Efficiency::gathers>, 0, 0.3, 0.05, 1},
    {"host", of_efficiency<&Efficiency::host>, 0.6, 0.4, 0.005, 1},
    {"intra_node.efficiency", of_link<&Partition::intra_node, &Link::efficiency>, 0.7, 0.7, 0.01,
     1},
    {"intra_node.latency", of_link<&Partition::intra_node, &Link::latency>, 0.5, 0.3, 1e-7, 1e-2},
    {"network.efficiency", of_link<&Partition::network, &Link::efficiency>, 0.8, 0.5, 0.005, 1},
    {"network.latency", of_link<&Partition::network, &Link::latency>, 0.5, 0.3, 1e-7, 1e-2},
    {"pcie.efficiency", of_link<&Partition::pcie, &Link::efficiency>, 0.3, 0, 0.02, 1},
    // Memory.
    {"context_memory", context_memory, 0.2, 0, 0, 2e10},
    {"allocator_slack", of_efficiency<&Efficiency::allocator_slack>, 0.3, 0.4, 0, 0.3},
    // Spreads: computed from the residuals after a fit.
    {"time_spread", of_efficiency<&Efficiency::time_spread>, 0, 0, 0, 1},
    {"memory_spread", of_efficiency<&Efficiency::memory_spread>, 0, 0, 0, 1},
}};

}  // namespace

std::span<const Tunable> all_tunables() { return kTunables; }
std::span<const Tunable> time_tunables() { return all_tunables().first(18); }
std::span<const Tunable> memory_tunables() { return all_tunables().subspan(18, 2); }

bool is_time(std::string_view name) {
  return name.ends_with("_overhead") || name.ends_with(".latency") || name.ends_with("_floor");
}

std::string shown(std::string_view name, double value) {
  if (is_time(name)) return format_seconds(value);
  if (name == "context_memory") return format_bytes(value);
  return fmt::format("{:.4g}", value);
}

const Tunable* find_tunable(std::string_view name) {
  for (const auto& tunable : kTunables)
    if (tunable.name == name) return &tunable;
  return nullptr;
}

}  // namespace orch::plan
