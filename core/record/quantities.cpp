#include "core/record/quantities.h"

#include <cmath>

#include "core/base/number.h"
#include "core/base/units.h"

namespace orch::record {
namespace {

using plan::Estimate;
using QuantityValue = Quantity::Value;

constexpr bool kPlanned = true;

QuantityValue just(double value) { return statistics::Interval{value, {}, {}, 1}; }
// In an estimate, 0 means unknown.
QuantityValue known(double value) { return value > 0 ? just(value) : std::nullopt; }
// For quantities that every estimate has: 0 is a value.
QuantityValue told(double value, const Estimate& e) {
  return e.step_seconds > 0 ? just(value) : std::nullopt;
}
QuantityValue maybe(const std::optional<double>& value) {
  return value ? just(*value) : std::nullopt;
}

QuantityValue ranged(double value, double low, double high) {
  auto out = known(value);
  if (out && low > 0 && high > 0) out->low = low, out->high = high;
  return out;
}

// A single convention, so that runs of several frameworks can be compared.
QuantityValue megatron_tflops(const Measurement& measured) {
  for (const auto& held : measured.tflops)
    if (held.convention == "megatron") return just(held.value);
  return std::nullopt;
}

QuantityValue days_per_100b_tokens(const Measurement& measured) {
  const auto& rate = measured.tokens_per_second;
  if (measured.days_per_100b_tokens || !rate) return maybe(measured.days_per_100b_tokens);
  return just(1e11 / *rate / kDay);
}

// A quantity that is proportional to the step time has its relative range.
QuantityValue with_step_range(double value, const Estimate& e) {
  if (!(e.step_seconds > 0)) return known(value);
  const auto range = e.range_of(value);
  return ranged(value, range.low, range.high);
}

QuantityValue with_failures(double value, const Estimate& e) {
  const auto range = e.range_with_failures(value);
  return ranged(value, range.low, range.high);
}

}  // namespace

const std::vector<Quantity>& quantities() {
  using M = Measurement;
  using E = Estimate;
  static const std::vector<Quantity> kAll{
      {"peak_memory_bytes", "peak memory (GiB)", "peak GiB", Dimension::memory, Better::lower, 4,
       [](const M& m) { return maybe(m.peak_memory_bytes); },
       [](const E& e) { return ranged(e.peak_memory, e.memory_low, e.memory_high); }, "memory"},
      {"step_seconds", "seconds per step", "step s", Dimension::seconds, Better::lower, 3,
       [](const M& m) { return m.step_seconds; },
       [](const E& e) { return ranged(e.step_seconds, e.step_low, e.step_high); }, "step"},
      {"tflops_per_gpu", "TFLOPs per GPU (megatron)", "TFLOPs", Dimension::tflops, Better::higher,
       6, [](const M& m) { return megatron_tflops(m); },
       [](const E& e) { return known(e.tflops_per_gpu); }},
      {"tokens_per_second", "tokens per second", "tokens/s", Dimension::tokens, Better::higher, 7,
       [](const M& m) { return maybe(m.tokens_per_second); },
       [](const E& e) { return known(e.tokens_per_second); }},
      {"days_per_100b_tokens", "days per 100B tokens", "days/100B", Dimension::days, Better::lower,
       0, [](const M& m) { return days_per_100b_tokens(m); },
       [](const E& e) { return known(e.days_per_100b_tokens); }},
      {"days_to_train", "days to train", "days", Dimension::days, Better::lower, 2, nullptr,
       [](const E& e) { return with_step_range(e.days_to_train, e); }, "days", kPlanned},
      {"gpu_hours", "GPU-hours", "GPU-hours", Dimension::hours, Better::lower, 4,
       [](const M& m) { return maybe(m.gpu_hours); },
       [](const E& e) { return known(e.gpu_hours); }},
      {"days_with_failures", "days to train with failures, restarts and waits", "with failures",
       Dimension::days, Better::lower, 9, nullptr,
       [](const E& e) {
         return ranged(e.days_with_failures, e.days_with_failures_low, e.days_with_failures_high);
       },
       "days_with_failures", kPlanned},
      {"cost", "cost of the training", "cost", Dimension::money, Better::lower, 5, nullptr,
       [](const E& e) { return with_failures(e.cost, e); }, "cost", kPlanned},
      {"energy_kwh", "energy of the training (kWh)", "kWh", Dimension::energy, Better::lower,
       kUnshown, nullptr, [](const E& e) { return with_failures(e.energy_kwh, e); }, "energy"},
      {"co2_kg", "CO2 of the training (kg)", "kg CO2", Dimension::mass, Better::lower, kUnshown,
       nullptr, [](const E& e) { return with_failures(e.co2_kg, e); }, "co2", kPlanned},
      {"interruptions", "failures during the training", "failures", Dimension::count, Better::lower,
       kUnshown, nullptr, [](const E& e) { return known(e.interruptions); }, "", kPlanned},
      {"goodput", "share of the time that computes for good (%)", "goodput", Dimension::share,
       Better::higher, kUnshown, [](const M& m) { return maybe(goodput(m)); },
       [](const E& e) {
         return e.days_with_failures > 0 ? just(e.days_to_train / e.days_with_failures)
                                         : std::nullopt;
       }},
      {"last_loss", "loss", "loss", Dimension::loss, Better::lower, 8,
       [](const M& m) { return maybe(m.last_loss); }},
      {"evaluation_loss", "loss on held-out data", "eval loss", Dimension::loss, Better::lower, 10},
      {"communicated_bytes", "bytes given to collectives in a step (GB)", "GB/step",
       Dimension::traffic, Better::lower, kUnshown, nullptr,
       [](const E& e) { return told(e.communicated, e); }},
      {"bubble", "share of a step that stages are idle (%)", "bubble", Dimension::share,
       Better::lower, kUnshown, nullptr, [](const E& e) { return told(e.bubble, e); }},
      {"host_memory_bytes", "memory of the host (GiB)", "host GiB", Dimension::memory,
       Better::lower, kUnshown, [](const M& m) { return maybe(m.host_memory_bytes); },
       [](const E& e) { return told(e.host_memory, e); }},
      {"others_share", "share of the machine that other programs used (%)", "others",
       Dimension::share, Better::neither, kUnshown},
      {"clock_mhz", "clock of the cores or GPUs (MHz)", "MHz", Dimension::clock, Better::neither,
       kUnshown},
      {"gpu_use", "share of the time that a GPU was busy (%)", "GPU use", Dimension::share,
       Better::neither, kUnshown},
      {"gpu_watts", "power of a GPU (W)", "W", Dimension::power, Better::neither, kUnshown},
      {"usable_memory_bytes", "memory that a run can use (GiB)", "usable GiB", Dimension::memory,
       Better::neither, kUnshown, nullptr, [](const E& e) { return known(e.usable_memory); }, "",
       kPlanned},
      {"tflops_per_gpu_simple", "TFLOPs per GPU (simple)", "TFLOPs", Dimension::tflops,
       Better::higher, kUnshown, nullptr, [](const E& e) { return known(e.tflops_per_gpu_simple); },
       "", kPlanned},
      {"mfu", "share of the datasheet's FLOPs (%)", "MFU", Dimension::share, Better::higher,
       kUnshown, nullptr, [](const E& e) { return known(e.mfu); }, "", kPlanned},
  };
  return kAll;
}

const Quantity* find_quantity(std::string_view name) {
  for (const auto& quantity : quantities())
    if (quantity.name == name) return &quantity;
  return nullptr;
}

std::vector<std::string> measured_names() {
  std::vector<std::string> names;
  for (const auto& quantity : quantities())
    if (!quantity.planned) names.emplace_back(quantity.name);
  return names;
}

namespace {

QuantityValue finite(QuantityValue value) {
  return value && std::isfinite(value->value) ? std::move(value) : std::nullopt;
}

}  // namespace

QuantityValue measured(const Quantity& quantity, const Measurement& from) {
  if (quantity.measured)
    if (auto value = finite(quantity.measured(from))) return value;
  const auto stated = from.stated.find(quantity.name);
  return stated != from.stated.end() ? finite(just(stated->second)) : std::nullopt;
}

QuantityValue estimated(const Quantity& quantity, const Estimate& from) {
  return quantity.estimated ? finite(quantity.estimated(from)) : std::nullopt;
}

QuantityValue measured(const Quantity& quantity, const Record& record) {
  return measured(quantity, record.measured);
}

QuantityValue estimated(const Quantity& quantity, const Record& record) {
  return record.estimated ? estimated(quantity, *record.estimated) : std::nullopt;
}

double in_unit(Dimension unit, double value) {
  switch (unit) {
    case Dimension::memory:
      return value / kGiB;
    case Dimension::traffic:
      return value / kGB;
    case Dimension::share:
      return 100 * value;
    default:
      return value;
  }
}

namespace {

std::optional<double> global_batch(const Record& record) {
  const auto field = [&](const char* name) { return positive(record.field_number(name)); };
  if (const auto said = field("global_batch")) return said;
  const auto micro = field("micro_batch"), steps = field("accumulate"),
             data = field("data_parallel");
  if (!micro || !steps || !data) return std::nullopt;
  return *micro * *steps * *data;
}

}  // namespace

std::optional<double> tokens_per_step(const Record& record) {
  const auto batch = global_batch(record), seq = positive(record.field_number("seq"));
  if (!batch || !seq) return std::nullopt;
  return *batch * *seq;
}

QuantityValue seconds_per_token(const Record& record) {
  const auto& m = record.measured;
  const auto tokens = tokens_per_step(record);
  QuantityValue by_steps;
  if (tokens && m.step_seconds && positive(m.step_seconds->value))
    by_steps = m.step_seconds->times(1 / *tokens);
  if (by_steps && by_steps->has_limits()) return by_steps;
  if (const auto days = positive(m.days_per_100b_tokens)) return just(*days / kDaysPer100B);
  if (const auto rate = positive(m.tokens_per_second)) return just(1 / *rate);
  return by_steps;
}

QuantityValue estimated_seconds_per_token(const Record& record) {
  if (!record.estimated) return std::nullopt;
  const auto& e = *record.estimated;
  const auto tokens = tokens_per_step(record), step = positive(e.step_seconds);
  std::optional<double> seconds;
  if (const auto days = positive(e.days_per_100b_tokens))
    seconds = *days / kDaysPer100B;
  else if (const auto rate = positive(e.tokens_per_second))
    seconds = 1 / *rate;
  else if (tokens && step)
    seconds = *step / *tokens;
  if (!seconds || !step) return maybe(seconds);
  return estimated(*find_quantity("step_seconds"), record)->times(*seconds / *step);
}

}  // namespace orch::record
