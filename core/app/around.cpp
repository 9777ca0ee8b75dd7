#include "core/app/around.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/plan/defaults.h"
#include "core/plan/experiment.h"
#include "core/plan/tie.h"
#include "core/price/search/search.h"

namespace orch::app {
namespace {

using plan::Planned;
using PlannedRuns = std::vector<const Planned*>;

constexpr double kMostConfigurations = 300'000;  // takes less than a second
constexpr std::size_t kMostRuns = 20'000, kMostQuestions = 8;
constexpr double kFaster = 1.1;       // smallest speedup to report
constexpr double kAsGood = 1.02;      // smallest gain for which a setting is changed
constexpr double kAsGoodToFit = 1.1;  // the same for runs that do not fit as listed

bool fits(const Planned& planned) { return planned.estimate.fit != plan::MemoryFit::oom; }

bool has_param(const plan::Experiment& experiment, std::string_view name) {
  return std::ranges::any_of(experiment.strategies,
                             [&](const auto& asked) { return asked.strategy->index(name) >= 0; });
}

search::OpenFields opening_of(const plan::Experiment& experiment, const plan::Run& asked,
                              bool keeps_layout) {
  search::OpenFields opening;
  if (has_flash_attention(asked) && has_param(experiment, "flash_attention"))
    opening.open.push_back("flash_attention");
  if (!keeps_layout) return opening;
  opening.keep = {"micro_batch", "data_parallel", "accumulate"};
  for (const char* name : {"tensor_parallel", "pipeline_parallel", "interleave", "expert_parallel"})
    if (has_param(experiment, name)) opening.keep.push_back(name);
  return opening;
}

// False if batch, model or tokens differ.
bool is_same_training(const plan::Run& a, const plan::Run& b) {
  return a.batch.global_batch == b.batch.global_batch && a.model == b.model && a.tokens == b.tokens;
}

// The trainer is not a tunable setting.
bool is_same_software(const plan::Run& a, const plan::Run& b) {
  return a.strategy == b.strategy && a.framework == b.framework && a.stack == b.stack &&
         a.text_setting("engine") == b.text_setting("engine");
}

// Checks the framework, which a search does not do.
bool is_started(App& app, const plan::Run& run) {
  if (run.framework.empty()) return true;
  const auto launch = app.frameworks().launch(run);
  return launch && launch->refused.empty();
}

// The fastest run of each strategy that fits, for the question of these runs.
std::vector<Planned> search_near(App& app, const plan::Experiment& experiment,
                                 const plan::Run& asked, bool keeps_layout) {
  const auto space = search::SearchSpace::make(experiment, app.find_cluster(),
                                               opening_of(experiment, asked, keeps_layout));
  if (!space || search::size_of(**space, interrupted) > kMostConfigurations) return {};
  search::SearchOptions options;
  options.interrupted = interrupted;
  options.accept = [&](const plan::Run& run, const plan::Estimate&) -> Result<bool> {
    return plan::machine_of(run) == plan::machine_of(asked) && is_same_training(run, asked);
  };
  const auto found = search::search(**space, app.backends(), options);
  std::vector<Planned> out;
  if (!found || !found->complete) return out;
  for (const auto& score : found->strategies()) {
    std::vector<Error> reasons;
    auto planned = app.explain(search::run_at(**space, app.backends(), score.place, reasons));
    if (planned && reasons.empty() && fits(*planned) && is_started(app, planned->run))
      out.push_back(std::move(*planned));
  }
  return out;
}

bool counts_nodes(const plan::Experiment& experiment) {
  const auto& axes = experiment.hardware.axes;
  return std::ranges::any_of(
      axes, [](const plan::SweepAxis& axis) { return contains(axis.fields, "nodes"); });
}

// The differing fields. Nodes and replicas that follow from other GPUs are left out. by_nodes: the
// experiment specifies nodes, not GPUs.
std::vector<std::string> changes_of(const plan::Run& run, const plan::Run& from, bool by_nodes) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view name, std::int64_t value, std::int64_t before) {
    if (value != before) out.push_back(fmt::format("{} = {}", name, value));
  };
  if (by_nodes)
    add("nodes", run.nodes, from.nodes);
  else
    add("gpus", run.gpus, from.gpus);
  add("tensor_parallel", run.layout.tensor_parallel, from.layout.tensor_parallel);
  add("pipeline_parallel", run.layout.pipeline_parallel, from.layout.pipeline_parallel);
  add("micro_batch", run.batch.micro_batch, from.batch.micro_batch);
  for (std::size_t i = 0; i < run.settings.size(); ++i) {
    const auto& name = run.strategy->params[i].name;
    if (name != "tensor_parallel" && name != "pipeline_parallel" &&
        run.settings[i] != from.settings[i])
      out.push_back(name + " = " + plan::show(run.settings[i]));
  }
  return out;
}

// Resets every setting to the listed value unless that costs too much.
Planned simplified(App& app, Planned planned, const plan::Run& listed, double as_good) {
  const double most = as_good * planned.estimate.days_to_train;
  for (std::size_t i = 0; i < listed.settings.size(); ++i) {
    if (planned.run.settings[i] == listed.settings[i]) continue;
    auto run = planned.run;
    run.id.clear();
    run.settings.set(i, listed.settings[i]);
    std::vector<Error> reasons, warnings;
    app.backends().of(*run.strategy).check(run, reasons, warnings);
    if (!reasons.empty()) continue;
    auto trial = app.explain(std::move(run));
    if (trial && fits(*trial) && trial->estimate.days_to_train <= most) planned = std::move(*trial);
  }
  return planned;
}

// The listed run of its strategy with the fewest changes.
const Planned* nearest(const plan::Run& run, const PlannedRuns& listed) {
  const Planned* best = nullptr;
  std::size_t least = 0;
  for (const auto* each : listed) {
    if (!is_same_software(each->run, run) || !is_same_training(each->run, run)) continue;
    const auto changes = changes_of(run, each->run, false).size();
    if (!best || changes < least) best = each, least = changes;
  }
  return best;
}

// A copy of the experiment with a multiple of its GPUs.
plan::Experiment on_more(const plan::Experiment& experiment, std::int64_t times) {
  auto out = experiment;
  const auto scale = [&](plan::SweepSpace& space) {
    for (auto& axis : space.axes)
      for (std::size_t i = 0; i < axis.fields.size(); ++i)
        if (axis.fields[i] == "gpus" || axis.fields[i] == "nodes")
          for (auto& point : axis.points)
            if (auto* count = std::get_if<std::int64_t>(&point[i])) *count *= times;
  };
  scale(out.hardware);
  for (auto& asked : out.strategies) scale(asked.space);
  return out;
}

// Searches on the smallest multiple of the GPUs that is enough.
std::vector<Planned> search_on_more(App& app, const plan::Experiment& experiment,
                                    const plan::Run& asked) {
  std::int64_t times = 1;
  std::vector<Planned> found;
  while (found.empty() && times < 32)
    found = search_near(app, on_more(experiment, times *= 2), asked, false);
  for (auto fewer = times / 2 + 1; !found.empty() && fewer < times; ++fewer)
    if (auto better = search_near(app, on_more(experiment, fewer), asked, false); !better.empty())
      return better;
  return found;
}

std::optional<tables::NearbyRun> nearest_fit(App& app, const plan::Experiment& experiment,
                                             const PlannedRuns& runs) {
  const auto& asked = runs.front()->run;
  auto found = search_near(app, experiment, asked, /*keeps_layout=*/true);
  if (found.empty()) found = search_near(app, experiment, asked, false);
  if (found.empty()) found = search_on_more(app, experiment, asked);
  std::optional<tables::NearbyRun> best;
  for (auto& each : found) {
    const auto* listed = nearest(each.run, runs);
    if (!listed) continue;
    each = simplified(app, std::move(each), listed->run, kAsGoodToFit);
    auto changes = changes_of(each.run, listed->run, counts_nodes(experiment));
    if (changes.empty()) continue;
    if (!best || each.estimate.days_to_train < best->planned.estimate.days_to_train)
      best = tables::NearbyRun{std::move(each), listed, std::move(changes)};
  }
  return best;
}

// The best listed run of a strategy, which is the first.
const Planned* best_listed(const plan::Run& run, const PlannedRuns& runs) {
  const auto found = std::ranges::find_if(runs, [&](const auto* each) {
    return fits(*each) && is_same_software(each->run, run) && is_same_training(each->run, run);
  });
  return found == runs.end() ? nullptr : *found;
}

void add_faster(App& app, const plan::Experiment& experiment, const PlannedRuns& runs,
                std::vector<tables::NearbyRun>& to) {
  for (auto& each : search_near(app, experiment, runs.front()->run, false)) {
    // For a strategy without a listed run that fits, the best found.
    const auto* fitting = best_listed(each.run, runs);
    const auto* listed = fitting ? fitting : nearest(each.run, runs);
    const auto* held = fitting ? fitting : runs.front();
    if (!listed ||
        each.estimate.days_to_train * (fitting ? kFaster : 1) > held->estimate.days_to_train)
      continue;
    each = simplified(app, std::move(each), listed->run, kAsGood);
    auto changes = changes_of(each.run, listed->run, counts_nodes(experiment));
    if (!changes.empty()) to.push_back({std::move(each), listed, std::move(changes)});
  }
}

}  // namespace

std::vector<tables::NearbyRun> look_around(App& app, const tables::RankedRuns& plan) {
  std::vector<tables::NearbyRun> out;
  const auto questions = tables::by_question(plan);
  if (plan.runs.size() > kMostRuns || questions.size() > kMostQuestions) return out;
  for (const auto& runs : questions) {
    // Short trials are not tuned. If the number of nodes varies over time, days do not decide which
    // run ends first.
    const bool says_nothing =
        runs.front()->run.steps > 0 || !plan.experiment->calendar.windows.empty();
    if (fits(*runs.front()) && says_nothing) continue;
    if (fits(*runs.front()))
      add_faster(app, *plan.experiment, runs, out);
    else if (auto found = nearest_fit(app, *plan.experiment, runs))
      out.push_back(std::move(*found));
  }
  return out;
}

}  // namespace orch::app
