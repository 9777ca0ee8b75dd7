#include "core/record/published/said.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/model.h"
#include "core/record/published/columns.h"
#include "core/record/published/flops.h"
#include "core/record/published/framework.h"
#include "core/record/published/sizes.h"

namespace orch::published {
namespace {

using record::Failure, record::Record, record::RunState;

// Columns whose cells are not stated by the source itself.
std::set<std::string> not_said(const Record& said) {
  std::set<std::string> out;
  for (const auto& name : split(said.field_text("inferred"), ';'))
    out.insert(std::string(trim(name)));
  for (const auto& assumed : said.assumptions) out.insert(assumed.substr(0, assumed.find(' ')));
  return out;
}

// The number of micro-batches can be in one of three columns, depending on the table.
std::optional<std::int64_t> accumulate_of(const Record& said) {
  for (const auto* name : {"accumulate", "pp_chunks", "grad_accum"})
    if (const auto count = said.whole(name)) return std::max<std::int64_t>(1, *count);
  return std::nullopt;
}

bool knows_size(const Record& record) {
  return record.whole("layers") && record.whole("hidden") && record.whole("vocab");
}

plan::Model model_of(const Record& record) {
  return shaped(
      record, {*record.whole("layers"), *record.whole("hidden"), record.whole("heads").value_or(1),
               *record.whole("vocab"), record.whole("seq").value_or(0)});
}

bool stays(const PublishedColumn& column) {
  return column.of_run && column.field != "pp_chunks" && column.field != "grad_accum";
}

void complete_fields(const Record& said, Record& out) {
  const auto assumed = not_said(said);
  const bool guessed = assumed.contains("framework");
  if (const auto strategy = strategy_of(said); !strategy.empty())
    out.set("strategy", strategy, guessed);
  std::set<std::string, std::less<>> done;
  for (const auto& column : columns()) {
    done.insert(column.field);
    if (const auto* held = said.field(column.field); held && stays(column))
      out.set(column.field, *held, assumed.contains(column.name));
  }
  if (said.field("recompute"))
    out.set("recompute", recompute_of(said), assumed.contains("act_ckpt"));
  // DDP shards nothing by definition.
  if (out.field_text("strategy") == "ddp" && !said.field("zero_stage"))
    out.set("zero_stage", std::int64_t{0}, guessed);
  if (!said.field("params") && knows_size(said)) out.set("params", model_of(said).params(), true);
  if (const auto accumulate = accumulate_of(said))
    out.set("accumulate", *accumulate, said.field("accumulate") && assumed.contains("gas"));
  for (const auto& field : said.fields)
    if (!done.contains(field.name)) out.set(field.name, field.value, field.assumed);
}

std::optional<double> tokens_per_second(const Record& record) {
  const auto& measured = record.measured;
  if (measured.days_per_100b_tokens) return 100e9 / (*measured.days_per_100b_tokens * kDay);
  const auto seq = record.field_number("seq"), batch = record.field_number("global_batch");
  if (!seq) return std::nullopt;
  if (measured.samples_per_second) return *measured.samples_per_second * *seq;
  if (measured.step_seconds && batch) return *batch * *seq / measured.step_seconds->value;
  return std::nullopt;
}

void complete_measurement(const Record& said, record::Measurement& out) {
  const auto batch = said.whole("global_batch");
  if (!out.tokens_per_second) out.tokens_per_second = tokens_per_second(said);
  if (out.tokens_per_second) out.days_per_100b_tokens = 100e9 / *out.tokens_per_second / kDay;
  if (!out.step_seconds && out.samples_per_second && batch) {
    const double seconds = static_cast<double>(*batch) / *out.samples_per_second;
    out.step_seconds = statistics::Interval{seconds, {}, {}, 1};
    out.step_seconds_from =
        fmt::format("{} samples / {:g} samples per second", *batch, *out.samples_per_second);
  }
  std::erase_if(out.tflops, [](const record::Tflops& tflops) { return tflops.value <= 0; });
  for (auto& tflops : out.tflops)
    if (tflops.convention.empty()) tflops.convention = "not given";
  if (out.peak_memory_bytes && out.peak_memory_from.empty())
    out.peak_memory_from = said.field_text("mem_of") == "first"       ? "of the first stage"
                           : said.field_text("mem_of") == "allocated" ? "of tensors alone"
                                                                      : "as published";
}

// The author's own marks on a row become doubts.
void doubt_marked(const Record& said, Record& out) {
  if (said.flag("suspect").value_or(false))
    out.doubts.push_back({"suspect", "days_per_100b_tokens", "its table marks the row as suspect"});
  if (const auto other = said.field_text("dup_of"); !other.empty())
    out.doubts.push_back(
        {"copy", "id", "its table says that it is " + printable(other) + ", printed again"});
}

}  // namespace

std::optional<double> step_time(const Record& record) {
  const auto& step = record.measured.step_seconds;
  return step ? std::optional(step->value) : std::nullopt;
}

std::optional<double> memory_gib(const Record& record) {
  const auto& bytes = record.measured.peak_memory_bytes;
  return bytes ? std::optional(*bytes / kGiB) : std::nullopt;
}

std::optional<double> stated_tflops(const Record& record) {
  const auto& tflops = record.measured.tflops;
  return tflops.empty() || tflops.front().value <= 0 ? std::nullopt
                                                     : std::optional(tflops.front().value);
}

std::string tflops_formula(const Record& record) {
  const auto& tflops = record.measured.tflops;
  return tflops.empty() ? "" : tflops.front().convention;
}

// A log with step times ran, however it ended.
std::string status_of(const Record& record) {
  if (record.failure == Failure::gpu_memory || record.failure == Failure::host_memory) return "oom";
  if (record.failure == Failure::hang) return "hang";
  if (record.state == RunState::failed) return "failed";
  const bool ran = record.origin.kind == "log" ? record.measured.step_seconds.has_value()
                                               : record.state == RunState::finished;
  return ran ? "ok" : "";
}

std::optional<double> billions(const Record& record) {
  const auto params = record.field_number("params");
  return params ? std::optional(std::round(*params) / 1e9) : std::nullopt;
}

bool left_out(const Record& record) {
  return record.flag("suspect").value_or(false) || record.field("dup_of") != nullptr;
}

void complete(Record& record) {
  const Record said = record;
  record.fields.clear();
  complete_fields(said, record);
  complete_measurement(said, record.measured);
  doubt_marked(said, record);
}

void add_tflops(Record& record) {
  const auto& step = record.measured.step_seconds;
  const auto batch = record.field_number("global_batch"), gpus = record.field_number("gpus");
  if (!step || !knows_size(record) || !record.whole("seq") || !batch || !gpus) return;
  auto& tflops = record.measured.tflops;
  for (const auto& held : tflops)
    if (held.convention.starts_with("megatron")) return;
  auto model = model_of(record);
  model.vocab = padded_vocab(model.vocab, record.whole("tensor_parallel").value_or(1));
  const auto flops = plan::megatron_flops(model, *batch, recompute_of(record) == "full");
  tflops.push_back({flops / (step->value * *gpus * 1e12), "megatron", true});
}

}  // namespace orch::published
