#include "core/show/tables/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/quantities.h"
#include "core/show/tables/columns.h"
#include "core/show/tables/status_words.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using record::RunState;
using RunStatuses = std::vector<const RunStatus*>;

// Sort order: troubles, running, waiting, done.
std::ptrdiff_t urgency(const RunStatus& run) {
  static constexpr RunState kOrder[] = {RunState::failed,  RunState::running,  RunState::stopped,
                                        RunState::pending, RunState::finished, RunState::cancelled,
                                        RunState::planned};
  if (run.record.failure == record::Failure::hang && run.record.state == RunState::running)
    return 0;
  return std::find(std::begin(kOrder), std::end(kOrder), run.record.state) - kOrder;
}

std::vector<const RunStatus*> in_order(const Standings& standings) {
  std::vector<const RunStatus*> runs;
  for (const auto& run : standings.runs) runs.push_back(&run);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto* a, const auto* b) { return urgency(*a) < urgency(*b); });
  return runs;
}

// Facts about the measurement that all runs share and no column shows.
std::string measured_note(const RunStatuses& runs) {
  const auto first = runs.front()->record.field_text("cluster");
  for (const auto* run : runs)
    if (run->record.field_text("cluster") != first) return "measured; est.: as estimated";
  return fmt::format("measured on {}; est.: as estimated", printable(first));
}

using show::Cell, show::Value;
using StatusColumns = show::Columns<RunStatus>;

// The unit for all values: that of the largest.
struct ByteScale {
  double bytes = 1;
  std::string name = "B";
};

ByteScale scale_of(double largest, bool binary) {
  const double k = binary ? 1024 : 1000;
  if (largest >= k * k * k) return {k * k * k, binary ? "GiB" : "GB"};
  if (largest >= k * k) return {k * k, binary ? "MiB" : "MB"};
  return {k, binary ? "KiB" : "kB"};
}

using record::Dimension;
using record::Quantity;

ByteScale scale_of(const Quantity& quantity, const RunStatuses& runs) {
  double largest = 0;
  for (const auto* run : runs)
    for (const auto& value :
         {record::measured(quantity, run->record), record::estimated(quantity, run->record)})
      if (value) largest = std::max(largest, value->value);
  auto scale = scale_of(largest, quantity.unit == Dimension::memory);
  if (quantity.unit == Dimension::traffic) scale.name += "/step";
  return scale;
}

using NumberText = std::function<std::string(double)>;

// Adds the measurement, and the estimate beside it.
void add_beside(const Quantity& quantity, std::string title, int rank, int estimate_rank,
                const NumberText& text, StatusColumns& to) {
  to.add("", std::move(title), rank, [=, &quantity](const RunStatus& run) {
    const auto value = record::measured(quantity, run.record);
    return value ? text(value->value) : "";
  });
  to.add("", "est.", estimate_rank, [=, &quantity](const RunStatus& run) {
    const auto value = record::estimated(quantity, run.record);
    return value && record::measured(quantity, run.record) ? text(value->value) : "";
  });
}

void add_beside(std::string_view name, int rank, StatusColumns& to) {
  const auto& quantity = *record::find_quantity(name);
  add_beside(
      quantity, std::string(quantity.head), rank, rank + 1,
      [unit = quantity.unit](double value) { return quantity_text(unit, value); }, to);
}

// Adds every other measured quantity, with its estimate.
void add_amounts(int rank, StatusColumns& to) {
  static const std::set<std::string_view> kOwn{
      "step_seconds", "tokens_per_second", "days_per_100b_tokens",
      "gpu_hours",    "last_loss",         "evaluation_loss"};
  for (const auto& quantity : record::quantities()) {
    if (kOwn.contains(quantity.name) || quantity.better == record::Better::neither) continue;
    if (!is_in_bytes(quantity)) {
      add_beside(quantity.name, rank, to);
      continue;
    }
    const auto scale = scale_of(quantity, to.rows());
    const bool memory = quantity.unit == Dimension::memory;
    add_beside(
        quantity, scale.name, rank, memory ? rank : rank + 1,
        [scale](double value) { return significant(value / scale.bytes); }, to);
    if (memory)
      to.add("", "error", rank + 2, [&quantity](const RunStatus& run) {
        const auto guess = record::estimated(quantity, run.record);
        const auto truth = record::measured(quantity, run.record);
        return guess && truth ? error_text(guess->value, truth->value) : "";
      });
  }
}

// The end of its id, by which it can be found.
std::string hash_text(const RunStatus& run) {
  const auto dash = run.record.id.rfind('-');
  return id_text(run, dash == std::string::npos ? 0 : dash + 1);
}

// "12:34", "3-01:02:03".
std::string elapsed_text(const RunStatus& run) {
  return run.elapsed_seconds > 0 ? duration_text(run.elapsed_seconds) : "";
}

// "1,234 of 3,000 GPU-hours used (41 %), 500 more expected".
std::string hours_text(const Standings& standings) {
  std::string out = significant(standings.used_gpu_hours);
  if (standings.budget_gpu_hours > 0) out += " of " + amount(standings.budget_gpu_hours);
  out += " GPU-hours used";
  if (standings.budget_gpu_hours > 0)
    out += fmt::format(" ({:.0f} %)", 100 * standings.used_gpu_hours / standings.budget_gpu_hours);
  if (standings.committed_gpu_hours > 0)
    out += fmt::format(", {} more expected", significant(standings.committed_gpu_hours));
  return out;
}

// The influence of other programs on the measured times, if it was recorded.
std::string busy_text(const Standings& standings) {
  RunStatuses busy;
  for (const auto& run : standings.runs)
    if (others_share({&run}) >= record::kBusyShare) busy.push_back(&run);
  if (busy.empty()) return "";
  return fmt::format(
      "the machine was busy: other programs used up to {:.0f} % of it while {} trained; measure "
      "again "
      "when it is idle\n",
      100 * *others_share(busy), plural(busy.size(), "run"));
}

// The state of the runs, with their measurements so far.
show::Table standings_table(const Standings& standings, const RunStatuses& runs) {
  const auto prefix = common_prefix(standings.runs);
  StatusColumns columns(runs);
  const auto add = [&](const char* title, int rank, auto read) {
    columns.add("", title, rank, read);
  };
  add("run", 0, [=](const RunStatus& run) { return id_text(run, prefix); });
  add("state", 0, state_text);
  add("job", 4, [](const RunStatus& run) { return run.job; });
  add("elapsed", 3, elapsed_text);
  add("step", 1, step_text);
  add("loss", 2, loss_text);
  add("eval loss", 3, evaluation_text);
  add_beside("tokens_per_second", 5, columns);
  add("left", 1, left_text);
  add("s/step", 1, measured_step_text);
  add("estimated", 2, estimated_step_text);
  add_amounts(6, columns);
  add("reason", show::kBelow, reason_text);
  auto out = columns.table("");
  if (prefix > 0)
    out.above.push_back(
        fmt::format("runs: {}…", printable(standings.runs.front().record.id.substr(0, prefix))));
  return out;
}

// A quantity that our own logs state besides the declared ones.
Value stated(const RunStatus& run, const char* name) {
  const auto& all = run.record.measured.stated;
  const auto held = all.find(name);
  return held != all.end() ? Value(held->second) : Value();
}

Value if_positive(double value) { return value > 0 ? Value(value) : Value(); }

}  // namespace

show::Table status_runs(std::string name, const std::vector<Standings>& all) {
  std::vector<const RunStatus*> runs;
  std::map<const RunStatus*, std::string> experiments;
  for (const auto& standings : all)
    for (const auto& run : standings.runs)
      runs.push_back(&run), experiments[&run] = standings.experiment;
  StatusColumns columns(std::move(runs));
  columns.add("experiment", [experiments](const RunStatus& run) { return experiments.at(&run); });
  columns.add("id", [](const RunStatus& run) { return run.record.id; });
  for (const auto* field : {"strategy", "cluster"})
    columns.add(field, [field](const RunStatus& run) { return run.record.field_text(field); });
  columns.add("gpus", [](const RunStatus& run) { return run.gpus(); });
  columns.add("nodes", [](const RunStatus& run) { return run.record.whole("nodes").value_or(0); });
  columns.add("state", [](const RunStatus& run) { return record::name(run.record.state); });
  columns.add("failure", [](const RunStatus& run) { return record::name(run.record.failure); });
  columns.add("reason", [](const RunStatus& run) { return run.record.reason; });
  columns.add("due", [](const RunStatus& run) { return run.due; });
  columns.add("job", [](const RunStatus& run) { return run.job; });
  columns.add("submissions", [](const RunStatus& run) { return run.submissions; });
  columns.add("elapsed_seconds",
              [](const RunStatus& run) { return std::round(run.elapsed_seconds); });
  columns.add("step", [](const RunStatus& run) {
    return run.record.measured.steps > 0 ? Cell(run.record.measured.steps) : Cell();
  });
  columns.add("steps", [](const RunStatus& run) { return run.record.measured.steps_planned; });
  for (const auto* field : {"gradient_norm", "learning_rate"})
    columns.add(field, [field](const RunStatus& run) { return stated(run, field); });
  columns.add("estimated_fit", [](const RunStatus& run) {
    return run.record.estimated ? Cell(plan::name(run.record.estimated->fit)) : Cell();
  });
  add_quantities(columns, [](const RunStatus& run) -> const record::Record& { return run.record; });
  return columns.table(std::move(name));
}

show::Table status_table(const Standings& standings, std::size_t top) {
  auto runs = in_order(standings);
  auto out = standings_table(standings, runs);
  if (runs.empty()) out.above = {"no runs"};
  if (top == 0 || runs.size() <= top) return out;
  auto& first = out.first.emplace();
  for (std::size_t i = 0; i < top; ++i) first.push_back(i);
  out.others = "more";
  return out;
}

show::Answer status_answer(const std::vector<Standings>& all, std::size_t top) {
  show::Answer out;
  show::Columns<Standings> experiments(mapped(all, [](const auto& each) { return &each; }));
  experiments.add("name", [](const Standings& of) { return of.experiment; });
  experiments.add("used_gpu_hours", [](const Standings& of) { return of.used_gpu_hours; });
  experiments.add("committed_gpu_hours",
                  [](const Standings& of) { return of.committed_gpu_hours; });
  experiments.add("budget_gpu_hours",
                  [](const Standings& of) { return if_positive(of.budget_gpu_hours); });
  experiments.add("scheduler_silent_seconds",
                  [](const Standings& of) { return if_positive(of.silent_seconds); });
  out.sections.push_back(status_runs("runs", all));
  out.sections.push_back(experiments.table("experiments"));
  for (const auto& standings : all) {
    auto table = status_table(standings, top);
    table.below = status_summary(standings);
    out.sections.push_back(std::move(table));
  }
  return out;
}

std::string status_summary(const Standings& standings) {
  std::map<RunState, std::size_t> counts;
  for (const auto& run : standings.runs) ++counts[run.record.state];
  std::vector<std::string> parts;
  for (const auto state :
       {RunState::finished, RunState::running, RunState::pending, RunState::stopped,
        RunState::failed, RunState::cancelled, RunState::planned})
    if (counts[state] > 0) parts.push_back(fmt::format("{} {}", counts[state], name(state)));
  auto out = fmt::format("{}: {}", printable(standings.experiment), join(parts, ", "));
  out += "; " + hours_text(standings) + "\n";
  if (standings.silent_seconds > 0)
    out += fmt::format("the scheduler has not answered for {}; what is shown may be old\n",
                       format_seconds(standings.silent_seconds));
  return out + busy_text(standings);
}

std::vector<std::string> changes(const Standings& before, const Standings& now) {
  std::map<std::string, const RunStatus*> old;
  for (const auto& run : before.runs) old[run.record.id] = &run;
  std::vector<std::string> out;
  for (const auto& run : now.runs) {
    const auto found = old.find(run.record.id);
    const auto was = found == old.end() ? RunState::planned : found->second->record.state;
    const auto& record = run.record;
    const bool hangs =
        record.failure == record::Failure::hang &&
        (found == old.end() || found->second->record.failure != record::Failure::hang);
    if (was == record.state && !hangs) continue;
    auto line = fmt::format("{}: {}", id_text(run), state_text(run));
    if (const auto reason = reason_text(run); !reason.empty()) line += ": " + reason;
    if (record.state == RunState::finished && !measured_step_text(run).empty())
      line += fmt::format(", {} s/step ({} estimated)", measured_step_text(run),
                          estimated_step_text(run));
    out.push_back(std::move(line));
  }
  return out;
}

namespace {

RunStatuses fastest_first(const Standings& standings) {
  RunStatuses runs;
  for (const auto& run : standings.runs)
    if (run.record.measured.step_seconds) runs.push_back(&run);
  std::ranges::stable_sort(runs, std::greater(),
                           [](const auto* run) { return run->record.measured.tokens_per_second; });
  return runs;
}

// Repeats of one configuration differ by five percent, and by the variation of their own steps.
bool may_be_noise(const RunStatus& fast, const RunStatus& slow, double ratio) {
  const auto &one = *fast.record.measured.step_seconds, &other = *slow.record.measured.step_seconds;
  if (ratio < 1.05) return true;
  // Compares the slow end of one interval with the fast end of the other.
  return one.has_limits() && other.has_limits() &&
         ratio <= *one.high / one.value * (other.value / *other.low);
}

// If measurements were outside the estimates' ranges, repeated ones may differ, too.
std::string outside_ranges(const RunStatuses& runs) {
  const auto outside = std::ranges::count_if(runs, [](const auto* run) {
    const auto& estimate = run->record.estimated;
    const double seconds = run->record.measured.step_seconds->value;
    return estimate && (seconds < estimate->step_low || seconds > estimate->step_high);
  });
  if (2 * static_cast<std::size_t>(outside) <= runs.size()) return "";
  const auto others = others_share(runs);
  return fmt::format(
      " {} of {} step times are outside the 90 % range of their estimates: {}.", outside,
      runs.size(),
      !others ? "the machine was busy, or is not what it is taken for; run them again when it is "
                "idle, or orch calibrate --this-machine"
      : *others < record::kBusyShare
          ? "the machine was idle, but is not what it is taken for; orch calibrate --this-machine"
          : "the machine was busy; run them again when it is idle");
}

}  // namespace

MeasuredAnswer measured_answer(const Standings& standings) {
  const auto runs = fastest_first(standings);
  const auto field = [](const RunStatus* run, const char* name) {
    return run->record.field_text(name);
  };
  const auto speed = [](const RunStatus* run) {
    return run->record.measured.tokens_per_second.value_or(0);
  };
  std::vector<std::string> others, alike;
  MeasuredAnswer out;
  for (const auto* run : runs) {
    for (const auto* same : {"params", "seq", "gpus", "gpu"})
      if (field(run, same) != field(runs.front(), same)) return {};  // not comparable
    const auto strategy = field(run, "strategy");
    if (std::ranges::find(out.strategies, strategy) != out.strategies.end()) continue;
    if (speed(run) <= 0) return {};
    out.strategies.push_back(strategy);
    if (run == runs.front()) continue;
    const double ratio = speed(runs.front()) / speed(run);
    if (may_be_noise(*runs.front(), *run, ratio)) alike.push_back(printable(strategy));
    others.push_back(fmt::format("{} {:.2f}x", printable(strategy), ratio));
  }
  if (others.empty()) return {};
  out.text = fmt::format("Measured: {} is fastest: {} tokens/s. At their best the others take: {}.",
                         strategy_text(*runs.front(), shared_settings(runs)),
                         group_digits(std::round(speed(runs.front()))), join(others, ", "));
  if (!alike.empty())
    out.text += fmt::format(" The difference from {} is within that of repeats.", and_list(alike));
  out.text += outside_ranges(runs);
  return out;
}

// Measured values, then estimates, and their errors. All runs must have progress.
show::Table measured_table(const Standings& standings) {
  const auto runs = fastest_first(standings);
  if (runs.empty()) return {};
  const auto shared = shared_settings(runs);
  StatusColumns columns(runs);
  const auto add = [&](const char* title, int rank, auto read) {
    return &columns.add("", title, rank, read);
  };
  add("strategy", 0, [=](const RunStatus& run) { return strategy_text(run, shared); })->gives_way =
      true;
  add("ranks", 1, [](const RunStatus& run) { return run.gpus(); });
  add("loss", 1, loss_text);
  add("eval loss", 4, evaluation_text);
  add("step s", 0, measured_step_text);
  add("est.", 1, [](const RunStatus& run) {
    return run.estimated_step() > 0 ? significant(run.estimated_step()) : "";
  });
  add("error", 0, [](const RunStatus& run) {
    return error_text(run.estimated_step(), run.record.measured.step_seconds->value);
  });
  add_beside("tokens_per_second", 2, columns);
  add_amounts(2, columns);
  add_beside("days_per_100b_tokens", 5, columns);
  add_beside("gpu_hours", 6, columns);
  add("state", 3, state_text);
  add("run", 1, hash_text);
  auto out = columns.table("");
  out.above.push_back(measured_note(runs));
  return out;
}

}  // namespace orch::tables
