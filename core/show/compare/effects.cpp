#include "core/show/compare/effects.h"

#include <map>

namespace orch::compare {
namespace {

constexpr Effect kNothing{false, false, false};
constexpr Effect kSpeed{true, false, false};
constexpr Effect kSpeedMemory{true, true, false};
constexpr Effect kAll{true, true, true};
constexpr Effect kLoss{false, false, true};

using Table = std::map<std::string_view, Effect>;

// Layouts, offload and recomputation compute the same numbers, up to rounding. A framework brings
// defaults of its own, from initialisation to schedules, so it can change the loss too.
const Table& settings() {
  static const Table kTable{
      {"strategy", kAll},
      {"framework", kAll},
      {"cluster", kSpeed},
      {"partition", kSpeed},
      {"gpu", kSpeedMemory},
      {"gpus", kSpeedMemory},
      {"nodes", kSpeed},
      {"gpus_per_node", kSpeed},
      {"model", kAll},
      {"params", kAll},
      {"layers", kAll},
      {"hidden", kAll},
      {"heads", kAll},
      {"vocab", kAll},
      {"seq", kAll},
      {"tensor_parallel", kSpeedMemory},
      {"pipeline_parallel", kSpeedMemory},
      {"data_parallel", kSpeedMemory},
      {"interleave", kSpeedMemory},
      {"micro_batch", kSpeedMemory},
      {"accumulate", kSpeedMemory},
      {"global_batch", kAll},
      {"stage", kSpeedMemory},
      {"zero_stage", kSpeedMemory},
      {"offload", kSpeedMemory},
      {"offload_activations", kSpeedMemory},
      {"recompute", kSpeedMemory},
      {"flash_attention", kSpeedMemory},
      {"sequence_parallel", kSpeedMemory},
      {"dtype", kAll},
      {"optimizer", kAll},
      {"compression", kAll},
      {"master_weights", kAll},
      {"fp32_accumulate", kAll},
      {"launch_blocking", kSpeed},
      {"partition_method", kSpeedMemory},
      // What logs say besides.
      {"seed", kLoss},
      {"lr", kLoss},
      {"learning_rate", kLoss},
      {"train_iters", kLoss},
      {"train_samples", kLoss},
      {"name", kNothing},
      {"id", kNothing},
      {"label", kNothing},
      {"job", kNothing},
  };
  return kTable;
}

const Table& circumstances() {
  static const Table kTable{
      {"date", kSpeed},  // one machine was 1.7x slower for a day, and nobody knows why
      {"commit", kAll},           {"node names", kSpeed},
      {"cluster file", kNothing},  // changes estimates, never measurements
      {"experiment", kNothing},   {"experiment file", kNothing},
      {"job", kNothing},
  };
  return kTable;
}

}  // namespace

Effect effect_of(std::string_view field) {
  const auto found = settings().find(field);
  return found == settings().end() ? kAll : found->second;
}

Effect circumstance_effect(std::string_view name) {
  const auto found = circumstances().find(name);
  return found == circumstances().end() ? kAll : found->second;
}

}  // namespace orch::compare
