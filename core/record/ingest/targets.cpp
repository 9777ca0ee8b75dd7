#include "core/record/ingest/targets.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/record/ingest/number.h"

namespace orch::ingest {
namespace {

constexpr std::array<std::string_view, kTargets> kNames = {
    "gpus", "nodes", "gpus_per_node", "layers", "hidden", "heads", "vocab", "vocab_padded", "seq",
    "params", "tp", "pp", "cp", "dp", "interleave", "layers_per_chunk", "mbs", "gas", "gbs",
    "batch_tokens", "zero_stage", "partition_params", "train_samples", "examples", "epochs",
    "steps_planned", "flash_attn", "sequence_parallel", "fp32_accumulate", "offload_activations",
    "master_weights", "launch_blocking", "untied", "fsdp", "gpu", "framework", "offload_weights",
    "offload_optimizer", "act_ckpt", "dtype", "optimizer", "partition_method", "grad_compression",
    "site", "job", "node_list",
    // of a step
    "step", "step_seconds", "samples", "tokens", "loss", "samples_per_second",
    "samples_per_second_per_gpu", "tokens_per_second", "tokens_per_second_per_gpu",
    "steps_per_second", "tflops", "skipped", "nan", "epoch", "micro_step",
    "micro_seconds",
    // of a rank
    "rank", "max_reserved", "max_allocated", "max_cached", "max_active", "host_memory",
    "tensor_rank", "pipeline_rank", "rank_params",
    // of a timer
    "timer", "timer_seconds",
    // of a progress bar
    "bar_step", "bar_total", "bar_elapsed", "bar_seconds", "bar_rate",
    // of the end
    "train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss",
    "tflops_profiler", "resume_step", "saved_step", "time"};

bool is_none(std::string_view text) {
  return text.empty() || text == "None" || text == "null" || text == "none";
}

std::optional<bool> to_flag(std::string_view text) {
  if (text == "True" || text == "true" || text == "1" || text == "yes") return true;
  if (text == "False" || text == "false" || text == "0" || text == "no") return false;
  return std::nullopt;
}

}  // namespace

std::string_view name(Target target) { return kNames[static_cast<std::size_t>(target)]; }

std::optional<Target> parse_target(std::string_view text) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Target>(found - kNames.begin());
}

const std::vector<std::string>& target_names() {
  static const std::vector<std::string> kAll(kNames.begin(), kNames.end());
  return kAll;
}

bool tells_apart(Target setting) {
  switch (setting) {
    case Target::gpus:
    case Target::layers:
    case Target::hidden:
    case Target::heads:
    case Target::vocab:
    case Target::seq:
    case Target::tp:
    case Target::pp:
    case Target::cp:
    case Target::dp:
    case Target::interleave:
    case Target::mbs:
    case Target::gas:
    case Target::gbs:
    case Target::zero_stage:
    case Target::flash_attn:
    case Target::sequence_parallel:
    case Target::offload_weights:
    case Target::offload_optimizer:
    case Target::act_ckpt:
    case Target::dtype:
    case Target::optimizer:
      return true;
    default:
      return false;
  }
}

bool Values::read(Target target, std::string_view text, double scale, double over) {
  text = trim(text);
  if (is_none(text)) return false;
  if (type(target) == Type::text) {
    set_text(target, text);
    return true;
  }
  if (type(target) == Type::flag) {
    const auto flag = to_flag(text);
    if (flag) set(target, *flag ? 1 : 0);
    return flag.has_value();
  }
  auto number = to_number(text);
  if (const auto last = text.size() - 1; !number && last > 0)
    if (const auto factor = suffix_factor(text.substr(last)); factor != 1)
      if ((number = to_number(text.substr(0, last)))) *number *= factor;
  if (number) set(target, *number * scale / over);
  return number.has_value();
}

}  // namespace orch::ingest
