#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "core/base/units.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using plan::CheckpointInterval;
using plan::Estimate;
using show::Cell, show::Value;

// From this share of the time on, another interval is worth a sentence.
constexpr double kWorthwhile = 0.005;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string steps_text(const CheckpointInterval& interval) {
  return plural(interval.steps, "step");
}

// "40 s", "24 minutes", "26.0 hours".
std::string interval_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  return seconds < 7200 ? fmt::format("{:.0f} minutes", seconds / 60) : format_seconds(seconds);
}

// "checkpoint_every = 1,000 steps is once in 26 hours: 9.8 % of the time is lost; 80 steps: 2.0 %".
std::string checkpoints_text(const Estimate& e) {
  const auto& own = e.checkpoint;
  const auto& best = e.best_checkpoint;
  if (own.steps == 0)
    return fmt::format(
        "checkpoint_every is not set: only the end of a job saves, and {} of the time is lost; "
        "{}, once in {}: {}, and that is assumed here",
        percent(own.lost), steps_text(best), interval_text(best.seconds), percent(best.lost));
  auto out = fmt::format("checkpoint_every = {} is once in {}: {} of the time is lost",
                         steps_text(own), interval_text(own.seconds), percent(own.lost));
  if (own.lost - best.lost >= kWorthwhile)
    out += fmt::format("; {}: {}", steps_text(best), percent(best.lost));
  return out;
}

constexpr const char* kSavesNothing = "keep_checkpoints = 0: nothing is saved, ";

// "324 MWh, 18.5 t of CO2"; empty where the power is unknown.
std::string energy_text(const Estimate& e) {
  if (e.energy_kwh <= 0) return "";
  const auto scaled = [](double value, const char* small, const char* large) {
    return value < 1e4 ? amount(value) + small : amount(value / 1000) + large;
  };
  auto out = "\nenergy: " + scaled(e.energy_kwh, " kWh", " MWh");
  if (e.co2_kg > 0) out += ", " + scaled(e.co2_kg, " kg of CO2", " t of CO2");
  return out;
}

}  // namespace

std::string failures_text(const RankedRuns& result) {
  if (result.runs.empty()) return "";
  const auto& planned = *result.runs.front();
  const auto& e = planned.estimate;
  const bool saves = planned.run.training.keep_checkpoints > 0;
  if (e.fit == plan::MemoryFit::oom) return "";
  if (!saves && e.days_to_train > 0 && e.days_with_failures == 0)
    return std::string(kSavesNothing) +
           "and the training hardly ends before a failure or the limit of a job";
  if (e.interruptions < 1 || (saves && e.best_checkpoint.steps == 0)) return "";
  const auto& partition = *planned.run.partition;
  return fmt::format(
      "failures: about {} in the {} days of the fastest, one in {} GPU-hours: {} days with them "
      "({})\n{}{}",
      amount(std::round(e.interruptions)), significant(e.days_to_train),
      group_digits(1 / partition.failures_per_gpu_hour()), significant(e.days_with_failures),
      range_text({e.days_with_failures_low, e.days_with_failures_high}),
      saves ? checkpoints_text(e)
            : std::string(kSavesNothing) + "and each failure starts the training again",
      energy_text(e));
}

show::Table lost_table(const Estimate& estimate) {
  const double computing = estimate.days_to_train * kDay, all = estimate.days_with_failures * kDay;
  std::vector<plan::EstimateItem> items{{"computing", "computing", computing}};
  items.insert(items.end(), estimate.lost.begin(), estimate.lost.end());
  items.push_back({"training with failures", "sum", all});
  show::Columns<plan::EstimateItem> columns(std::move(items));
  columns.add("seconds", "time", 0, [](const auto& item) -> Cell {
    return {Value(item.amount), format_seconds(item.amount)};
  });
  columns.add("", "share", 0,
              [all](const auto& item) -> Cell { return percent(item.amount / all); });
  columns.add("name", "part", 0, [](const auto& item) -> Cell { return item.name; });
  columns.add("kind", [](const auto& item) { return item.kind; });
  columns.add("formula", "how", 0, [](const auto& item) -> Cell { return item.formula; });
  return columns.table("lost", "Time with failures");
}

show::Table spent_table(const Estimate& estimate, const record::Measurement& measured) {
  const double all = measured.spent.back().amount;
  // By kind; unknown where the estimate has no such item.
  const auto estimated = [estimate](const std::string& kind) -> std::optional<double> {
    if (!(estimate.days_with_failures > 0)) return std::nullopt;
    if (kind == "computing") return estimate.days_to_train / estimate.days_with_failures;
    for (const auto& item : estimate.lost)
      if (item.kind == kind) return item.amount / (estimate.days_with_failures * kDay);
    return std::nullopt;
  };
  show::Columns<plan::EstimateItem> columns(measured.spent);
  columns.add("seconds", "time", 0, [](const auto& item) -> Cell {
    return {Value(item.amount), format_seconds(item.amount)};
  });
  columns.add("share", "share", 0, [all](const auto& item) -> Cell {
    return {Value(item.amount / all), percent(item.amount / all)};
  });
  columns.add("estimated_share", "estimated", 0, [estimated](const auto& item) -> Cell {
    const auto share = estimated(item.kind);
    return share ? Cell(Value(*share), percent(*share)) : Cell();
  });
  columns.add("name", "part", 0, [](const auto& item) -> Cell { return item.name; });
  columns.add("kind", [](const auto& item) { return item.kind; });
  return columns.table("measured_lost", "Measured: time since the first start");
}

}  // namespace orch::tables
