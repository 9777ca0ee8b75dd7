#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "core/base/text.h"
#include "core/plan/vocabulary.h"
#include "core/record/ingest/conclude.h"

namespace orch::ingest {
namespace {

using record::Record;
using Count = std::optional<std::int64_t>;

// The setting as a count; nothing if it is not a valid one.
Count count(const LoggedRun& run, IngestTarget target) {
  return whole_count(run.settings.number(target).value_or(0));
}

// Maps names such as "torch.bfloat16" to "bf16".
std::string dtype_word(const std::string& said) {
  const auto word = lower(said);
  if (word.find("bfloat16") != std::string::npos || word.find("bf16") != std::string::npos)
    return "bf16";
  if (word.find("float16") != std::string::npos || word == "half" || word == "fp16") return "fp16";
  if (word.find("float32") != std::string::npos || word == "float" || word == "fp32") return "fp32";
  return printable(word);
}

std::string act_word(const std::string& said) {
  const auto word = lower(said);
  if (word == "true") return "full";
  return word == "false" ? "none" : printable(word);
}

// Sets a field unless the value is missing.
template <class T>
void put(Record& record, std::string_view name, const std::optional<T>& value) {
  if (value) record.set(name, *value);
}
void put(Record& record, std::string_view name, const std::string& text) {
  if (!text.empty()) record.set(name, printable(text));
}

// Lists a column whose value is not stated in the log, so that a table keeps this information.
void infer(Record& record, std::string_view column) {
  const auto before = record.field_text("inferred");
  record.set("inferred", before + (before.empty() ? "" : ";") + std::string(column));
}

// The name for the run's combination of frameworks.
std::string framework_of(const LoggedRun& run, const Record& record) {
  const auto has = [&](const char* name) { return run.frameworks.contains(name); };
  const std::string tail = record.whole("zero_stage") == 3 ? "-zero3" : "";
  // Lines of several frameworks may occur, but only one of them reports the steps.
  const auto& steps = run.step_framework;
  if (!steps.empty() && steps != "megatron" && steps != "deepspeed" && steps != "huggingface")
    return steps;
  if (has("megatron")) return has("deepspeed") ? "megatron-deepspeed" + tail : "megatron";
  if (has("deepspeed")) return has("huggingface") ? "hf-deepspeed" + tail : "deepspeed";
  if (has("huggingface"))
    return run.settings.flag(IngestTarget::fsdp).value_or(false) ? "fsdp" : "huggingface";
  return run.frameworks.empty() ? "" : *run.frameworks.begin();
}

std::string word(IngestTarget target, const std::string& said) {
  if (target == IngestTarget::dtype) return dtype_word(said);
  return target == IngestTarget::act_ckpt ? act_word(said) : said;
}

// Fills in the fields that the log states. Patterns name the fields of the vocabulary as tables do.
void fill_said(const LoggedRun& run, Record& record) {
  const auto& settings = run.settings;
  put(record, "vocab", count(run, IngestTarget::vocab_padded));  // unless vocab is set below
  put(record, "context_parallel", count(run, IngestTarget::cp));
  for (const auto& term : plan::vocabulary()) {
    const auto target = parse_target(term.alias.empty() ? term.name : term.alias);
    if (!target || static_cast<std::size_t>(*target) >= kSettings) continue;
    if (type(*target) == Type::flag) put(record, term.name, settings.flag(*target));
    if (type(*target) == Type::number) put(record, term.name, count(run, *target));
    if (type(*target) == Type::text && settings.has(*target))
      put(record, term.name, word(*target, settings.text(*target)));
  }
  if (!record.field("seq") && run.seq >= 1 && run.seq < 1e9)
    record.set("seq", static_cast<std::int64_t>(run.seq));
  const auto stage = settings.whole(IngestTarget::zero_stage);
  record.set("zero_stage",
             stage && *stage >= 0 && *stage <= 3 ? plan::Value(*stage) : plan::Value());
}

// Computes a missing one of world size, tensor, pipeline and data parallelism from the others.
void complete_layout(std::int64_t context_parallel, Record& record) {
  auto gpus = record.whole("gpus"), nodes = record.whole("nodes");
  auto per_node = record.whole("gpus_per_node"), dp = record.whole("data_parallel");
  auto tp = record.whole("tensor_parallel"), pp = record.whole("pipeline_parallel");
  if (!gpus && nodes && per_node && *nodes * *per_node <= kMostCount) gpus = *nodes * *per_node;
  if (gpus || dp) {
    if (!tp) tp = 1;
    if (!pp) pp = 1;
  }
  const auto model = static_cast<double>(tp.value_or(1)) * static_cast<double>(pp.value_or(1)) *
                     static_cast<double>(context_parallel);
  if (!gpus && dp && model * static_cast<double>(*dp) <= kMostCount)
    gpus = static_cast<std::int64_t>(model) * *dp;
  if (gpus && !dp && model <= kMostCount && *gpus % static_cast<std::int64_t>(model) == 0)
    dp = *gpus / static_cast<std::int64_t>(model);
  if (gpus && nodes && !per_node && *gpus % *nodes == 0) per_node = *gpus / *nodes;
  if (gpus && !nodes && per_node && *gpus % *per_node == 0) nodes = *gpus / *per_node;
  put(record, "gpus", gpus);
  put(record, "nodes", nodes);
  put(record, "gpus_per_node", per_node);
  put(record, "tensor_parallel", tp);
  put(record, "pipeline_parallel", pp);
  put(record, "data_parallel", dp);
}

void fill_interleave(const LoggedRun& run, Record& record) {
  const auto chunk = count(run, IngestTarget::layers_per_chunk);
  const auto layers = record.whole("layers"), pp = record.whole("pipeline_parallel");
  if (!record.field("interleave") && chunk && layers && pp && *layers % (*pp * *chunk) == 0)
    record.set("interleave", *layers / (*pp * *chunk));
}

void fill_batch(const LoggedRun& run, Record& record) {
  if (const auto each = whole_count(run.micro_batches.each());
      each && !record.field("accumulate") && !run.counts_micro_batches)
    record.set("accumulate", *each);
  if (const auto stepped = whole_count(run.batch);
      stepped && !run.settings.is_given(IngestTarget::gbs)) {
    if (record.whole("global_batch").value_or(*stepped) != *stepped)
      record.set("accumulate", {});  // it belongs to another batch size of the ramp
    record.set("global_batch", *stepped);
  }
}

// Global batch = micro-batch x accumulation x data parallelism: computes the missing factor.
void complete_batch(Record& record) {
  auto dp = record.whole("data_parallel"), micro = record.whole("micro_batch");
  auto steps = record.whole("accumulate"), batch = record.whole("global_batch");
  const auto times = [](const Count& a, const Count& b) -> Count {
    if (!a || !b || static_cast<double>(*a) * static_cast<double>(*b) > kMostCount)
      return std::nullopt;
    return *a * *b;
  };
  if (const auto share = times(micro, steps); !dp && share && batch && *batch % *share == 0)
    dp = *batch / *share;
  if (const auto share = times(dp, steps); !micro && share && batch && *batch % *share == 0)
    micro = *batch / *share;
  else if (const auto whole = times(micro, dp)) {
    // DeepSpeed inside Megatron prints only the accumulation at the beginning of a batch-size ramp.
    if (batch && *batch % *whole == 0) steps = *batch / *whole;
    if (!batch) batch = times(whole, steps);
  }
  put(record, "data_parallel", dp);
  put(record, "micro_batch", micro);
  put(record, "accumulate", steps);
  put(record, "global_batch", batch);
}

// The sum of the parameters over the ranks of all stages. If embeddings are tied, the last stage
// has a copy of the embedding, which is subtracted.
std::optional<double> summed_params(const LoggedRun& run, const Record& record) {
  const auto tp = record.field_number("tensor_parallel");
  const auto pp = record.field_number("pipeline_parallel"), hidden = record.field_number("hidden");
  if (run.rank_params.empty() || !tp || !pp) return std::nullopt;
  if (static_cast<double>(run.rank_params.size()) != *tp * *pp) return std::nullopt;
  double sum = 0;
  for (const auto& [rank, params] : run.rank_params) sum += params;
  const auto padded = run.settings.number(IngestTarget::vocab_padded);
  const bool tied = !run.settings.flag(IngestTarget::untied).value_or(false);
  if (*pp > 1 && tied && padded && hidden) sum -= *padded * *hidden;
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

// True if the first number of parameters may be a rounded form of the second, which is the sum over
// the ranks: "0.12" billion may be 124 million. Tensor parallelism repeats the norms on every rank,
// so the sum may be slightly larger. A rank of experts prints only its own parameters; then the
// difference is larger than the tolerance.
bool is_rounded(double params, double exact) {
  constexpr double kHalf = 6e6, kNorms = 0.002;
  const double hundredths = params / 1e7;
  return std::abs(hundredths - std::round(hundredths)) < 1e-6 &&
         std::abs(exact - params) < std::max(kHalf, kNorms * params);
}

void fill_params(const LoggedRun& run, Record& record) {
  auto params = run.settings.number(IngestTarget::params);
  const auto sum = summed_params(run, record);
  if (!params || (sum && is_rounded(*params, *sum))) params = sum;
  const auto part = run.settings.number(IngestTarget::partition_params);
  const auto gpus = record.field_number("gpus");
  // ZeRO-3 shards over the data-parallel ranks, tensor parallelism over the others.
  if (!params && part && record.whole("zero_stage").value_or(3) == 3 && gpus)
    params = *part * *gpus;
  if (params && *params > 0 && std::isfinite(*params)) record.set("params", *params);
}

std::string offload_of(const LoggedRun& run, const Record& record) {
  const auto away = [&](IngestTarget target) {
    const auto& word = run.settings.text(target);
    return word == "cpu" || word == "nvme";
  };
  if (away(IngestTarget::offload_weights)) return "full";
  if (away(IngestTarget::offload_optimizer)) return "optimizer";
  return record.field("zero_stage") ? "none" : "";
}

// Marks the settings that a rule assumed because they are usual for the framework.
void note_assumed(const LoggedRun& run, Record& record) {
  for (std::size_t i = 0; i < kSettings; ++i) {
    const auto target = static_cast<IngestTarget>(i);
    if (!run.settings.has(target) || !run.settings.is_assumed(target)) continue;
    infer(record, name(target));
    record.assumptions.push_back(std::string(name(target)) +
                                 ": a habit of the framework, not given");
  }
}

}  // namespace

void complete_counts(const LoggedRun& run, Record& record) {
  const auto context_parallel = count(run, IngestTarget::cp).value_or(1);
  complete_layout(context_parallel, record);
  complete_batch(record);
  // complete_batch() may have found the data parallelism.
  if (!record.field("gpus")) complete_layout(context_parallel, record);
}

void fill_fields(const LoggedRun& run, Record& record) {
  fill_said(run, record);
  fill_batch(run, record);
  complete_counts(run, record);
  fill_interleave(run, record);
  fill_params(run, record);
  put(record, "offload", offload_of(run, record));
  if (!record.field("framework")) put(record, "framework", framework_of(run, record));
  note_assumed(run, record);
}

void note_layout(const LoggedRun& run, Record& record) {
  constexpr std::array kDivide{"maxtext", "nanotron", "nemo", "torchtitan"};
  if (!contains(kDivide, record.field_text("framework"))) return;
  if (record.whole("gpus") == 1) return;
  for (const auto& [target, field] : {std::pair{IngestTarget::tp, "tensor_parallel"},
                                      std::pair{IngestTarget::pp, "pipeline_parallel"}}) {
    if (run.settings.has(target) || record.whole(field) != 1) continue;
    infer(record, name(target));
    record.assumptions.push_back(std::string(name(target)) + " 1: not given");
  }
}

}  // namespace orch::ingest
