#include "core/plan/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/check.h"
#include "core/plan/stack.h"

namespace orch::plan {
namespace {

double combinations(const FieldSources& frame) {
  double count = 1;
  for (const auto* axis : frame.axes()) count *= static_cast<double>(axis->points.size());
  return count;
}

// Counts through the points of all axes like an odometer, the last axis fastest.
bool advance(const FieldSources& frame, std::vector<std::size_t>& points) {
  for (auto i = points.size(); i-- > 0;) {
    if (++points[i] < frame.axes()[i]->points.size()) return true;
    points[i] = 0;
  }
  return false;
}

std::string model_name(const FieldSources& frame, const Model& model) {
  if (!frame.model().name.empty()) return frame.model().name;
  const double billions = model.params() / 1e9;
  if (billions < 1) return fmt::format("{}-{:.0f}m", model.family, model.params() / 1e6);
  return fmt::format("{}-{:.{}f}b", model.family, billions, billions < 10 ? 1 : 0);
}

// The SLURM options of the partition, overridden by those of the experiment.
SlurmSettings job_words(const SlurmSettings& site, const SlurmSettings& asked) {
  SlurmSettings job = site;
  for (const auto& word : kSlurmWords)
    if (!(asked.*word.at).empty()) job.*word.at = asked.*word.at;
  if (asked.signal_seconds > 0) job.signal_seconds = asked.signal_seconds;
  if (asked.spare_nodes) job.spare_nodes = asked.spare_nodes;
  job.options.insert(job.options.end(), asked.options.begin(), asked.options.end());
  for (const auto& [key, value] : asked.environment) {
    job.environment[key] = value;
    job.expanded.erase(key);
  }
  job.expanded.insert(asked.expanded.begin(), asked.expanded.end());
  if (asked.container.given()) job.container = asked.container;
  if (!asked.setup.empty()) job.setup += (job.setup.empty() ? "" : "\n") + asked.setup;
  return job;
}

// The trainer may also be named in a job's environment; that variable is removed from it. A
// strategy's framework has priority over the experiment's trainer.
void name_trainer(const FieldSources& frame, Run& run) {
  const auto& experiment = frame.experiment();
  run.framework = frame.asked().framework;
  run.launch = frame.asked().launch;
  run.args = frame.asked().args;
  run.trainer = experiment.trainer;
  if (auto own = run.job.environment.extract("ORCH_TRAINER"); own && !own.mapped().empty())
    run.trainer = own.mapped();
  if (!run.framework.empty()) run.trainer.clear();
  run.stack = frame.stack().empty() ? default_stack(run) : frame.stack();
}

Model make_model(const FieldSources& frame, Resolver& resolver) {
  auto model = resolver.model();
  model.name = model_name(frame, model);
  return model;
}

}  // namespace

namespace {

// If expert parallelism is given with the model, it has to be a parameter of the strategy.
void warn_of_experts(const FieldSources& frame, Run& run) {
  if (frame.index("expert_parallel") >= 0) return;
  for (const auto& axis : frame.model().space.axes)
    if (axis.fields.front() == "expert_parallel" &&
        axis.points.front().front() != Value(std::int64_t{1}))
      run.warnings.push_back({"expert_parallel",
                              fmt::format("{} has no expert parallelism: each rank has all experts",
                                          run.strategy->name),
                              "use megatron, or expert_parallel = 1"});
}

}  // namespace

Run make_run(const FieldSources& frame, Resolver& resolver) {
  Run run;
  run.experiment = frame.experiment().name;
  run.strategy = frame.strategy();
  run.model = make_model(frame, resolver);
  run.cluster = resolver.cluster();
  run.partition = resolver.partition();
  run.gpus = resolver.integer(Field::gpus);
  run.nodes = resolver.integer(Field::nodes);
  run.layout = {resolver.layout("tensor_parallel"), resolver.layout("pipeline_parallel"),
                resolver.integer(Field::data_parallel), resolver.layout("context_parallel")};
  run.training = frame.experiment().trainings.front();
  run.swept = join(frame.experiment().swept, ",");
  run.batch = {resolver.integer(Field::micro_batch), resolver.integer(Field::accumulate),
               resolver.integer(Field::global_batch), frame.experiment().rampup};
  const auto* tokens = std::get_if<double>(&resolver.get(Field::tokens));
  run.tokens = tokens ? *tokens : 0;
  const auto* steps = std::get_if<std::int64_t>(&resolver.get(Field::steps));
  run.steps = steps ? *steps : 0;
  std::vector<Value> settings;
  settings.reserve(run.strategy->params.size());
  for (std::size_t i = 0; i < run.strategy->params.size(); ++i)
    settings.push_back(resolver.get(kFields + static_cast<int>(i)));
  run.settings = std::move(settings);
  if (run.partition)
    run.job = job_words(job_words(run.partition->slurm, frame.experiment().job), frame.asked().job);
  // This setting is a variable of the job, which reaches every trainer.
  if (run.setting("launch_blocking") == Value(true))
    run.job.environment["CUDA_LAUNCH_BLOCKING"] = "1";
  name_trainer(frame, run);
  warn_of_experts(frame, run);
  return run;
}

namespace {

// The strings that an axis gives to a field; none if a function gives it or no one does.
std::set<std::string> given_texts(const FieldSources& frame, Field field) {
  std::set<std::string> texts;
  const auto& source = frame.source(static_cast<int>(field));
  if (source.axis < 0) return texts;
  for (const auto& point : frame.axes()[static_cast<std::size_t>(source.axis)]->points)
    if (const auto* text =
            std::get_if<std::string>(&point[static_cast<std::size_t>(source.column)]))
      texts.insert(*text);
  return texts;
}

using ClusterList = std::vector<std::shared_ptr<const Cluster>>;

// Errors for a partition that no cluster has, and for a missing one where every cluster has
// several.
Errors check_partitions(const FieldSources& frame, const ClusterList& clusters) {
  Errors errors;
  std::vector<std::string> names;
  for (const auto& cluster : clusters)
    for (const auto& partition : cluster->partitions) names.push_back(partition.name);
  const auto place = frame.experiment().file + ": hardware.partition";
  const auto several = [](const auto& cluster) { return cluster->partitions.size() > 1; };
  if (!frame.given(Field::partition) && !clusters.empty() &&
      std::all_of(clusters.begin(), clusters.end(), several))
    return Error{place, fmt::format("missing: {} has several partitions", clusters.front()->name),
                 "one of: " + join(names, ", ")};
  for (const auto& wanted : given_texts(frame, Field::partition))
    if (!contains(names, wanted) && !names.empty())
      errors.push_back(
          {place,
           fmt::format("{} has no partition {}", clusters.front()->name, show(Value(wanted))),
           suggestion(wanted, names)});
  return errors;
}

// Checking with the first cluster is enough: all clusters know the same stacks.
Errors check_stack(const FieldSources& frame, const ClusterList& clusters) {
  Errors errors;
  if (frame.stack().empty() || clusters.empty()) return errors;
  const auto place = frame.asked().stack.empty() ? frame.experiment().file + ": stack"
                                                 : frame.asked().place + ".stack";
  errors.add(check_stack(clusters.front()->partitions.front(), frame.stack(), place));
  return errors;
}

Errors check_hardware(const FieldSources& frame, const FindCluster& find_cluster) {
  if (!frame.given(Field::cluster))
    return Error{frame.experiment().file + ": hardware.cluster", "missing",
                 "write hardware = { cluster = \"jean-zay\", ... }; orch clusters lists them"};
  Errors errors;
  ClusterList clusters;
  for (const auto& name : given_texts(frame, Field::cluster)) {
    const auto cluster = find_cluster(name);
    if (cluster) {
      clusters.push_back(*cluster);
      continue;
    }
    for (auto error : cluster.error()) {  // an error in the cluster's file already has a place
      if (error.place.empty()) error.place = frame.experiment().file + ": hardware.cluster";
      errors.push_back(std::move(error));
    }
  }
  if (errors.empty()) errors = check_partitions(frame, clusters);
  if (errors.empty()) errors = check_stack(frame, clusters);
  return errors;
}

// Adds the currencies of prices, each with the first cluster that has it.
void add_currencies(const FieldSources& frame, const FindCluster& find_cluster,
                    std::map<std::string, std::string>& out) {
  const auto partitions = given_texts(frame, Field::partition);
  for (const auto& name : given_texts(frame, Field::cluster))
    if (const auto cluster = find_cluster(name))
      for (const auto& partition : (*cluster)->partitions)
        if (const auto& currency = partition.operation.currency;
            !currency.empty() && (partitions.empty() || contains(partitions, partition.name)))
          out.emplace(currency, name);
}

// A limit of money is one number: amounts in two currencies cannot be compared with it.
Errors check_currencies(const Experiment& experiment, const FindCluster& find_cluster) {
  std::map<std::string, std::string> currencies;
  if (experiment.budget.money <= 0) return {};
  for (const auto& model : experiment.models)
    for (const auto& strategy : experiment.strategies)
      add_currencies(FieldSources(experiment, model, strategy), find_cluster, currencies);
  if (currencies.size() < 2) return {};
  const auto prices = mapped(
      currencies, [](const auto& each) { return fmt::format("{} ({})", each.first, each.second); });
  return Error{experiment.file + ": budget.money",
               fmt::format("the prices of its clusters are in {}", and_list(prices)),
               "give the prices in one currency in the clusters' files, or plan each cluster by "
               "itself"};
}

}  // namespace

Errors check_hardware(const Experiment& experiment, const FindCluster& find_cluster) {
  Errors errors;
  for (const auto& model : experiment.models)
    for (const auto& strategy : experiment.strategies)
      for (const auto& error :
           check_hardware(FieldSources(experiment, model, strategy), find_cluster))
        if (!contains(errors, error)) errors.push_back(error);
  return errors.empty() ? check_currencies(experiment, find_cluster) : errors;
}

void check_constraints(const Experiment& experiment, const Lookup& lookup,
                       std::vector<Error>& reasons) {
  for (const auto& constraint : experiment.constraints) {
    const auto broken = constraint.broken(lookup);
    if (!broken)
      reasons.insert(reasons.end(), broken.error().begin(), broken.error().end());
    else if (!broken->empty())
      reasons.push_back(
          {"constraint '" + printable(constraint.name) + "'", printable(*broken), ""});
  }
}

namespace {

// Collects runs and rejected runs.
struct ExpandOutcome {
  std::function<Status(Run)> take;
  std::vector<RejectedRun> rejected;
  Settings settings;  // of a strategy's first run, shared by the others
};

Status sort_in(const FieldSources& frame, Resolver& resolver, const Training& training,
               const CheckBackend& check_backend, ExpandOutcome& outcome) {
  Run run = make_run(frame, resolver);
  if (outcome.settings.size() == 0) outcome.settings = run.settings;
  run.settings = run.settings.shared_with(outcome.settings);
  run.training = training;
  std::vector<Error> reasons = resolver.problems();
  if (run.partition) {
    check_calendar(run, frame.experiment().calendar, reasons);
    check(run, frame.experiment().budget, reasons, run.warnings);
    check_backend(run, reasons, run.warnings);
    check_constraints(frame.experiment(), resolver.as_lookup(), reasons);
  }
  if (frame.experiment().strict) {
    reasons.insert(reasons.end(), run.warnings.begin(), run.warnings.end());
    run.warnings.clear();
  }
  if (!reasons.empty()) {
    outcome.rejected.push_back({label(run), std::move(reasons)});
    return {};
  }
  for (std::int64_t repeat = 2; repeat <= frame.experiment().repeats; ++repeat) {
    auto again = run;
    again.repeat = repeat;
    if (auto status = outcome.take(std::move(again)); !status) return status;
  }
  return outcome.take(std::move(run));
}

}  // namespace

double combinations(const Experiment& experiment) {
  double count = 0;
  for (const auto& model : experiment.models)
    for (const auto& strategy : experiment.strategies)
      count += combinations(FieldSources(experiment, model, strategy));
  return count * static_cast<double>(experiment.trainings.size()) *
         static_cast<double>(experiment.repeats);
}

Result<Plan> expand(const Experiment& experiment, const FindCluster& find_cluster,
                    const CheckBackend& check_backend, const ExpandOptions& options) {
  const double count = combinations(experiment);
  if (count > options.max_runs)
    return Error{experiment.file,
                 fmt::format("the lists multiply to {} runs, more than {}", format_number(count),
                             format_number(options.max_runs)),
                 "shorten the lists, pair some with zip{}, or raise --max-runs"};
  if (auto errors = check_hardware(experiment, find_cluster); !errors.empty()) return errors;
  Plan plan;
  ExpandOutcome outcome;
  outcome.take = options.take ? options.take : [&](Run run) -> Status {
    plan.runs.push_back(std::move(run));
    return {};
  };
  for (const auto& model : experiment.models) {
    for (const auto& strategy : experiment.strategies) {
      const FieldSources frame(experiment, model, strategy);
      Resolver resolver(frame, find_cluster);
      std::vector<std::size_t> points(frame.axes().size(), 0);
      outcome.settings = {};
      do {
        if (options.interrupted && options.interrupted())
          return Error{experiment.file, "interrupted while planning", ""};
        resolver.start(points);
        for (const auto& training : experiment.trainings)
          if (auto status = sort_in(frame, resolver, training, check_backend, outcome); !status)
            return status.error();
      } while (advance(frame, points));
    }
  }
  plan.rejected = std::move(outcome.rejected);
  return plan;
}

}  // namespace orch::plan
