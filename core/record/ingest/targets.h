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

// The targets that a rule can set, by their names in patterns. The first ones are the settings of a
// run, most of which are columns of tables. The values of a step, a rank, a timer, a progress bar
// and the end of a run follow.
// clang-format off
#define ORCH_TARGETS(X)                                                                           \
  X(gpus) X(nodes) X(gpus_per_node) X(layers) X(hidden) X(heads) X(vocab) X(vocab_padded) X(seq)  \
  X(params) X(tp) X(pp) X(cp) X(dp) X(interleave) X(layers_per_chunk) X(mbs) X(gas) X(gbs)        \
  X(batch_tokens) X(zero_stage) X(partition_params) X(train_samples) X(examples) X(epochs)        \
  X(steps_planned)                                                                                \
  /* flags */                                                                                     \
  X(flash_attn) X(sequence_parallel) X(fp32_accumulate) X(offload_activations) X(master_weights)  \
  X(launch_blocking) X(untied) X(fsdp)                                                            \
  /* texts */                                                                                     \
  X(gpu) X(framework) X(offload_weights) X(offload_optimizer) X(act_ckpt) X(dtype) X(optimizer)   \
  X(partition_method) X(grad_compression) X(site) X(job) X(node_list)                             \
  /* of a step */                                                                                 \
  X(step) X(step_seconds) X(samples) X(tokens) X(loss) X(samples_per_second)                      \
  X(samples_per_second_per_gpu) X(tokens_per_second) X(tokens_per_second_per_gpu)                 \
  X(steps_per_second) X(tflops) X(skipped) X(nan) X(epoch) X(micro_step) X(micro_seconds)         \
  X(clock) X(mean_step_seconds)                                                                   \
  /* of a rank */                                                                                 \
  X(rank) X(max_reserved) X(max_allocated) X(max_cached) X(max_active) X(host_memory)             \
  X(device_memory)                                                                                \
  X(tensor_rank) X(pipeline_rank) X(rank_params)                                                  \
  /* of a timer */                                                                                \
  X(timer) X(timer_seconds)                                                                       \
  /* of a progress bar */                                                                         \
  X(bar_step) X(bar_total) X(bar_elapsed) X(bar_seconds) X(bar_rate)                              \
  /* of the end */                                                                                \
  X(train_runtime) X(train_samples_per_second) X(train_steps_per_second) X(train_loss)            \
  X(train_epoch) X(train_tokens_per_second)                                                       \
  X(tflops_profiler) X(resume_step) X(saved_step) X(time)
// clang-format on

enum class IngestTarget : std::uint8_t {
#define ORCH_TARGET(name) name,
  ORCH_TARGETS(ORCH_TARGET)
#undef ORCH_TARGET
      count_
};

inline constexpr std::size_t kTargets = static_cast<std::size_t>(IngestTarget::count_);
inline constexpr std::size_t kSettings = static_cast<std::size_t>(IngestTarget::step);  // of a run

enum class Type : std::uint8_t { number, flag, text };

std::string_view name(IngestTarget target);
constexpr Type type(IngestTarget target) {
  if (target >= IngestTarget::flash_attn && target <= IngestTarget::fsdp) return Type::flag;
  const bool text = (target >= IngestTarget::gpu && target <= IngestTarget::node_list) ||
                    target == IngestTarget::rank || target == IngestTarget::timer ||
                    target == IngestTarget::bar_elapsed || target == IngestTarget::time;
  return text ? Type::text : Type::number;
}
std::optional<IngestTarget> parse_target(std::string_view name);
const std::vector<std::string>& target_names();

// True if different values of the setting mean two runs instead of one that was continued.
bool tells_apart(IngestTarget setting);

// The values of one line.
class TargetValues {
 public:
  using Mask = std::array<std::uint64_t, 2>;

  void clear() {
    mask_ = {};
    more.clear();
  }
  bool has(IngestTarget target) const {
    const auto i = static_cast<std::size_t>(target);
    return (mask_[i / 64] >> (i % 64) & 1) != 0;
  }
  void set(IngestTarget target, double value) {
    const auto i = static_cast<std::size_t>(target);
    numbers_[i] = value;
    mask_[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  void set_text(IngestTarget target, std::string_view text) {
    set(target, 0);
    texts_[static_cast<std::size_t>(target)] = text;
  }
  void unset(IngestTarget target) {
    const auto i = static_cast<std::size_t>(target);
    mask_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
  }
  double number(IngestTarget target) const { return numbers_[static_cast<std::size_t>(target)]; }
  double number_or(IngestTarget target, double otherwise) const {
    return has(target) ? number(target) : otherwise;
  }
  std::string_view text(IngestTarget target) const {
    return texts_[static_cast<std::size_t>(target)];
  }
  // Reads a string as the target's type. False if it is not of that type or is "None"; then nothing
  // is set.
  bool read(IngestTarget target, std::string_view text, double scale = 1, double over = 1);
  // The targets that are set, for remove().
  const Mask& mask() const { return mask_; }
  void remove(const Mask& mask) {
    mask_[0] &= ~mask[0];
    mask_[1] &= ~mask[1];
  }
  bool empty() const { return (mask_[0] | mask_[1]) == 0 && more.empty(); }

  // Values without a target, such as more_seed and version_torch, by their names in the rule.
  std::vector<std::pair<std::string_view, std::string_view>> more;

 private:
  Mask mask_{};
  std::array<double, kTargets> numbers_{};
  std::array<std::string_view, kTargets> texts_{};
};
static_assert(kTargets <= 128);

}  // namespace orch::ingest
