#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/base/number.h"
#include "core/record/quantities.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using record::Record;
using statistics::Interval;
// How a record has a metric. Values are positive and finite.
using Read = std::function<std::optional<Interval>(const Record&)>;

// 72 B s L h^2 (1 + s/6h + V/16Lh) is a step of B sequences: Narayanan et al. 2021, equation 3 with
// 3 passes for 4.
std::optional<double> by_shape(const Record& record) {
  const auto field = [&](const char* name) { return positive(record.field_number(name)); };
  const auto L = field("layers"), h = field("hidden"), V = field("vocab"), s = field("seq");
  if (!L || !h || !V || !s) return std::nullopt;
  return 72 * *L * *h * *h * (1 + *s / (6 * *h) + *V / (16 * *L * *h));
}

std::optional<double> flops_per_token(const Record& record, Flops by) {
  if (by == Flops::shape) return by_shape(record);
  const auto params = positive(record.field_number("params"));
  if (!params) return std::nullopt;
  return 6 * *params;
}

const Record* without(const std::vector<Cohort>& groups, Flops by) {
  for (const auto& group : groups)
    for (const auto* record : group.records)
      if (!flops_per_token(*record, by)) return record;
  return nullptr;
}

struct Gauge {
  Metric metric;
  Read measured, estimated;
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

std::optional<Interval> estimated_step(const Record& record) {
  return scaled(record::estimated(*record::find_quantity("step_seconds"), record), 1);
}

// A log's own TFLOPs are its framework's.
std::string convention_of(const Record& record, const record::Tflops& tflops) {
  if (tflops.convention.empty()) return std::string(kUnsaidConvention);
  if (tflops.convention != "log") return tflops.convention;
  const auto strategy = record.field_text("strategy"), framework = record.field_text("framework");
  const auto& writer = framework.empty() ? strategy : framework;
  return writer.empty() ? "log" : "log of " + writer;
}

std::optional<Interval> stated_tflops(const Record& record, const std::string& convention) {
  for (const auto& tflops : record.measured.tflops)
    if (convention_of(record, tflops) == convention)
      return scaled(Interval{tflops.value, {}, {}, 1}, 1);
  return std::nullopt;
}

std::optional<Interval> estimated_tflops(const Record& record, const std::string& convention) {
  const auto step = estimated_step(record);
  if (!step || !convention.starts_with("megatron") || !positive(record.estimated->tflops_per_gpu))
    return std::nullopt;
  return scaled(inverse(step), record.estimated->tflops_per_gpu * step->value);
}

Gauge gauge(std::string name, std::string title, Better better, Aspect aspect, Read measured,
            Read estimated) {
  return {{std::move(name), std::move(title), "", better, aspect, {}},
          std::move(measured),
          std::move(estimated)};
}

// A time per token, measured and estimated, as something else.
Gauge time_gauge(std::string name, std::string title, Better better,
                 const std::function<std::optional<Interval>(const Record&, const Interval&)>& as,
                 const Sizing& sizing) {
  const auto reader = [as, sizing](Read read) -> Read {
    return [as, sizing, read](const Record& r) {
      const auto time = scaled(read(r), sizing.factor(r));
      return time ? as(r, *time) : std::nullopt;
    };
  };
  return gauge(std::move(name), std::move(title), better, Aspect::speed,
               reader(record::seconds_per_token), reader(record::estimated_seconds_per_token));
}

// A step of another model and batch takes as long as its FLOPs do, brought to the first one's.
Gauge step_gauge(const Sizing& sizing, std::optional<double> base_tokens) {
  const auto reader = [sizing, base_tokens](Read read) -> Read {
    return [=](const Record& r) {
      if (!sizing.base) return scaled(read(r), 1);
      const auto tokens = record::tokens_per_step(r);
      if (!tokens || !base_tokens) return std::optional<Interval>();
      return scaled(read(r), sizing.factor(r) * *base_tokens / *tokens);
    };
  };
  return gauge("step_seconds", "seconds per step", Better::lower, Aspect::speed,
               reader([](const Record& r) { return r.measured.step_seconds; }),
               reader(estimated_step));
}

// As the list of quantities has it.
Gauge quantity_gauge(const record::Quantity& quantity, Aspect aspect) {
  const auto reader =
      [&quantity](std::optional<Interval> (*read)(const record::Quantity&, const Record&)) -> Read {
    return [&quantity, read](const Record& r) { return scaled(read(quantity, r), 1); };
  };
  return gauge(std::string(quantity.name), std::string(quantity.title), quantity.better, aspect,
               reader(record::measured), reader(record::estimated));
}

// Days per 100B tokens, tokens per second, GPU-hours per 1e9 tokens, seconds per step: brought to
// the same size where the sizing has one, a step also to the first group's tokens.
std::vector<Gauge> time_gauges(const Sizing& sizing, std::optional<double> base_tokens) {
  const auto days = [](const Record&, const Interval& t) {
    return scaled(t, record::kDaysPer100B);
  };
  const auto rate = [](const Record&, const Interval& t) { return inverse(t); };
  const auto cost = [](const Record& r, const Interval& t) {
    const auto gpus = r.field_number("gpus");
    return gpus ? scaled(t, *gpus * 1e9 / 3600) : std::nullopt;
  };
  return {time_gauge("days_per_100b_tokens", "days per 100B tokens", Better::lower, days, sizing),
          time_gauge("tokens_per_second", "tokens per second", Better::higher, rate, sizing),
          time_gauge("gpu_hours_per_1e9_tokens", "GPU-hours per 1e9 tokens", Better::lower, cost,
                     sizing),
          step_gauge(sizing, base_tokens)};
}

// The conventions by which records say TFLOPs. What a log prints is of its framework's making.
std::vector<std::string> conventions(const std::vector<Cohort>& groups) {
  std::vector<std::string> out;
  for (const auto& group : groups)
    for (const auto* record : group.records)
      for (const auto& tflops : record->measured.tflops) {
        const auto convention = convention_of(*record, tflops);
        if (std::find(out.begin(), out.end(), convention) == out.end()) out.push_back(convention);
      }
  return out;
}

Gauge tflops_gauge(const std::string& convention) {
  auto out = gauge(
      "tflops_per_gpu", "TFLOPs per GPU (" + convention + ")", Better::higher, Aspect::speed,
      [convention](const Record& r) { return stated_tflops(r, convention); },
      [convention](const Record& r) { return estimated_tflops(r, convention); });
  out.metric.convention = convention;
  return out;
}

// FLOPs of the model over the time that it took: where what was stated does not compare.
Gauge model_tflops_gauge(Flops by) {
  const auto reader = [by](Read read) -> Read {
    return [by, read](const Record& r) {
      const auto flops = flops_per_token(r, by), gpus = r.field_number("gpus");
      if (!flops || !gpus) return std::optional<Interval>();
      return scaled(inverse(read(r)), *flops / *gpus / 1e12);
    };
  };
  const std::string way =
      by == Flops::shape ? "72 B s L h^2 (1 + s/6h + V/16Lh)" : "6 params tokens";
  auto out =
      gauge("model_tflops_per_gpu", "model TFLOPs per GPU, computed", Better::higher, Aspect::speed,
            reader(record::seconds_per_token), reader(record::estimated_seconds_per_token));
  out.metric.convention = way;
  return out;
}

// Every other quantity that people look at, as the list of them has it.
std::vector<Gauge> other_gauges() {
  // Those above, and two that say nothing of speed: the loss has its own section, and GPU-hours
  // depend on how long somebody let a run go on.
  static const std::set<std::string_view> kOwn{
      "days_per_100b_tokens", "tokens_per_second", "step_seconds", "tflops_per_gpu",
      "peak_memory_bytes",    "last_loss",         "gpu_hours"};
  std::vector<Gauge> out;
  for (const auto& quantity : record::quantities()) {
    if (quantity.planned || quantity.rank == record::kUnshown || kOwn.contains(quantity.name))
      continue;
    out.push_back(quantity_gauge(quantity, Aspect::other));
  }
  return out;
}

Gauge memory_gauge() {
  return quantity_gauge(*record::find_quantity("peak_memory_bytes"), Aspect::memory);
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

Value value_of(const Gauge& gauge, const Cohort& group) {
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
  add_measured(measured, group.kind, out);
  out.estimated = together(estimated);
  return out;
}

// Whether a group has it.
bool add(const std::vector<Cohort>& groups, Gauge gauge, std::vector<Metric>& out) {
  bool any = false;
  for (const auto& group : groups) {
    const auto& value = gauge.metric.values.emplace_back(value_of(gauge, group));
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
void add_tflops(const std::vector<Cohort>& groups, std::vector<Metric>& out) {
  bool any = false, common = false;
  for (const auto& convention : conventions(groups))
    if (add(groups, tflops_gauge(convention), out)) {
      any = true;
      common = common || all_measured(out.back());
    }
  if (common || !any) return;
  for (const auto by : {Flops::shape, Flops::params})
    if (add(groups, model_tflops_gauge(by), out)) {
      if (all_measured(out.back())) return;
      out.pop_back();
    }
}

}  // namespace

double Sizing::factor(const Record& record) const {
  return base ? *base / flops_per_token(record, by).value_or(*base) : 1.0;
}

Sizing same_size(const std::vector<Cohort>& groups) {
  Sizing out;
  const auto& first = *groups.front().records.front();
  const std::string at =
      fmt::format("times are at the model size of {} ({})", groups.front().name, first.id);
  if (without(groups, Flops::shape) == nullptr) {
    out.base = flops_per_token(first, Flops::shape);
    out.note = at + ": by 72 B s L h^2 (1 + s/6h + V/16Lh) FLOPs per step, without recomputation";
  } else if (const auto* record = without(groups, Flops::params); record == nullptr) {
    out.by = Flops::params;
    out.base = flops_per_token(first, Flops::params);
    out.note = at + ": by 6 FLOPs per parameter and token, as not all say their shape";
  } else {
    out.note = fmt::format(
        "times cannot be brought to the same size: {} says neither its shape (layers, hidden, "
        "vocab, seq) nor its params",
        record->id);
  }
  return out;
}

std::vector<Metric> metrics_of(const std::vector<Cohort>& groups, const Sizing& sizing) {
  std::vector<Metric> out;
  for (auto& gauge : time_gauges(sizing, record::tokens_per_step(*groups.front().records.front())))
    add(groups, std::move(gauge), out);
  add_tflops(groups, out);
  add(groups, memory_gauge(), out);
  for (auto& gauge : other_gauges()) add(groups, std::move(gauge), out);
  return out;
}

}  // namespace orch::compare
