#include <algorithm>

#include "core/show/compare/parts.h"


namespace orch::compare {
namespace {

using statistics::Interval;

bool touches(const record::Doubt& doubt, const Metric& metric) {
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  if (metric.aspect == Aspect::other) return has(doubt.field, metric.name);
  const bool memory = doubt.kind == "memory" || has(doubt.field, "mem");
  if (memory || metric.aspect == Aspect::memory) return memory == (metric.aspect == Aspect::memory);
  return metric.name == "tflops_per_gpu" || !doubt.field.starts_with("tflops") ||
         has(doubt.field, ",");
}

// Estimates of several records: the median, and all that their ranges hold.
std::optional<Interval> together(const std::vector<Interval>& all) {
  if (all.empty()) return std::nullopt;
  std::vector<double> values;
  Interval out = all.front();
  for (const auto& one : all) {
    values.push_back(one.value);
    if (!one.has_limits() || !out.has_limits()) out.low = out.high = std::nullopt;
    if (!out.has_limits()) continue;
    out.low = std::min(*out.low, *one.low);
    out.high = std::max(*out.high, *one.high);
  }
  out.value = statistics::median(values);
  return out;
}

void add_measured(const std::vector<Interval>& all, Kind kind, Value& value) {
  value.runs = all.size();
  if (all.empty()) return;
  std::vector<double> values;
  values.reserve(all.size());
  for (const auto& one : all) values.push_back(one.value);
  if (all.size() == 1) {
    value.measured = all.front();
  } else if (kind == Kind::repeats) {
    value.measured = statistics::repeats_interval(values);
  } else {
    value.measured = Interval{statistics::median(values), std::nullopt, std::nullopt, all.size()};
    value.lowest = *std::min_element(values.begin(), values.end());
    value.highest = *std::max_element(values.begin(), values.end());
  }
}

Value value_of(const Gauge& gauge, const Cohort& group, Kind kind) {
  Value out;
  std::vector<Interval> measured, estimated;
  for (const auto* record : group.records) {
    if (const auto value = gauge.measured(*record)) {
      measured.push_back(*value);
      for (const auto& doubt : record->doubts)
        if (touches(doubt, gauge.metric)) {
          out.doubtful.push_back(record->id);
          break;
        }
    }
    if (const auto value = gauge.estimated(*record)) estimated.push_back(*value);
  }
  add_measured(measured, kind, out);
  out.estimated = together(estimated);
  return out;
}

// Whether a group has it.
bool add(const std::vector<Cohort>& groups, const std::vector<Kind>& kinds, Gauge gauge,
         std::vector<Metric>& out) {
  bool any = false;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    gauge.metric.values.push_back(value_of(gauge, groups[i], kinds[i]));
    const auto& value = gauge.metric.values.back();
    any = any || value.measured || value.estimated;
  }
  if (any) out.push_back(std::move(gauge.metric));
  return any;
}

bool all_measured(const Metric& metric) {
  return std::all_of(metric.values.begin(), metric.values.end(),
                     [](const Value& value) { return value.measured.has_value(); });
}

// Where no convention is common to all, what can be computed alike is.
void add_tflops(const std::vector<Cohort>& groups, const std::vector<Kind>& kinds,
                std::vector<Metric>& out) {
  bool any = false, common = false;
  for (const auto& convention : conventions(groups))
    if (add(groups, kinds, tflops_gauge(convention), out)) {
      any = true;
      common = common || all_measured(out.back());
    }
  if (common || !any) return;
  for (const auto by : {Flops::shape, Flops::params})
    if (add(groups, kinds, model_tflops_gauge(by), out)) {
      if (all_measured(out.back())) return;
      out.pop_back();
    }
}

}  // namespace

std::vector<Metric> metrics_of(const std::vector<Cohort>& groups, const std::vector<Kind>& kinds,
                               const Sizing& sizing) {
  std::vector<Metric> out;
  for (auto& gauge : time_gauges(sizing, record::tokens_per_step(*groups.front().records.front())))
    add(groups, kinds, std::move(gauge), out);
  add_tflops(groups, kinds, out);
  add(groups, kinds, memory_gauge(), out);
  for (auto& gauge : other_gauges()) add(groups, kinds, std::move(gauge), out);
  return out;
}

}  // namespace orch::compare
