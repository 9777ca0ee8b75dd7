#include "core/record/published/framework.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "core/base/text.h"
#include "core/plan/stack.h"

namespace orch::published {
namespace {

using plan::Value;
using record::Record;

const std::vector<std::string>& frameworks() {
  static const std::vector<std::string> kNames{"megatron",
                                               "megatron-lm",
                                               "megatron-deepspeed",
                                               "megatron-deepspeed-zero3",
                                               "hf-deepspeed-zero3",
                                               "deepspeed",
                                               "fsdp",
                                               "ddp",
                                               "zero3",
                                               "megatron-core",
                                               "megatron-bridge",
                                               "nemo",
                                               "nanotron",
                                               "torchtitan",
                                               "llm-foundry"};
  return kNames;
}

bool is_megatron_deepspeed(const Record& row) {
  return lower(row.field_text("framework")).starts_with("megatron-deepspeed");
}

// From 2022-02-28 on, Megatron-DeepSpeed trains bf16 with an optimizer of its own, which shards the
// states like ZeRO-1 and sums gradients in fp32; tables call that "without ZeRO".
bool has_bf16_optimizer(const Record& row) {
  return is_megatron_deepspeed(row) && lower(row.field_text("dtype")) == "bf16" &&
         row.origin.date >= "2022-02-28" && row.whole("zero_stage").value_or(0) == 0;
}

// Megatron of 2021 had no sharded optimizer. Megatron-DeepSpeed ran with ZeRO-1 wherever tables
// state a stage, and where they do not, the memory on data-parallel ranks agrees with it.
std::int64_t zero_stage_of(const Record& row, std::vector<std::string>& assumed) {
  const bool deepspeed = is_megatron_deepspeed(row);
  if (has_bf16_optimizer(row)) {
    assumed.emplace_back("zero_stage 1 and sums in fp32: the BF16 optimizer of DeepSpeed");
    return 1;
  }
  if (row.whole("zero_stage")) return *row.whole("zero_stage");
  if (lower(row.field_text("framework")).ends_with("-zero3")) return 3;
  if (deepspeed && row.whole("data_parallel").value_or(2) > 1) assumed.emplace_back("zero_stage 1");
  return deepspeed ? 1 : 0;
}

// Megatron's own runs of that time used fp16; others used the GPU's fastest format.
std::string dtype_of(const Record& row, const plan::Gpu& gpu, std::vector<std::string>& assumed) {
  if (row.field("dtype")) return lower(row.field_text("dtype"));
  const bool then = lower(row.field_text("framework")).starts_with("megatron");
  const std::string dtype = then || gpu.peak("bf16").value <= 0 ? "fp16" : "bf16";
  assumed.push_back("dtype " + dtype);
  return dtype;
}

std::string optimizer_of(const Record& row, std::vector<std::string>& assumed) {
  const auto name = lower(row.field_text("optimizer"));
  if (name.find("adafactor") != std::string::npos) return "adafactor";
  if (!name.empty() && name.find("adam") == std::string::npos)
    assumed.push_back("optimizer '" + printable(row.field_text("optimizer")) + "' taken as adamw");
  return "adamw";
}

// DeepSpeed distributes the layers that match its pattern; without a pattern Megatron distributes
// layers. If that left the last stage empty, and counting the embeddings gives equal stages, the
// latter was meant.
std::string partition_of(const Record& row, std::vector<std::string>& assumed) {
  const auto method = lower(row.field_text("partition_method"));
  if (method.find("embed") != std::string::npos) return "transformer|embedding";
  const auto pp = row.whole("pipeline_parallel").value_or(1);
  const auto layers = row.whole("layers").value_or(0);
  const auto chunks = pp * row.whole("interleave").value_or(1);
  if (chunks > pp && layers % chunks != 0 && (layers + 2) % chunks == 0) {
    assumed.emplace_back("embeddings counted as layers, or the chunks would not be equal");
    return "transformer|embedding";
  }
  const auto portion = (layers + pp - 1) / pp;
  if (!method.empty() || portion * (pp - 1) < layers || (layers + 2) % pp != 0) return "uniform";
  assumed.emplace_back("embeddings counted as layers, or the last stage would have none");
  return "transformer|embedding";
}

std::string engine_of(const Record& row) {
  if (row.field("engine")) return row.field_text("engine");
  if (lower(row.field_text("stack")).starts_with("orch-")) return "orch";
  return is_megatron_deepspeed(row) ? "deepspeed" : "megatron";
}

// Rows of DeepSpeed are older than its version 0.12.5.
std::string partition_rule(const std::string& engine) {
  if (engine == "nanotron") return "costs";
  return engine == "deepspeed" ? "portions" : "balanced";
}

// FULL_SHARD, SHARD_GRAD_OP and HYBRID_SHARD are PyTorch's terms; HSDP and "inside the node" are
// others'.
std::string sharding_of(const Record& row) {
  const auto words = lower(row.field_text("sharding"));
  const auto says = [&](std::string_view word) { return words.find(word) != std::string::npos; };
  if (says("hybrid") || says("hsdp") || says("inside")) return "hybrid";
  return says("grad_op") ? "grad_op" : "full";
}

void add_common(const Record& row, const plan::Gpu& gpu, FrameworkWay& way,
                std::vector<std::string>& assumed) {
  const auto recompute = recompute_of(row);
  if (!row.field("recompute")) assumed.push_back("recompute " + recompute);
  way.settings.emplace_back("recompute", recompute);
  way.settings.emplace_back("dtype", dtype_of(row, gpu, assumed));
  way.settings.emplace_back("optimizer", optimizer_of(row, assumed));
  const auto add = [&](const char* name, const Value& otherwise) {
    const auto* said = row.field(name);
    const auto value = said != nullptr ? *said : otherwise;
    if (plan::is_given(value)) way.settings.emplace_back(name, value);
  };
  add("flash_attention", false);
  for (const auto* name :
       {"tensor_parallel", "pipeline_parallel", "context_parallel", "interleave"})
    add(name, std::int64_t{1});
  add("expert_parallel", std::int64_t{1});
  add("sequence_parallel", false);
  for (const auto* name :
       {"offload_activations", "cross_entropy", "master_weights", "expert_tensor_parallel",
        "expert_dispatch", "overlap_experts", "overlap_tensor", "keep_gathered",
        "recompute_modules", "cuda_graphs", "mtp_layers", "stage_layers", "offload_layers",
        "offload_modules", "dropout_masks"})
    add(name, {});
  add("launch_blocking", false);
  for (const auto* name : {"offload", "compression"})
    way.settings.emplace_back(name, row.field(name) ? lower(row.field_text(name)) : "none");
}

// True for a value that describes what a strategy without this parameter does anyway.
bool happens_anyway(const std::string& setting, const Value& value) {
  if (setting == "tensor_parallel" || setting == "pipeline_parallel" ||
      setting == "context_parallel" || setting == "expert_parallel" || setting == "interleave")
    return value == Value(std::int64_t{1});
  if (setting == "offload" || setting == "compression") return value == Value(std::string("none"));
  // Every other strategy has master weights; a source without them in its replicas has none in all
  // its rows.
  if (setting == "master_weights") return true;
  return value == Value(false);
}

}  // namespace

std::string strategy_of(const Record& row) {
  std::vector<std::string> assumed;
  const auto name = lower(row.field_text("framework"));
  if (name == "ddp" || name == "fsdp" || name == "zero3") return name;
  if (name == "torchtitan" || name == "llm-foundry") return "fsdp";
  // Megatron Core shards gradients and weights itself (Megatron-FSDP).
  if (name == "megatron-core" || name == "megatron-bridge" || name == "nemo") return "megatron";
  if (is_megatron(row)) return zero_stage_of(row, assumed) >= 2 ? "deepspeed" : "megatron";
  return name.find("deepspeed") != std::string::npos ? "deepspeed" : "";
}

bool is_megatron(const Record& row) {
  const auto name = lower(row.field_text("framework"));
  return name.starts_with("megatron") || name == "nemo" || name == "nanotron";
}

std::string recompute_of(const Record& row) {
  const auto cell = lower(row.field_text("recompute"));
  if (cell == "true" || cell == "yes" || cell == "1") return "full";
  if (cell == "false" || cell == "no" || cell == "0") return "none";
  if (!cell.empty()) return cell;
  // Models that need Megatron's parallelism recompute; other sources state it when they do.
  return is_megatron(row) ? "full" : "none";
}

Result<FrameworkWay> way_of(const Record& row, const plan::Gpu& gpu,
                            std::vector<std::string>& assumed) {
  FrameworkWay way;
  const auto framework = row.field_text("framework");
  const auto zero_stage = zero_stage_of(row, assumed);
  way.strategy = strategy_of(row);
  if (way.strategy.empty())
    return Error{"framework",
                 framework.empty() ? "names none" : "no '" + printable(framework) + "' here",
                 suggestion(lower(framework), frameworks())};
  add_common(row, gpu, way, assumed);
  if (way.strategy == "megatron") {
    way.settings.emplace_back("zero_stage", zero_stage);
    const auto engine = engine_of(row);
    // Megatron-LM's default; fp16 gradients are summed in fp16.
    const std::pair<std::string, plan::Value> bf16{"dtype", std::string("bf16")};
    const bool sums_wide = has_bf16_optimizer(row) ||
                           (engine == "megatron" && std::ranges::count(way.settings, bf16) > 0);
    way.settings.emplace_back("fp32_accumulate", row.flag("fp32_accumulate").value_or(sums_wide));
    way.settings.emplace_back("stage_partition", partition_of(row, assumed));
    way.settings.emplace_back("partition_rule", partition_rule(engine));
    way.settings.emplace_back("engine", engine);
  }
  if (way.strategy == "deepspeed") {
    if (zero_stage == 0)
      return Error{"zero_stage", "says none: which stage of ZeRO it was is open", "give 1, 2 or 3"};
    way.settings.emplace_back("stage", zero_stage);
  }
  if (way.strategy == "fsdp") way.settings.emplace_back("sharding", sharding_of(row));
  const bool own = lower(row.field_text("stack")).starts_with("orch-");  // our own trainer
  if (way.strategy == "deepspeed" || way.strategy == "fsdp" || way.strategy == "ddp")
    way.settings.emplace_back("engine", own ? "orch" : "framework");
  if (own) way.settings.emplace_back("fused_kernels", true);  // on GPUs it has only fused kernels
  return way;
}

Result<std::vector<Value>> settings_of(const FrameworkWay& way, const plan::Strategy& strategy) {
  auto settings = mapped(strategy.params, &plan::Param::default_value);
  Errors errors;
  for (const auto& [name, value] : way.settings) {
    const int index = strategy.index(name);
    if (index < 0) {
      if (!happens_anyway(name, value))
        errors.push_back({name,
                          fmt::format("{} has no such setting, but the row says {}", strategy.name,
                                      plan::show(value)),
                          ""});
      continue;
    }
    const auto at = static_cast<std::size_t>(index);
    const auto conformed = plan::conform(strategy.params[at], value, name);
    if (errors.add(conformed)) settings[at] = *conformed;
  }
  if (!errors.empty()) return errors;
  return settings;
}

std::string stack_of(const Record& row, const plan::Partition& partition) {
  if (row.field("stack")) return row.field_text("stack");
  const auto framework = lower(row.field_text("framework"));
  const double date = plan::years_of(row.origin.date);
  const plan::Stack* best = nullptr;
  double least = 0;
  for (const auto& [stack, at] : partition.stacks) {
    if (!contains(stack->frameworks, framework)) continue;
    // For a row without a date the newest stack is assumed.
    const double years = plan::years_of(stack->date);
    const double off = date > 0 ? std::fabs(years - date) : -years;
    if (!best || off < least) best = stack.get(), least = off;
  }
  return best ? best->name : "";
}

}  // namespace orch::published
