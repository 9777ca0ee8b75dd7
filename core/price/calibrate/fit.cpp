#include "core/price/calibrate/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/plan/nearness.h"
#include "core/plan/tie.h"
#include "core/price/calibrate/joint.h"
#include "core/price/estimate/spread.h"

namespace orch::calibrate {
namespace {

using estimate::kNineOfTen;

constexpr double kLeastSpread = 0.02;
constexpr double kAssumedRows = 3;
constexpr double kAssumedTime = 0.15, kAssumedMemory = 0.1;

// The standard deviation for which nine of ten rows are within 1.645 of it, corrected three times:
// fitted rows have smaller residuals than new ones, the more so the fewer there are per constant; a
// new table has an error of its own, which few tables show badly; and the assumed spread counts as
// a few more rows.
double spread_of(Vector residuals, std::size_t tables, double decided, double assumed) {
  for (auto& residual : residuals) residual = std::fabs(residual);
  std::sort(residuals.begin(), residuals.end());
  const auto n = static_cast<double>(residuals.size());
  const auto at = static_cast<std::size_t>(0.9 * (n - 1) + 0.5);
  const double optimism = std::sqrt((n + decided) / std::max(n - decided, 0.25 * n));
  const double elsewhere = std::sqrt(1 + 1 / static_cast<double>(tables));
  const double seen = residuals[at] / kNineOfTen * optimism * elsewhere;
  const double both = (n * seen * seen + kAssumedRows * assumed * assumed) / (n + kAssumedRows);
  return std::clamp(std::sqrt(both), kLeastSpread, 1.0);
}

using Members = std::vector<std::size_t>;  // indices of a joint's observations

void widen(plan::SeenRanges::Span& span, double value) {
  span.low = span.low == 0 ? value : std::min(span.low, value);
  span.high = std::max(span.high, value);
}

void add(plan::SeenRanges& seen, const plan::Run& run) {
  ++seen.rows;
  widen(seen.gpus, static_cast<double>(run.gpus));
  widen(seen.params, run.model.params());
  widen(seen.tokens, static_cast<double>(run.batch.micro_batch * run.model.seq) /
                         static_cast<double>(run.layout.context_parallel));
  widen(seen.tensor_nodes, plan::tensor_nodes(run, *run.partition));
  widen(seen.micro_batches, static_cast<double>(run.batch.accumulate));
  for (const auto& [name, word] : estimate::telling_settings(run)) {
    auto& values = seen.settings[std::string(name)];
    if (!contains(values, word)) values.push_back(word);
  }
}

// Writes one quantity's fit into machines and stacks.
class QuantityFit {
 public:
  QuantityFit(JointModel& joint, bool memory) : joint_(joint), memory_(memory) {
    if (!joint.observations().empty()) solution_ = joint.solve(residuals_);
  }

  void tell_machine(int machine, const plan::Efficiency& assumed,
                    const std::vector<plan::StackPtr>& stacks, plan::Calibration& out) const {
    const auto rows = rows_of([&](const Observation& o) { return int(o.machine) == machine; });
    if (rows.empty()) return;
    const auto origin = "fitted: " + text(rows);
    for (std::size_t k = 0; k < joint_.unknowns().size(); ++k) {
      const auto& unknown = joint_.unknowns()[k];
      if (unknown.machine != machine) continue;
      const double value = joint_.value(unknown, solution_.point);
      if (unknown.tunable)
        out.constants[std::string(unknown.tunable->name)] = {value, origin + bound(unknown, value)};
      else
        out.eras[unknown.era].time = {value, origin};
    }
    tell_spread(rows, origin, memory_ ? assumed.memory_spread.value : assumed.time_spread.value,
                out.constants);
    if (memory_) return;
    for (const auto i : rows) add(out.seen, joint_.observations()[i]->run);
    tell_stacks(rows, stacks, out.seen);
  }

  void tell_stacks(std::vector<plan::Stack>& stacks) const {
    std::set<int> told;
    const std::function<void(int)> tell = [&](int s) {
      if (s < 0 || !told.insert(s).second) return;
      const int parent = joint_.parent(static_cast<std::size_t>(s));
      tell(parent);
      tell_stack(s, parent < 0 ? nullptr : &stacks[static_cast<std::size_t>(parent)],
                 stacks[static_cast<std::size_t>(s)]);
    };
    for (std::size_t s = 0; s < stacks.size(); ++s) tell(static_cast<int>(s));
  }

 private:
  // What a stack's own rows do not show is inherited from the software that it was derived from.
  void tell_stack(int stack, const plan::Stack* parent, plan::Stack& out) const {
    const auto rows = rows_of([&](const Observation& o) { return o.stack == stack; });
    if (parent) inherit(*parent, out);
    if (rows.empty()) return;
    const auto origin = "fitted: " + text(rows);
    for (const auto& unknown : joint_.unknowns())
      if (unknown.stack == stack)
        out.constants[std::string(unknown.tunable->name)] = {joint_.value(unknown, solution_.point),
                                                             origin};
    tell_spread(rows, origin, memory_ ? kAssumedMemory : kAssumedTime, out.constants);
    if (memory_) return;
    out.seen = {};
    for (const auto i : rows) {
      const auto& run = joint_.observations()[i]->run;
      add(out.seen, run);
      auto& sizes = out.seen.devices[run.partition->gpu.name];
      widen(sizes.gpus, static_cast<double>(run.gpus));
      widen(sizes.params, run.model.params());
      if (!run.cluster) continue;
      if (auto where = plan::machine_of(run); !contains(out.seen.machines, where))
        out.seen.machines.push_back(std::move(where));
    }
  }

  static constexpr double kGrown =
      0.1;  // spread added for a version of software without rows of its own

  void inherit(const plan::Stack& parent, plan::Stack& out) const {
    const std::string spread = memory_ ? "memory_spread" : "time_spread";
    for (const auto& [name, constant] : parent.constants) {
      const auto* tunable = plan::find_tunable(name);
      const bool mine =
          name == spread ||
          std::ranges::any_of(memory_ ? plan::memory_tunables() : plan::time_tunables(),
                              [&](const auto& each) { return &each == tunable; });
      if (!mine) continue;
      out.constants[name] = constant;
      if (name == spread)
        out.constants[name] = {std::hypot(constant.value, kGrown),
                               "assumed: a little more than " + parent.name};
    }
  }

  Members rows_of(const std::function<bool(const Observation&)>& is) const {
    Members out;
    for (std::size_t i = 0; i < joint_.observations().size(); ++i)
      if (is(*joint_.observations()[i])) out.push_back(i);
    return out;
  }

  // Adds which stacks a machine's rows ran, and the settings of each stack where they are fewer
  // than all of the machine's.
  void tell_stacks(const Members& rows, const std::vector<plan::StackPtr>& stacks,
                   plan::SeenRanges& out) const {
    std::map<std::string, plan::SeenRanges> of_stack;
    for (const auto i : rows) {
      const auto& observation = *joint_.observations()[i];
      if (observation.stack >= 0)
        add(of_stack[stacks[static_cast<std::size_t>(observation.stack)]->name], observation.run);
    }
    for (const auto& [name, seen] : of_stack) {
      out.stacks.push_back(name);
      for (const auto& [setting, values] : seen.settings)
        if (values.size() < out.settings[setting].size()) out.of_stack[name][setting] = values;
    }
  }

  std::string text(const Members& rows) const {
    std::vector<const Observation*> list;
    for (const auto i : rows) list.push_back(joint_.observations()[i]);
    return rows_text(list);
  }

  // A remark for a constant at its limit, which would go further if it could.
  static std::string bound(const JointModel::Unknown& unknown, double value) {
    const auto& t = *unknown.tunable;
    if (value >= 0.999 * t.max) return ", at its upper bound";
    return value <= 1.001 * t.min ? ", at its lower bound" : "";
  }

  void tell_spread(const Members& rows, const std::string& origin, double assumed,
                   std::map<std::string, plan::Constant>& out) const {
    Vector residuals;
    std::set<std::string> tables;
    double decided = 0;
    for (const auto i : rows) {
      tables.insert(joint_.observations()[i]->table);
      residuals.push_back(residuals_[i]);
      decided += solution_.leverage[i];
    }
    out[memory_ ? "memory_spread" : "time_spread"] = {
        spread_of(std::move(residuals), tables.size(), decided, assumed), origin};
  }

  const JointModel& joint_;
  bool memory_;
  Solution solution_;
  Vector residuals_;
};

}  // namespace

std::string rows_text(std::span<const Observation* const> observations) {
  std::set<std::string> sources, inferred;
  for (const auto* o : observations) {
    sources.insert(printable(o->source));
    for (const auto& setting : o->inferred) inferred.insert(printable(setting));
  }
  const auto listed = [](const std::set<std::string>& names) {
    return join(std::vector<std::string>(names.begin(), names.end()), ", ");
  };
  return fmt::format("{} row{} of {}{}", observations.size(), observations.size() == 1 ? "" : "s",
                     listed(sources),
                     inferred.empty() ? "" : ", read with " + listed(inferred) + " (inferred)");
}

plan::Stack as_assumed(const plan::Stack& stack) {
  auto out = stack;
  out.seen = {};
  std::erase_if(out.constants, [](const auto& each) {
    return !each.second.origin.starts_with("assumed:") || each.first.ends_with("_spread");
  });
  return out;
}

// Most of a mixture's time is what only mixtures do: routing, launches for many experts, tokens on
// their way. Where a machine has dense rows, it would be made up by its products.
static std::vector<const Observation*> timed_rows(
    std::span<const Observation* const> observations) {
  std::set<std::size_t> dense;
  for (const auto* o : observations)
    if (o && o->step_seconds > 0 && !o->run.model.mixture()) dense.insert(o->machine);
  std::vector<const Observation*> out(observations.begin(), observations.end());
  for (auto& o : out)
    if (o && o->run.model.mixture() && dense.contains(o->machine)) o = nullptr;
  return out;
}

FitResult fit(const std::vector<FittedMachine>& machines, const std::vector<plan::StackPtr>& stacks,
              std::span<const Observation* const> observations, FitOptions options) {
  FitResult out;
  for (const auto& machine : machines) {
    const auto& present = machine.partitions.front()->calibration;
    auto& made = out.machines.emplace_back();
    if (present && machine.held) made = *present;
    if (options.start == FitStart::present && present) made.constants = present->constants;
    made.eras = machine.eras;
  }
  for (const auto& stack : stacks) {
    auto& made = out.stacks.emplace_back(*stack);
    if (options.stacks && options.start == FitStart::datasheet) made = as_assumed(*stack);
  }
  const auto timed = timed_rows(observations);
  for (const bool memory : {false, true}) {
    JointModel joint(machines, stacks, memory ? observations : timed, options, memory);
    const QuantityFit teller(joint, memory);
    for (std::size_t m = 0; m < machines.size(); ++m)
      if (!machines[m].held)
        teller.tell_machine(static_cast<int>(m), machines[m].partitions.front()->efficiency, stacks,
                            out.machines[m]);
    if (options.stacks) teller.tell_stacks(out.stacks);
  }
  for (std::size_t m = 0; m < machines.size(); ++m)
    out.machines[m].partition = std::make_shared<plan::Partition>(
        plan::calibrated(*machines[m].partitions.front(), out.machines[m]));
  return out;
}

}  // namespace orch::calibrate
