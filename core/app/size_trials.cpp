#include "core/app/size_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/family.h"
#include "core/plan/resolve.h"
#include "core/price/search/shapes.h"

namespace orch::app {
namespace {

constexpr int kSteps = 4;     // model sizes per factor of two, at first
constexpr int kHalvings = 3;  // of the last steps
constexpr int kMisses = 8;    // consecutive sizes without a result, for reasons other than memory
constexpr int kLargest = 12 * kSteps;      // 4,096 times the experiment's size
constexpr double kSmallest = 1e6;          // parameters
constexpr std::int64_t kMostBetween = 64;  // numbers of GPUs tried between two others

// Replaces all axes of these fields by a single one.
void set(plan::Experiment& experiment, const search::SettingNames& instead_of,
         plan::SweepAxis axis) {
  experiment.hardware = search::without(experiment.hardware, instead_of);
  experiment.batch = search::without(experiment.batch, instead_of);
  for (auto& model : experiment.models) model.space = search::without(model.space, instead_of);
  for (auto& asked : experiment.strategies) asked.space = search::without(asked.space, instead_of);
  experiment.hardware.axes.push_back(std::move(axis));
}

struct TrialOutcome {
  bool fits = false, keeps = false;  // fits: some run; keeps: also the budget
  bool too_large = false;            // apart from invalid runs, all are too large for the memory
};

// Searches at one size, and keeps the best of each strategy.
Result<TrialOutcome> try_size(TrialSizes& s, const plan::Experiment& sized,
                              const std::string& size) {
  s.console.progress(fmt::format("{} sizes tried, now {}", s.tried, size));
  const auto space = search::SearchSpace::make(sized, s.app.find_cluster(), s.opening);
  if (!space) return space.error();
  const auto found = search::search(**space, s.app.backends(), s.options);
  if (!found) return found.error();
  s.complete = s.complete && found->complete;
  if (!found->complete) return TrialOutcome{};  // interrupted: this may not be the best of its size
  ++s.tried;
  s.evaluated += found->evaluated;
  TrialOutcome outcome;
  for (const auto& score : found->strategies()) {
    std::vector<Error> reasons;
    auto planned = s.app.explain(search::run_at(**space, s.app.backends(), score.place, reasons));
    if (!planned) return planned.error();
    outcome.keeps = outcome.keeps || tables::keeps(*planned, s.experiment);
    s.found.push_back({std::move(*planned), (*space)->strategy_at(score.place)});
  }
  outcome.fits = !found->empty();
  outcome.too_large = found->fitting == 0 && found->oom > 0;
  if (!outcome.fits) s.why = reasons_text(s.app, sized, **space, *found);
  return outcome;
}

// The experiment's first run, as far as it can be made without a layout.
struct FirstRun {
  explicit FirstRun(const TrialSizes& s)
      : frame(s.experiment, s.experiment.models.front(), s.experiment.strategies.front()),
        find(s.app.find_cluster()),
        resolver(frame, find),
        points(frame.axes().size()) {
    resolver.start(points);
  }
  plan::FieldSources frame;
  plan::FindCluster find;
  plan::Resolver resolver;
  std::vector<std::size_t> points;
};

// Parts of a node, then nodes: every number up to 8, then steps of an eighth to a quarter.
std::vector<std::int64_t> gpu_counts(std::int64_t per_node, std::int64_t nodes) {
  std::vector<std::int64_t> counts;
  if (nodes <= 0) return counts;
  for (std::int64_t part = 1; part < per_node; part *= 2) counts.push_back(part);
  for (std::uint64_t n = 1; n < static_cast<std::uint64_t>(nodes);
       n += std::max<std::uint64_t>(1, std::bit_floor(n) / 4))
    counts.push_back(static_cast<std::int64_t>(n) * per_node);
  counts.push_back(nodes * per_node);
  return counts;
}

// Numbers of GPUs above one and below another.
std::vector<std::int64_t> counts_between(std::int64_t low, std::int64_t high,
                                         std::int64_t per_node) {
  const auto unit = high <= per_node ? 1 : per_node;
  const auto step = unit * std::max<std::int64_t>(1, (high - low) / unit / kMostBetween);
  std::vector<std::int64_t> counts;
  for (auto count = low / unit * unit + step; count < high; count += step) counts.push_back(count);
  return counts;
}

// Untried numbers on both sides of each answer; for the fewest GPUs, only below it.
std::set<std::int64_t> counts_near(const std::vector<GpuCountAnswer>& answers,
                                   const std::vector<std::int64_t>& counts, std::int64_t per_node) {
  std::set<std::int64_t> out;
  const auto add = [&](std::int64_t low, std::int64_t high) {
    for (const auto count : counts_between(low, high, per_node)) out.insert(count);
  };
  for (const auto& [gpus, is_fewest] : answers) {
    const auto at = std::ranges::lower_bound(counts, gpus);
    if (at != counts.begin()) add(*std::prev(at), *at);
    if (!is_fewest && std::next(at) != counts.end()) add(*at, *std::next(at));
  }
  return out;
}

}  // namespace

Status try_gpus(TrialSizes& s, const std::function<std::vector<GpuCountAnswer>()>& answered) {
  FirstRun first(s);
  const auto* machine = first.resolver.partition();
  if (!machine) return first.resolver.problems().front();
  const auto per_node = machine->gpus_per_node;
  const auto spare = s.experiment.job.spare_nodes.value_or(machine->slurm.spare_nodes.value_or(0));
  const auto counts =
      gpu_counts(per_node, machine->nodes - s.experiment.budget.reserve_nodes - spare);
  if (counts.empty())
    return Error{
        s.experiment.file,
        fmt::format("no node is left of the {} that {} has", machine->nodes, machine->name),
        "lower budget.reserve_nodes or slurm.spare_nodes"};
  s.sizes =
      fmt::format("between 1 and {}, of {}/{}", group_digits(static_cast<double>(counts.back())),
                  first.resolver.cluster()->name, machine->name);
  const auto try_all = [&](const auto& those) -> Status {
    for (const auto count : those) {
      s.complete = s.complete && !interrupted();
      if (!s.complete) break;
      auto sized = s.experiment;
      set(sized, {"gpus", "nodes"}, {{"gpus"}, {{plan::Value(count)}}});
      if (const auto tried = try_size(s, sized, plural(count, "GPU")); !tried) return tried.error();
    }
    return {};
  };
  if (auto status = try_all(counts); !status) return status;
  return try_all(counts_near(answered(), counts, per_node));
}

namespace {

bool says(const plan::SweepSpace& space, std::string_view field) {
  return std::ranges::any_of(
             space.axes,
             [&](const plan::SweepAxis& axis) { return contains(axis.fields, field); }) ||
         std::ranges::any_of(space.derived, [&](const plan::DerivedField& derived) {
           return derived.field == field;
         });
}

plan::Experiment with_model(const plan::Experiment& experiment, const plan::Model& model) {
  using plan::Field;
  auto out = experiment;
  auto& asked = out.models.front();
  search::SettingNames changed{"layers", "hidden", "heads"};
  for (const auto field :
       {Field::kv_heads, Field::ffn_hidden, Field::expert_hidden, Field::dense_layers})
    if (says(asked.space, plan::name(field))) changed.emplace(plan::name(field));
  plan::SweepAxis axis{{}, {{}}};
  for (const auto& name : changed) {
    axis.fields.push_back(name);
    for (const auto& size : plan::family_of(model).sizes)
      if (plan::name(size.field) == name)
        axis.points.front().push_back(plan::get(model, size.field));
  }
  set(out, changed, std::move(axis));
  asked.name.clear();
  return out;
}

// Model sizes as steps: each is 2^(1/4) times the previous.
struct SizeLadder {
  TrialSizes& s;
  plan::Model model;  // the experiment's model
  std::map<double, TrialOutcome> tried = {};
  std::set<double> params = {};

  // Nothing if the shape was already tried, or the time is over.
  Result<std::optional<TrialOutcome>> attempt(double step) {
    const auto other = step == 0 ? model : search::scaled(model, std::exp2(step / kSteps));
    s.complete = s.complete && !interrupted();
    if (!s.complete || !params.insert(other.params()).second) return std::optional<TrialOutcome>();
    s.sizes += (s.sizes.empty() ? "" : ", ") + format_tokens(other.params());
    const auto outcome = try_size(s, step == 0 ? s.experiment : with_model(s.experiment, other),
                                  format_tokens(other.params()) + " parameters");
    if (!outcome) return outcome.error();
    return std::optional(tried[step] = *outcome);
  }

  // Goes up in steps of one, until no run fits the memory, or the last step is reached.
  Status climb() {
    int misses = 0;
    for (int step = 1; step <= kLargest && misses < kMisses && s.complete; ++step) {
      const auto outcome = attempt(step);
      if (!outcome) return outcome.error();
      if (!*outcome) continue;
      if ((*outcome)->too_large) break;
      misses = (*outcome)->fits ? 0 : misses + 1;
    }
    return {};
  }
  Status descend(bool TrialOutcome::*enough) {
    for (int step = -1;
         s.complete && model.params() * std::exp2(static_cast<double>(step) / kSteps) > kSmallest;
         --step) {
      const auto outcome = attempt(step);
      if (!outcome) return outcome.error();
      if (*outcome && (**outcome).*enough) break;
    }
    return {};
  }
  // Halves the steps between the largest size that is good enough and the next one.
  Status refine(bool TrialOutcome::*enough) {
    const auto good = std::find_if(tried.rbegin(), tried.rend(),
                                   [&](const auto& each) { return each.second.*enough; });
    if (good == tried.rend() || good == tried.rbegin()) return {};
    double low = good->first, high = std::prev(good)->first;
    for (int i = 0; i < kHalvings && s.complete; ++i) {
      const auto middle = (low + high) / 2;
      const auto outcome = attempt(middle);
      if (!outcome) return outcome.error();
      if (!*outcome) break;
      ((**outcome).*enough ? low : high) = middle;
    }
    return {};
  }
};

}  // namespace

Status try_models(TrialSizes& s) {
  FirstRun first(s);
  SizeLadder ladder{s, first.resolver.model()};
  if (!first.resolver.problems().empty()) return first.resolver.problems().front();
  const auto own = ladder.attempt(0);
  if (!own) return own.error();
  if (!*own) return {};
  const auto enough =
      plan::has_limits(s.experiment.budget) ? &TrialOutcome::keeps : &TrialOutcome::fits;
  if ((*own)->fits)
    if (auto status = ladder.climb(); !status) return status;
  if (!((**own).*enough))
    if (auto status = ladder.descend(enough); !status) return status;
  for (const auto which : {&TrialOutcome::fits, &TrialOutcome::keeps})
    if (auto status = ladder.refine(which); !status) return status;
  return {};
}

}  // namespace orch::app
