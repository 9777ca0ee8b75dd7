#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orch::ingest {

// What a rule can set. The first ones are the settings of a run, most of them columns of
// tables; then what a step, a rank, a timer or the end of a run tells.
enum class Target : std::uint8_t {
  gpus,
  nodes,
  gpus_per_node,
  layers,
  hidden,
  heads,
  vocab,
  vocab_padded,
  seq,
  params,
  tp,
  pp,
  cp,
  dp,
  interleave,
  layers_per_chunk,
  mbs,
  gas,
  gbs,
  batch_tokens,
  zero_stage,
  partition_params,
  train_samples,
  examples,
  epochs,
  steps_planned,
  flash_attn,
  sequence_parallel,
  fp32_accumulate,
  offload_activations,
  master_weights,
  launch_blocking,
  untied,
  fsdp,
  gpu,
  framework,
  offload_weights,
  offload_optimizer,
  act_ckpt,
  dtype,
  optimizer,
  partition_method,
  grad_compression,
  site,
  job,
  node_list,
  // Of a step.
  step,
  step_seconds,
  samples,
  tokens,
  loss,
  samples_per_second,
  samples_per_second_per_gpu,
  tokens_per_second,
  tokens_per_second_per_gpu,
  steps_per_second,
  tflops,
  skipped,
  nan,
  epoch,
  micro_step,
  micro_seconds,
  // Of a rank.
  rank,
  max_reserved,
  max_allocated,
  max_cached,
  max_active,
  host_memory,
  tensor_rank,
  pipeline_rank,
  rank_params,
  // Of a timer.
  timer,
  timer_seconds,
  // Of a progress bar.
  bar_step,
  bar_total,
  bar_elapsed,
  bar_seconds,
  bar_rate,
  // Of the end.
  train_runtime,
  train_samples_per_second,
  train_steps_per_second,
  train_loss,
  tflops_profiler,
  resume_step,
  saved_step,
  time,
  count_
};

inline constexpr std::size_t kTargets = static_cast<std::size_t>(Target::count_);
inline constexpr std::size_t kSettings = static_cast<std::size_t>(Target::step);  // of a run

enum class Type : std::uint8_t { number, flag, text };

std::string_view name(Target target);
constexpr Type type(Target target) {
  if (target >= Target::flash_attn && target <= Target::fsdp) return Type::flag;
  const bool text = (target >= Target::gpu && target <= Target::node_list) ||
                    target == Target::rank || target == Target::timer ||
                    target == Target::bar_elapsed || target == Target::time;
  return text ? Type::text : Type::number;
}
std::optional<Target> parse_target(std::string_view name);
const std::vector<std::string>& target_names();

// Whether two runs in which it differs are two runs, not one that went on.
bool tells_apart(Target setting);

// What one line says.
class Values {
 public:
  using Mask = std::array<std::uint64_t, 2>;

  void clear() {
    mask_ = {};
    more.clear();
  }
  bool has(Target target) const {
    const auto i = static_cast<std::size_t>(target);
    return (mask_[i / 64] >> (i % 64) & 1) != 0;
  }
  void set(Target target, double value) {
    const auto i = static_cast<std::size_t>(target);
    numbers_[i] = value;
    mask_[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  void set_text(Target target, std::string_view text) {
    set(target, 0);
    texts_[static_cast<std::size_t>(target)] = text;
  }
  void unset(Target target) {
    const auto i = static_cast<std::size_t>(target);
    mask_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
  }
  double number(Target target) const { return numbers_[static_cast<std::size_t>(target)]; }
  double number_or(Target target, double otherwise) const {
    return has(target) ? number(target) : otherwise;
  }
  std::string_view text(Target target) const { return texts_[static_cast<std::size_t>(target)]; }
  // Reads a text as the target's type; false (and nothing set) where it is none, or None.
  bool read(Target target, std::string_view text, double scale = 1, double over = 1);
  // Which targets are set; and to take such ones out.
  const Mask& mask() const { return mask_; }
  void remove(const Mask& mask) {
    mask_[0] &= ~mask[0];
    mask_[1] &= ~mask[1];
  }
  bool empty() const { return (mask_[0] | mask_[1]) == 0 && more.empty(); }

  // more_seed and version_torch: what has no name of ours, by the name in the rule.
  std::vector<std::pair<std::string_view, std::string_view>> more;

 private:
  Mask mask_{};
  std::array<double, kTargets> numbers_{};
  std::array<std::string_view, kTargets> texts_{};
};
static_assert(kTargets <= 128);

}  // namespace orch::ingest
