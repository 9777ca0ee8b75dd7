#include "core/app/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/check.h"
#include "core/plan/run_id.h"
#include "core/plan/run_json.h"
#include "core/plan/slurm.h"
#include "core/plan/tie.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/run/store/run_folder.h"

namespace orch::app {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

bool ranks_before(const plan::Planned& a, const plan::Planned& b) {
  const auto key = [](const plan::Planned& p) {
    return std::make_tuple(p.estimate.fit == plan::MemoryFit::oom, p.estimate.days_to_train,
                           p.estimate.gpu_hours, std::string_view(p.run.id));
  };
  return key(a) < key(b);
}

// Moves the item at order[i] to i. Items are large: each is moved once, in place.
void reorder(std::vector<plan::Planned>& items, std::vector<std::size_t> order) {
  for (std::size_t first = 0; first < order.size(); ++first) {
    if (order[first] == first) continue;
    auto held = std::move(items[first]);
    auto to = first;
    for (auto from = order[to]; from != first; from = order[to]) {
      items[to] = std::move(items[from]);
      order[to] = to;
      to = from;
    }
    items[to] = std::move(held);
    order[to] = to;
  }
}

// Sorts by question, and within a question by time.
void rank(std::vector<plan::Planned>& runs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<const plan::Run*> asked;
  for (const auto& planned : runs) asked.push_back(&planned.run);
  const auto questions = plan::questions_of(asked);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return questions[a] != questions[b] ? questions[a] < questions[b]
                                        : ranks_before(runs[a], runs[b]);
  });
  reorder(runs, std::move(order));
}

// A job that is told to stop two steps before its limit needs a longer limit than that.
void warn_about_time(plan::Run& run, const plan::Estimate& estimate, std::optional<double> limit) {
  if (!limit || !run.cluster->may_use_slurm() || 4 * estimate.step_seconds <= *limit) return;
  run.warnings.push_back({"hardware.time",
                          "a step takes " + format_seconds(estimate.step_seconds) +
                              " of a limit of " + format_seconds(*limit) +
                              ": a job has hardly any time to save",
                          "raise time, or lower accumulate"});
}

// Warns before anything is rendered for the run.
void warn_about_training(plan::Run& run) {
  if (!run.trainer.empty() || !run.framework.empty()) return;
  if (const auto reason = plan::cannot_train(run); !reason.empty())
    run.warnings.push_back(
        {"trainer", reason, "trainer = \"...\" or framework = \"...\" names a program that can"});
}

// A warning, not an error: the files may exist only on the cluster. A local run refuses them.
std::vector<Error> missing_files(const plan::Experiment& experiment) {
  std::vector<Error> warnings;
  std::error_code code;
  const auto folder = fs::path(experiment.file).parent_path();
  const auto is_missing = [&](const std::string& path, const char* ending) {
    return !path.empty() && !fs::exists(folder / (path + ending), code);
  };
  const auto add = [&](Error warning) {
    if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end())
      warnings.push_back(std::move(warning));
  };
  for (const auto& training : experiment.trainings) {
    if (is_missing(training.data, ".idx"))
      add({"training.data", printable(training.data) + ".idx is not on this machine",
           "name the prefix of a .bin and an .idx that the nodes can read"});
    if (is_missing(training.init, ""))
      add({"training.init", printable(training.init) + " is not on this machine",
           "name a checkpoint that the nodes can read"});
  }
  return warnings;
}

// A warning, not an error: jobs may get the variable elsewhere. A setup may set anything, and SLURM
// sets its own.
void warn_about_variables(plan::Run& run) {
  if (!run.job.setup.empty()) return;
  for (const auto& [variable, name] : plan::needed_variables(run.job))
    if (!std::getenv(variable.c_str()) && !variable.starts_with("SLURM_"))
      run.warnings.push_back(plan::unset_variable(variable, name, "on this machine"));
}

// An experiment without a trainer may get one from the environment; it becomes part of every run.
void settle_trainer(plan::Experiment& experiment) {
  const char* own = std::getenv("ORCH_TRAINER");
  if (!experiment.trainer.empty() || !own || !*own) return;
  const bool is_path = std::string_view(own).find('/') != std::string_view::npos;
  experiment.trainer = is_path ? fs::absolute(own).lexically_normal().string() : own;
}

// True if all phases of a run have finished.
bool has_finished(const fs::path& run_folder) {
  const auto run = store::read_live_run(run_folder);
  const auto attempts = store::read_attempts(run_folder);
  if (!run || !attempts) return false;
  std::set<int> finished;
  for (const auto& attempt : *attempts)
    if (attempt.state == "finished") finished.insert(attempt.phase);
  return std::ssize(finished) >= std::max(1, run->phases);
}

// A deadline counts from today unless the start of the training is given.
void settle_start(const std::optional<Date>& asked, plan::Experiment& experiment) {
  auto& start = experiment.calendar.start;
  if (asked) start = asked;
  if (!start && experiment.budget.deadline)
    start = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
}

// Fields that are neither fields of a run nor quantities.
const std::map<std::string_view, plan::Value (*)(const plan::Planned&)> kOtherFields = {
    {"fit", [](const plan::Planned& p) { return plan::Value(std::string(name(p.estimate.fit))); }},
    {"warnings", [](const plan::Planned& p) { return plan::Value(std::ssize(p.run.warnings)); }},
    {"memory_low", [](const plan::Planned& p) { return plan::Value(p.estimate.memory_low); }},
    {"memory_high", [](const plan::Planned& p) { return plan::Value(p.estimate.memory_high); }},
    {"step_low", [](const plan::Planned& p) { return plan::Value(p.estimate.step_low); }},
    {"step_high", [](const plan::Planned& p) { return plan::Value(p.estimate.step_high); }},
};

std::vector<std::string> known_names(const std::vector<plan::StrategyPtr>& strategies) {
  std::set<std::string> names;
  for (const auto& [name, read] : kOtherFields) names.emplace(name);
  for (const auto& term : plan::vocabulary())
    if (term.read) names.emplace(term.name);
  for (const auto& quantity : record::quantities())
    if (quantity.estimated) names.emplace(quantity.name);
  for (const auto& strategy : strategies)
    for (const auto& param : strategy->params) names.insert(param.name);
  return {names.begin(), names.end()};
}

}  // namespace

std::string shell_path(const fs::path& path) {
  const auto text = path.string();
  return shell_quote(text.starts_with('-') ? "./" + text : text);
}

Result<plan::Value> field(const plan::Planned& planned, std::string_view name,
                          const std::vector<plan::StrategyPtr>& strategies) {
  if (const auto* term = plan::find_term(name); term && term->read) return term->read(planned.run);
  if (const auto* quantity = record::find_quantity(name); quantity && quantity->estimated) {
    const auto value = record::estimated(*quantity, planned.estimate);
    return plan::Value(value ? value->value : 0);
  }
  if (const auto other = kOtherFields.find(name); other != kOtherFields.end())
    return other->second(planned);
  if (planned.run.strategy->index(name) >= 0) return planned.run.setting(name);
  for (const auto& strategy : strategies)
    if (strategy->index(name) >= 0) return plan::Value();
  return Error{printable(name), "no such field of a run",
               suggestion(name, known_names(strategies))};
}

tables::RankedRuns view(const PlannedExperiment& outcome) {
  return {.experiment = &outcome.experiment,
          .runs = mapped(outcome.runs, [](const auto& run) { return &run; }),
          .rejected = &outcome.rejected,
          .duplicates = outcome.duplicates,
          .apart = true};
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_requested = 1; };
  action.sa_flags = SA_RESETHAND;  // a second Ctrl-C ends the program at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return stop_requested != 0; }

App::App(OrchFolders places, backend::Backends backends)
    : places_(std::move(places)),
      backends_(std::move(backends)),
      clusters_(places_.cluster_folders(), places_.gpus(), places_.stacks()),
      loader_(backends_.strategies(), places_.models(), record::measured_names()),
      frameworks_(places_.frameworks()) {}

Result<std::unique_ptr<App>> App::create() {
  auto places = find_places();
  if (!places) return places.error();
  auto backends = backend::Backends::load(places->plugins);
  if (!backends) return backends.error();
  return std::unique_ptr<App>(new App(std::move(*places), std::move(*backends)));
}

void App::look_beside(const fs::path& experiment_file) {
  const auto folder = experiment_file.parent_path();
  look_in(folder.empty() ? fs::path(".") : folder);
}

void App::look_in(const fs::path& folder) {
  places_.beside = folder;
  hardware::Catalog clusters(places_.cluster_folders(), places_.gpus(), places_.stacks());
  if (!clusters_.reads_as(clusters)) clusters_ = std::move(clusters);
  loader_.look_for_models(places_.models());
  frameworks_ = render::Frameworks(places_.frameworks());
}

plan::FindCluster App::find_cluster() {
  return [this](std::string_view name) { return clusters_.find(name); };
}

Result<plan::Experiment> App::load(const experiment::ExperimentSource& source,
                                   const std::optional<Date>& start) {
  look_beside(source.file);
  auto experiment = loader_.load(source);
  if (!experiment) return experiment;
  settle_start(start, *experiment);
  settle_trainer(*experiment);
  if (auto status = plan::check_dates(*experiment); !status) return status.error();
  if (auto status = check_frameworks(*experiment); !status) return status.error();
  return experiment;
}

// Reports an unknown framework or version once, as an error of the experiment and not of each run.
Status App::check_frameworks(const plan::Experiment& experiment) {
  Errors errors;
  for (const auto& strategy : experiment.strategies) {
    if (strategy.framework.empty()) continue;
    errors.add(frameworks_.check(strategy.framework, strategy.place + ".framework"));
  }
  return errors;
}

// Adds everything that a framework refuses to the reasons, already in the plan. Returns how it
// differs from our trainers.
std::vector<Error> App::check_framework(const plan::Run& run, std::vector<Error>& reasons) {
  if (run.framework.empty()) return {};
  if (run.batch.rampup && !reasons.empty()) return {};  // counting its steps may be impossible
  const auto launch = frameworks_.launch(run);
  const auto& found = launch ? launch->refused : launch.error();
  reasons.insert(reasons.end(), found.begin(), found.end());
  return launch ? launch->unequal : std::vector<Error>();
}

// Checks the phases on fewer nodes: with fewer ranks there may be errors that would otherwise
// appear only hours later.
void App::check_phases(const plan::Run& run, std::vector<Error>& reasons) const {
  for (const auto& phase : plan::phases(run)) {
    if (phase.data_parallel == run.layout.data_parallel) continue;
    std::vector<Error> found, warnings;
    backends_.of(*run.strategy).check(plan::run_in(run, phase), found, warnings);
    for (auto& reason : found) {
      reason.fact += fmt::format(", while the batch grows from {} to {} on {} nodes",
                                 phase.first_batch, phase.last_batch, phase.nodes);
      reasons.push_back(std::move(reason));
    }
  }
}

estimate::AskWork App::ask_work() const {
  return [this](const plan::Run& run, backend::Work& work) {
    return backends_.of(*run.strategy).work(run, backend::WorkTexts::none, work);
  };
}

// Collects runs in their order, with estimates; a run that occurred before is only counted.
class App::Pricing {
 public:
  Pricing(App& app, PlannedExperiment& outcome, bool items)
      : app_(app),
        outcome_(outcome),
        items_(items),
        ask_(app.ask_work()),
        missing_(missing_files(outcome.experiment)) {}

  Status add(plan::Run run) {
    constexpr double kMost = 200'000;  // a growing vector needs twice its memory meanwhile
    if (outcome_.runs.empty())
      outcome_.runs.reserve(
          static_cast<std::size_t>(std::min(plan::combinations(outcome_.experiment), kMost)));
    run.id = plan::run_id(run);
    if (is_known(run.id)) {
      ++outcome_.duplicates;
      return {};
    }
    const auto explained = items_ ? backend::WorkTexts::names : backend::WorkTexts::none;
    if (auto status = app_.backends_.of(*run.strategy).work(run, explained, work_); !status)
      return status;
    auto estimate = items_ ? estimator_.explain(run, work_) : estimator_.estimate(run, work_);
    if (auto status = estimator_.schedule(run, ask_, estimate); !status) return status;
    if (run.job.time != time_) limit_ = plan::parse_slurm_time(time_ = run.job.time);
    warn_about_time(run, estimate, limit_);
    warn_about_training(run);
    warn_about_variables(run);
    run.warnings.insert(run.warnings.end(), missing_.begin(), missing_.end());
    places_.emplace(std::hash<std::string>()(run.id), outcome_.runs.size());
    outcome_.runs.push_back({std::move(run), std::move(estimate)});
    fit_memory(outcome_.runs.back());
    return {};
  }

 private:
  bool is_known(const std::string& id) const {
    const auto [begin, end] = places_.equal_range(std::hash<std::string>()(id));
    return std::any_of(begin, end,
                       [&](const auto& place) { return outcome_.runs[place.second].run.id == id; });
  }
  // Strings and vectors that were appended to have unused capacity.
  static void fit_memory(plan::Planned& planned) {
    planned.run.id.shrink_to_fit();
    planned.run.warnings.shrink_to_fit();
    planned.estimate.schedule.shrink_to_fit();
    for (auto& remark : planned.estimate.remarks) remark.shrink_to_fit();
    for (auto& warning : planned.run.warnings) {
      warning.fact.shrink_to_fit();
      warning.fix.shrink_to_fit();
    }
  }

  App& app_;
  PlannedExperiment& outcome_;
  bool items_;
  estimate::AskWork ask_;
  std::vector<Error> missing_;  // files
  estimate::Estimator estimator_;
  backend::Work work_;
  std::string time_;  // the last job's time limit, in SLURM's format and in seconds
  std::optional<double> limit_;
  std::unordered_multimap<std::size_t, std::size_t> places_;  // by the hash of their ids
};

Result<PlannedExperiment> App::plan(const experiment::ExperimentSource& source,
                                    const PlanOptions& options) {
  auto experiment = load(source, options.start);
  if (!experiment) return experiment.error();
  PlannedExperiment outcome;
  outcome.experiment = std::move(*experiment);

  plan::ExpandOptions expand;
  expand.max_runs = options.max_runs;
  expand.interrupted = interrupted;
  Pricing pricing(*this, outcome, options.items);
  std::vector<Error> unequal;  // of the run that was checked last, which is taken next
  expand.take = [&](plan::Run run) {
    run.unequal = unequal;
    return pricing.add(std::move(run));
  };
  auto plan = plan::expand(
      outcome.experiment, find_cluster(),
      [&](const plan::Run& run, auto& reasons, auto& warnings) {
        backends_.of(*run.strategy).check(run, reasons, warnings);
        if (run.batch.rampup && reasons.empty()) check_phases(run, reasons);
        unequal = check_framework(run, reasons);
      },
      expand);
  if (!plan) return plan.error();
  outcome.rejected = std::move(plan->rejected);
  if (!options.runs.empty()) adopt_names(options.runs, outcome);
  if (options.again) repeat_finished(options.runs, outcome);
  rank(outcome.runs);
  return outcome;
}

// A run that already has a folder under another name, written before a field of training had a
// list, keeps that name: otherwise a finished run would be trained again.
void App::adopt_names(const fs::path& root, PlannedExperiment& outcome) {
  const auto folder = root / outcome.experiment.name;
  const auto hash = [](const std::string& id) { return id.substr(id.rfind('-') + 1); };
  std::unordered_map<std::string, std::string> names;  // of the folders, by hash
  for (auto& name : store::run_ids(folder)) names.emplace(hash(name), name);
  if (names.empty()) return;
  for (auto& [run, estimate] : outcome.runs) {
    const auto found = names.find(hash(run.id));
    if (found == names.end() || fs::exists(folder / run.id / "run.json")) continue;
    const auto there = read_run(folder / found->second);
    if (there && plan::identity(*there) == plan::identity(run)) run.id = found->second;
  }
}

// Keeps old results: a repeat is another run, with its own folder.
void App::repeat_finished(const fs::path& root, PlannedExperiment& outcome) const {
  const auto folder = root / outcome.experiment.name;
  std::unordered_set<std::string> taken;
  for (auto& [run, estimate] : outcome.runs) {
    while (has_finished(folder / run.id) || taken.contains(run.id)) {
      ++run.repeat;
      run.id = plan::run_id(run);
    }
    taken.insert(run.id);
  }
}

Status App::keep_where(const std::string& where, PlannedExperiment& outcome) {
  if (where.empty()) return {};
  const auto filter = loader_.filter(where);
  if (!filter) return filter.error();
  const auto strategies = backends_.strategies();
  std::vector<plan::Planned> kept;
  for (auto& planned : outcome.runs) {
    const auto keep =
        (*filter)([&](std::string_view name) { return field(planned, name, strategies); });
    if (!keep) return keep.error();
    if (*keep) kept.push_back(std::move(planned));
  }
  const bool none = kept.empty() && !outcome.runs.empty();
  outcome.runs = std::move(kept);
  if (none) return Error{"--where", "no run is left", "orch plan FILE shows what there is"};
  return {};
}

Result<plan::Planned> App::explain(plan::Run run, backend::WorkTexts explained) {
  backend::Work work;
  if (auto status = backends_.of(*run.strategy).work(run, explained, work); !status)
    return status.error();
  plan::Planned planned;
  estimate::Estimator estimator;
  planned.estimate = estimator.explain(run, work);
  if (auto status = estimator.schedule(run, ask_work(), planned.estimate); !status)
    return status.error();
  if (run.id.empty()) run.id = plan::run_id(run);
  planned.run = std::move(run);
  return planned;
}

Result<plan::Run> App::read_run(const fs::path& folder) {
  const auto file = folder / "run.json";
  const auto text = read_file(file);
  if (!text) return text.error();
  // The folder's name has the hash of its content: an edited run.json was never checked.
  if (auto status = plan::check_frozen(*text, file); !status) return status.error();
  auto run = plan::parse_run(*text, printable(file.string()));
  if (!run) return run;
  run->id = fs::weakly_canonical(folder).filename().string();
  if (auto status =
          plan::bind(*run, printable(file.string()), backends_.strategies(), find_cluster());
      !status)
    return status.error();
  std::vector<Error> reasons;  // it passed before; only the warnings are needed
  backends_.of(*run->strategy).check(*run, reasons, run->warnings);
  reasons.clear();
  run->unequal = check_framework(*run, reasons);
  return run;
}

}  // namespace orch::app
