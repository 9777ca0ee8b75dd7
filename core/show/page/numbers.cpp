#include "core/show/page/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"

namespace orch::page {
namespace {

using record::Record;

std::optional<Interval> whole(std::optional<Interval> interval) {
  if (!interval || !positive(interval->value)) return std::nullopt;
  if (!positive(interval->low) || !positive(interval->high)) interval->low = interval->high = {};
  return interval;
}

MeasuredAndEstimated both(const Record& record, std::string_view name) {
  const auto& quantity = *record::find_quantity(name);
  return {whole(record::measured(quantity, record)), whole(record::estimated(quantity, record))};
}

constexpr std::array kOwnColumns{
    "strategy",      "framework",   "cluster",       "partition",       "gpu",
    "gpus",          "nodes",       "gpus_per_node", "tensor_parallel", "pipeline_parallel",
    "data_parallel", "micro_batch", "accumulate",    "global_batch"};

}  // namespace

std::optional<double> MeasuredAndEstimated::error() const {
  if (!measured || !estimated) return std::nullopt;
  return 100 * (estimated->value / measured->value - 1);
}

std::optional<double> PageNumbers::error() const {
  const auto of_step = step.error();
  return of_step ? of_step : days.error();
}

PageNumbers numbers_of(const Record& record) {
  PageNumbers out;
  out.step = both(record, "step_seconds");
  out.memory = both(record, "peak_memory_bytes");
  const MeasuredAndEstimated seconds{whole(record::seconds_per_token(record)),
                                     whole(record::estimated_seconds_per_token(record))};
  for (const auto kind : {&MeasuredAndEstimated::measured, &MeasuredAndEstimated::estimated})
    if (const auto& each = seconds.*kind) {
      out.days.*kind = each->times(record::kDaysPer100B);
      out.rate.*kind = each->inverse(1);
    }
  if (record.estimated) out.memory_limit = positive(record.estimated->usable_memory);
  return out;
}

std::string strategy_of(const Record& record) {
  auto name = record.field_text("strategy");
  return name.empty() ? record.field_text("framework") : name;
}

// The name of the model, or else its size, rounded to `digits` digits.
static std::string model_to(const Record& record, int digits) {
  auto name = record.field_text("model");
  if (!name.empty()) return name;
  const auto params = positive(record.field_number("params"));
  if (!params) return {};
  const double unit = std::pow(10, std::floor(std::log10(*params)) + 1 - digits);
  const double size = std::round(*params / unit) * unit;
  return format_tokens(size) + (size < 1e6 ? " parameters" : "");
}

std::string size_class_of(const Record& record) { return model_to(record, 2); }

std::string model_of(const Record& record) {
  return model_to(record, 3);  // 52B and 52.01B are the same model, counted differently
}

std::vector<std::string> differing_settings(const std::vector<const Record*>& records,
                                            const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const auto& name : names) {
    if (plan::is_of_model(name) && name != "seq") continue;  // it has its own column
    if (std::find(kOwnColumns.begin(), kOwnColumns.end(), name) != kOwnColumns.end()) continue;
    std::set<std::string> values;
    for (const auto* record : records) values.insert(record->field_text(name));
    if (values.size() > 1) out.push_back(name);
  }
  return out;
}

std::string variant_of(const Record& record, const std::vector<std::string>& settings) {
  std::string out;
  for (const auto& name : settings) {
    const auto* value = record.field(name);
    if (value == nullptr) continue;
    const auto text = record::text(*value);
    if (text == "false" || text == "none" || text == "0" || text.empty()) continue;
    if (!out.empty()) out += ", ";
    out += text == "true" ? name : fmt::format("{}={}", name, text);
  }
  return out;
}

std::string not_counted(const Record& record) {
  const auto& measured = record.measured;
  const bool timed =
      measured.step_seconds || measured.tokens_per_second || measured.days_per_100b_tokens;
  if (record.failure == record::Failure::gpu_memory ||
      record.failure == record::Failure::host_memory)
    return "ran out of memory";
  // If two measurements disagree, either may be wrong; leaving out both would hide results.
  if (std::any_of(record.doubts.begin(), record.doubts.end(),
                  [](const record::Doubt& doubt) { return doubt.kind != "disagree"; }))
    return "are doubtful";
  if (record.state == record::RunState::failed && !timed) return "failed before a step was timed";
  const bool too_large = record.estimated && record.estimated->fit == plan::MemoryFit::oom;
  return too_large && !record.has_measurement() ? "are estimated not to fit" : "";
}

RunName run_name(const record::Record& record) {
  const bool ours = record.origin.kind == "run" || record.origin.kind == "plan";
  const auto parts = split(record.id, '-');
  if (!ours || parts.size() < 3) return {record.id, ""};
  std::vector<std::string> layout;
  for (const auto& part : parts)
    for (const std::string_view axis : {"tp", "pp", "dp", "mb"})
      if (part.size() > 2 && part.starts_with(axis) &&
          part.find_first_not_of("0123456789", 2) == std::string::npos)
        layout.push_back(part);
  if (layout.empty()) return {record.id, ""};
  return {join(layout, " "), parts.back()};
}

}  // namespace orch::page
