#pragma once

#include <algorithm>
#include <cmath>

#include "backends/zero3/settings.h"

namespace orch::zero3 {

// What is in host memory: nothing, masters and moments, or weights and gradients too.
enum class Offload { none, optimizer, full };

// The settings of a run in common form, for any of the three strategies.
struct Mode {
  std::int64_t stage = 3;        // what is sharded: 1 the optimizer, 2 gradients too, 3 weights too
  std::int64_t shard_ranks = 1;  // number of ranks that share one copy of the states
  std::int64_t prefetch = 1;     // number of layers gathered ahead
  bool fsdp =
      false;  // fp32 weights are sharded, 16-bit copies gathered; the root unit stays gathered
  bool keeps_all = false;  // weights stay from forward to backward; else they are freed
  bool overlap = true;     // reduce gradients during backward
  Offload offload = Offload::none;
  double offload_fraction = 1;

  bool is_full() const { return offload == Offload::full; }
  // For our own trainer: some weights (gradients) are stored elsewhere than where they are used
  // (computed).
  bool moves_weights() const { return stage == 3 && (shard_ranks > 1 || is_full()); }
  bool moves_gradients() const { return is_full() || (stage > 1 && shard_ranks > 1); }
  // The number of leading units in backward's order (the final norm, layers from the last one, the
  // embedding) that are in host memory: forward needs the others first, and the device updates them
  // at once.
  std::int64_t layers_on_host(std::int64_t layers) const {
    return static_cast<std::int64_t>(std::ceil(offload_fraction * static_cast<double>(layers)));
  }
  std::int64_t units_on_host(std::int64_t layers) const {
    if (offload == Offload::none || offload_fraction <= 0) return 0;
    return offload_fraction >= 1 ? layers + 2 : 1 + layers_on_host(layers);
  }
};

// Run is the run as either half sees it. near: number of replicas on the GPUs of a node.
template <class Run>
Mode mode_of(const Run& run, std::string_view strategy, std::int64_t replicas, std::int64_t near) {
  Mode mode;
  mode.shard_ranks = replicas;
  mode.prefetch = settings.prefetch(run);
  mode.fsdp = strategy == "fsdp";
  mode.overlap = settings.overlap(run);
  if (strategy == "deepspeed") mode.stage = settings.stage(run);
  const auto offload = settings.offload.or_default(run);
  mode.offload = offload == "full"        ? Offload::full
                 : offload == "optimizer" ? Offload::optimizer
                                          : Offload::none;
  if (!mode.fsdp) {
    mode.offload_fraction = settings.offload_fraction.or_default(run);
    return mode;
  }
  mode.keeps_all = settings.sharding(run) == "grad_op";
  if (settings.sharding(run) != "hybrid") return mode;
  const std::int64_t asked = settings.hybrid_shard_group(run);
  mode.shard_ranks = std::min(asked > 0 ? asked : std::max<std::int64_t>(1, near), replicas);
  return mode;
}

}  // namespace orch::zero3
