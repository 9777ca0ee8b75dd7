#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/quantities.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using record::Record;
using statistics::Interval;
using Amount = std::optional<Interval>;
// Reads a metric of a record, measured or estimated. Values are positive and finite.
using AmountReader = std::function<Amount(const Record&, bool estimated)>;

struct MetricReader {
  Metric metric;  // without values
  AmountReader read;
};

std::optional<Interval> scaled(const std::optional<Interval>& interval, double factor) {
  if (!interval || !positive(interval->value) || !positive(factor)) return std::nullopt;
  return interval->times(factor);
}

std::optional<Interval> inverse(std::optional<Interval> interval) {
  if (!interval || !positive(interval->value)) return std::nullopt;
  if (!positive(interval->low) || !positive(interval->high)) interval->low.reset();
  return interval->inverse(1);
}

Amount step_of(const Record& record, bool estimated) {
  if (!estimated) return scaled(record.measured.step_seconds, 1);
  return scaled(record::estimated(*record::find_quantity("step_seconds"), record), 1);
}

Amount seconds_per_token(const Record& record, bool estimated) {
  return scaled(
      estimated ? record::estimated_seconds_per_token(record) : record::seconds_per_token(record),
      1);
}

// TFLOPs that a log prints follow the convention of its framework.
std::string convention_of(const Record& record, const record::Tflops& tflops) {
  if (tflops.convention.empty()) return std::string(kUnsaidConvention);
  if (tflops.convention != "log") return tflops.convention;
  const auto strategy = record.field_text("strategy"), framework = record.field_text("framework");
  const auto& writer = framework.empty() ? strategy : framework;
  return writer.empty() ? "log" : "log of " + writer;
}

Amount tflops_by(const std::string& convention, const Record& record, bool estimated) {
  if (!estimated) {
    for (const auto& tflops : record.measured.tflops)
      if (convention_of(record, tflops) == convention)
        return scaled(Interval{tflops.value, {}, {}, 1}, 1);
    return std::nullopt;
  }
  const auto step = step_of(record, true);
  if (!step || !convention.starts_with("megatron") || !positive(record.estimated->tflops_per_gpu))
    return std::nullopt;
  return scaled(inverse(step), record.estimated->tflops_per_gpu * step->value);
}

// A metric from the list of quantities.
MetricReader quantity_gauge(const record::Quantity& quantity, Aspect aspect) {
  return {
      {std::string(quantity.name), std::string(quantity.title), "", quantity.better, aspect, {}},
      [&quantity](const Record& r, bool estimated) {
        return scaled(estimated ? record::estimated(quantity, r) : record::measured(quantity, r),
                      1);
      }};
}

// A metric of speed. The convention is that of TFLOPs, else empty.
MetricReader speed_gauge(std::string name, std::string title, Better better, AmountReader read,
                         std::string convention = "") {
  return {{std::move(name), std::move(title), std::move(convention), better, Aspect::speed, {}},
          std::move(read)};
}

// Days per 100B tokens, tokens per second, GPU-hours per 1e9 tokens and seconds per step. If the
// sizing has a base, they are normalised to it, and a step also to the first group's tokens per
// step.
std::vector<MetricReader> time_gauges(const SizeNormalization& sizing,
                                      std::optional<double> base_tokens) {
  const AmountReader time = [sizing](const Record& r, bool estimated) {
    return scaled(seconds_per_token(r, estimated), sizing.factor(r));
  };
  const AmountReader days = [time](const Record& r, bool estimated) {
    return scaled(time(r, estimated), record::kDaysPer100B);
  };
  const AmountReader rate = [time](const Record& r, bool estimated) {
    return inverse(time(r, estimated));
  };
  const AmountReader cost = [time](const Record& r, bool estimated) {
    return scaled(time(r, estimated), r.field_number("gpus").value_or(0) * 1e9 / 3600);
  };
  const AmountReader step = [sizing, base_tokens](const Record& r, bool estimated) -> Amount {
    if (!sizing.base) return step_of(r, estimated);
    const auto tokens = record::tokens_per_step(r);
    if (!tokens || !base_tokens) return std::nullopt;
    return scaled(step_of(r, estimated), sizing.factor(r) * *base_tokens / *tokens);
  };
  return {speed_gauge("days_per_100b_tokens", "days per 100B tokens", Better::lower, days),
          speed_gauge("tokens_per_second", "tokens per second", Better::higher, rate),
          speed_gauge("gpu_hours_per_1e9_tokens", "GPU-hours per 1e9 tokens", Better::lower, cost),
          speed_gauge("step_seconds", "seconds per step", Better::lower, step)};
}

// The distinct conventions of the records' TFLOPs.
std::vector<std::string> conventions(const std::vector<Cohort>& groups) {
  std::vector<std::string> out;
  for (const auto& group : groups)
    for (const auto* record : group.records)
      for (const auto& tflops : record->measured.tflops) {
        const auto convention = convention_of(*record, tflops);
        if (!contains(out, convention)) out.push_back(convention);
      }
  return out;
}

MetricReader tflops_gauge(const std::string& convention) {
  const AmountReader read = [convention](const Record& r, bool estimated) {
    return tflops_by(convention, r, estimated);
  };
  return speed_gauge("tflops_per_gpu", "TFLOPs per GPU (" + convention + ")", Better::higher, read,
                     convention);
}

// TFLOPs computed from the size of the model, for records whose own TFLOPs are not comparable.
MetricReader model_tflops_gauge(SizeNormalization::FlopsBy by) {
  const AmountReader read = [by](const Record& r, bool estimated) -> Amount {
    const auto flops = flops_per_token(r, by), gpus = r.field_number("gpus");
    if (!flops || !gpus) return std::nullopt;
    return scaled(inverse(seconds_per_token(r, estimated)), *flops / *gpus / 1e12);
  };
  return speed_gauge("model_tflops_per_gpu", "model TFLOPs per GPU", Better::higher, read,
                     by == SizeNormalization::FlopsBy::shape ? "72 B s L h^2 (1 + s/6h + V/16Lh)"
                                                             : "6 params tokens");
}

// Energy grows with the length of a run. Measured, it is that of the GPUs and of all their steps;
// estimated, that of the whole training and machine.
MetricReader energy_gauge() {
  const auto& energy = *record::find_quantity("energy_kwh");
  const AmountReader read = [&energy](const Record& r, bool estimated) -> Amount {
    if (!estimated) {
      const auto tokens = record::tokens_per_step(r);
      const auto steps = static_cast<double>(r.measured.steps + r.measured.repeated_steps);
      if (!tokens || !(steps > 0)) return std::nullopt;
      return scaled(record::measured(energy, r), 1e9 / (*tokens * steps));
    }
    const auto time = record::estimated_seconds_per_token(r);
    if (!time || !positive(r.estimated->days_to_train)) return std::nullopt;
    return scaled(record::estimated(energy, r),
                  1e9 * time->value / (r.estimated->days_to_train * kDay));
  };
  return {{"kwh_per_1e9_tokens", "kWh per 1e9 tokens", "", Better::lower, Aspect::other, {}}, read};
}

// The other quantities that are shown, from the list of quantities.
std::vector<MetricReader> other_gauges() {
  // Metrics with their own functions, and two to leave out: the loss has its own section, and total
  // GPU-hours depend on the length of the run.
  static const std::set<std::string_view> kOwn{
      "days_per_100b_tokens", "tokens_per_second", "step_seconds", "tflops_per_gpu",
      "peak_memory_bytes",    "last_loss",         "gpu_hours"};
  std::vector<MetricReader> out;
  for (const auto& quantity : record::quantities()) {
    if (quantity.planned || quantity.rank == record::kUnshown || kOwn.contains(quantity.name))
      continue;
    out.push_back(quantity_gauge(quantity, Aspect::other));
  }
  return out;
}

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

// Combines estimates of several records: their median, and the union of their ranges.
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

void add_measured(const std::vector<Interval>& all, GroupKind kind, ComparedAmount& value) {
  value.runs = all.size();
  if (all.empty()) return;
  std::vector<double> values;
  values.reserve(all.size());
  for (const auto& one : all) values.push_back(one.value);
  if (all.size() == 1) {
    value.measured = all.front();
  } else if (kind == GroupKind::repeats) {
    value.measured = statistics::repeats_interval(values);
  } else {
    value.measured = Interval{statistics::median(values), std::nullopt, std::nullopt, all.size()};
    value.lowest = *std::min_element(values.begin(), values.end());
    value.highest = *std::max_element(values.begin(), values.end());
  }
}

ComparedAmount value_of(const MetricReader& gauge, const Cohort& group) {
  ComparedAmount out;
  std::vector<Interval> measured, estimated;
  for (const auto* record : group.records) {
    if (const auto value = gauge.read(*record, false)) {
      measured.push_back(*value);
      for (const auto& doubt : record->doubts)
        if (touches(doubt, gauge.metric)) {
          out.doubtful.push_back(record->id);
          break;
        }
    }
    if (const auto value = gauge.read(*record, true)) estimated.push_back(*value);
  }
  add_measured(measured, group.kind, out);
  out.estimated = together(estimated);
  return out;
}

// Adds the metric if a group has a value; returns whether one has.
bool add(const std::vector<Cohort>& groups, MetricReader gauge, std::vector<Metric>& out) {
  bool any = false;
  for (const auto& group : groups) {
    const auto& value = gauge.metric.values.emplace_back(value_of(gauge, group));
    any = any || value.measured || value.estimated;
  }
  if (any) out.push_back(std::move(gauge.metric));
  return any;
}

bool is_measured(const ComparedAmount& value) { return value.measured.has_value(); }

bool all_measured(const Metric& metric) { return std::ranges::all_of(metric.values, is_measured); }

// Adds TFLOPs by each convention. If no convention is measured in all groups, but there are TFLOPs
// or the work per token differs, also adds model TFLOPs, which are computed in one way for all
// groups.
void add_tflops(const std::vector<Cohort>& groups, std::vector<Metric>& out) {
  bool any = work_differs(groups), common = false;
  for (const auto& convention : conventions(groups))
    if (add(groups, tflops_gauge(convention), out)) {
      any = true;
      common = common || all_measured(out.back());
    }
  if (common || !any) return;
  for (const auto by : {SizeNormalization::FlopsBy::shape, SizeNormalization::FlopsBy::params})
    if (add(groups, model_tflops_gauge(by), out)) {
      if (all_measured(out.back())) return;
      out.pop_back();
    }
}

}  // namespace

std::vector<Metric> metrics_of(const std::vector<Cohort>& groups, const SizeNormalization& sizing) {
  std::vector<Metric> out;
  for (auto& gauge : time_gauges(sizing, record::tokens_per_step(*groups.front().records.front())))
    add(groups, std::move(gauge), out);
  add_tflops(groups, out);
  add(groups, quantity_gauge(*record::find_quantity("peak_memory_bytes"), Aspect::memory), out);
  if (add(groups, energy_gauge(), out) && std::ranges::none_of(out.back().values, is_measured))
    out.pop_back();
  for (auto& gauge : other_gauges()) add(groups, std::move(gauge), out);
  return out;
}

}  // namespace orch::compare
