// Measures the most promising runs of an experiment, until the best is known. On this machine they
// are measured one after the other; under SLURM in rounds, whose runs share a job and so wait in
// the queue once. What was measured is in run folders of the experiment NAME-tune, so that a second
// call continues where the first one was killed.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/app/chosen.h"
#include "core/app/gather.h"
#include "core/app/measure.h"
#include "core/app/session.h"
#include "core/base/text.h"
#include "core/price/tune/belief.h"
#include "core/record/statistics/interval.h"
#include "core/show/tables/records.h"
#include "core/show/tables/words.h"

namespace orch::app {
namespace {

constexpr std::size_t kMost = 200;  // candidates for one question, the best by their estimates
constexpr const char* kSuffix = "-tune";

// A run that may be the fastest, and what is known about it.
struct TunedRun {
  const plan::Planned* planned = nullptr;
  std::string name;               // unique in its question
  std::optional<double> seconds;  // of a step, measured
  std::string failure;            // why it has no time
  bool may_recur = false;         // whatever is run next: it failed because of the machine
  bool is_open = false;           // an earlier call submitted it, and it has not ended
  tune::BelievedTime believed = {};

  double tokens() const { return planned->run.tokens_per_step(); }
  double estimated() const { return planned->estimate.step_seconds; }
};

// The candidates for one question, and what is believed about them.
struct TunedQuestion {
  std::string name;  // "" if there is only one
  std::vector<TunedRun> runs = {};
  std::optional<std::size_t> best = {}, next = {};
  double regret = 0;
  bool is_known = false;
  std::string ended = "it was interrupted";  // why, if it is not known

  std::size_t measured() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(runs, [](const auto& run) { return run.seconds.has_value(); }));
  }
  std::size_t tried() const {
    return measured() + static_cast<std::size_t>(std::ranges::count_if(
                            runs, [](const auto& run) { return !run.failure.empty(); }));
  }
};

// A call of the verb.
struct TuneCommand {
  App& app;
  const TuneArguments& arguments;
  Console& console;
  PlannedExperiment planned = {};
  std::vector<TunedQuestion> questions = {};
  double gpu_hours = 0;  // used by measurements

  const std::string& name() const { return planned.experiment.name; }
  const std::string& runs() const { return arguments.run.plan.options.runs; }
};

// Believes in the runs that have not failed; times are per token. Expected: runs that are taken to
// be measured with the times believed so far.
void believe(TunedQuestion& question, const tune::TuneLimits& limits,
             const std::vector<std::size_t>& expected = {}) {
  std::vector<tune::TuneCandidate> candidates;
  std::vector<tune::MeasuredTime> measured;
  std::vector<const plan::Run*> runs;
  std::vector<std::size_t> alive;
  for (std::size_t i = 0; i < question.runs.size(); ++i) {
    const auto& run = question.runs[i];
    if (!run.failure.empty()) continue;
    auto timing = plan::timing_of(*run.planned);
    timing.days = run.estimated() / run.tokens();
    if (run.seconds) measured.push_back({candidates.size(), *run.seconds / run.tokens()});
    if (contains(expected, i)) measured.push_back({candidates.size(), run.believed.time});
    candidates.push_back({timing, {}});
    runs.push_back(&run.planned->run);
    alive.push_back(i);
  }
  question.best = question.next = std::nullopt;
  question.is_known = true;
  if (candidates.empty()) return;
  auto places = tune::places_of(runs);
  for (std::size_t i = 0; i < places.size(); ++i) candidates[i].place = std::move(places[i]);
  const auto belief = tune::believe(candidates, measured);
  for (std::size_t i = 0; i < alive.size(); ++i) question.runs[alive[i]].believed = belief.times[i];
  question.best = alive[belief.best];
  if (belief.next) question.next = alive[*belief.next];
  question.regret = belief.regret;
  question.is_known = tune::is_known(belief, measured, limits);
}

// Plans the experiment under another name, with the steps of a measurement and without checkpoints,
// which take longer than the steps and fill disks.
std::optional<Ending> plan_all(TuneCommand& t) {
  auto source = t.arguments.run.plan.source;
  auto experiment = t.app.load(source);
  if (!experiment) return Ending(experiment.error(), Exit::invalid_experiment);
  source.set.push_back(fmt::format("name=\"{}{}\"", experiment->name, kSuffix));
  source.set.push_back(fmt::format("steps={}", t.arguments.steps));
  source.set.push_back("training.checkpoint_every=0");
  source.set.push_back("training.keep_checkpoints=0");
  auto planned =
      plan_where(t.app, source, t.arguments.run.plan.options, t.arguments.run.plan.where);
  if (auto* ended = std::get_if<Ending>(&planned)) return std::move(*ended);
  t.planned = std::move(std::get<PlannedExperiment>(planned));
  return std::nullopt;
}

// Names runs by their labels, without the parts that all have.
void name_runs(TunedQuestion& question) {
  std::map<std::string, std::size_t> counts;
  std::vector<std::vector<std::string>> parts;
  for (const auto& run : question.runs) {
    parts.push_back(split(plan::label(run.planned->run), '-'));
    const std::set<std::string> once(parts.back().begin(), parts.back().end());
    for (const auto& part : once) ++counts[part];
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto kept = parts[i];
    std::erase_if(kept, [&](const auto& part) { return counts[part] == parts.size(); });
    question.runs[i].name = join(kept.empty() ? parts[i] : kept, "-");
  }
}

void make_questions(TuneCommand& t) {
  const auto result = view(t.planned);
  auto groups = tables::by_question(result);
  for (const auto& group : groups) {
    TunedQuestion question{groups.size() < 2 ? "" : tables::question_text(group, result)};
    for (const auto* run : group) {
      const bool fits = run->estimate.fit != plan::MemoryFit::oom || t.arguments.run.oom;
      if (fits && !is_untrained(run->run) && question.runs.size() < kMost)
        question.runs.push_back({run, {}, {}, {}});
    }
    name_runs(question);
    if (!question.runs.empty()) t.questions.push_back(std::move(question));
  }
}

TunedRun* find(TuneCommand& t, const std::string& id) {
  for (auto& question : t.questions)
    for (auto& run : question.runs)
      if (run.planned->run.id == id) return &run;
  return nullptr;
}

// Of a full disk or a refused job the run is not the cause, and the next one would end as it did.
void fail(TunedRun& run, const record::Record& record) {
  using record::Failure;
  run.failure = tables::verdict_text(record);
  run.may_recur = record.failure == Failure::disk || record.failure == Failure::refused;
}

// Reads what the run folders say about these runs, or about all.
Status read_measured(TuneCommand& t, const std::vector<std::string>& ids) {
  std::error_code code;
  if (!fs::exists(fs::path(t.runs()) / t.name(), code)) return {};
  Errors troubles;
  const auto records = run_records(t.app, t.runs(), t.name(), ids, troubles);
  if (!records) return records.error();
  for (const auto& record : *records) {
    auto* run = find(t, record.id);
    if (run == nullptr) continue;
    using record::RunState;
    const auto& step = record.measured.step_seconds;
    if (step && (record.state == RunState::finished || record.state == RunState::stopped))
      run->seconds = step->value;
    else if (record.state == RunState::failed || record.state == RunState::cancelled)
      fail(*run, record);
    run->is_open = record.state == RunState::pending || record.state == RunState::running;
    if (!run->is_open) t.gpu_hours += record.measured.gpu_hours.value_or(0);
  }
  return {};
}

// Submits runs and follows them to their end.
Ending measure(TuneCommand& t, AppSession& session, const TunedQuestion& question,
               const std::vector<std::size_t>& round) {
  auto arguments = t.arguments.run;
  arguments.plan.common.format = "json";  // the answer is that of tune
  arguments.yes = true;
  arguments.options.runs_per_job = t.arguments.together;
  arguments.options.run_seconds = 60 * t.arguments.minutes;
  PlannedExperiment some{t.planned.experiment, {}, {}, 0};
  for (const auto place : round) some.runs.push_back(*question.runs[place].planned);
  some.experiment.budget = {};
  auto written = write_folders(t.app, session, some, arguments, t.console);
  if (auto* ended = std::get_if<Ending>(&written)) return std::move(*ended);
  std::optional<tables::Standings> end;
  auto ended = launch_runs(t.app, session, some, arguments, end, t.console);
  return ended.exit == Exit::runs_failed ? Ending(Exit::ok) : ended;
}

std::string seconds_text(double seconds) { return tables::significant(seconds) + " s"; }

void tell(const TuneCommand& t, const TunedQuestion& question, const TunedRun& run,
          std::size_t number) {
  const auto what = run.seconds
                        ? fmt::format("{} per step, estimated {}", seconds_text(*run.seconds),
                                      seconds_text(run.estimated()))
                        : run.failure;
  auto line = fmt::format("{}: {}: {}", number, run.name, what);
  if (question.best && run.seconds)
    line += fmt::format("; best {}, expected regret {:.1f} %", question.runs[*question.best].name,
                        100 * question.regret);
  t.console.note(line + "\n");
}

// The runs to measure next, as many as one job measures: those that still wait or run, then the
// most promising, each as if the ones before it took as long as is believed. Empty: the GPU-hours
// are used.
std::vector<std::size_t> next_round(const TuneCommand& t, const AppSession& session,
                                    TunedQuestion& question) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < question.runs.size(); ++i)
    if (question.runs[i].is_open) out.push_back(i);
  if (!out.empty()) return out;
  const auto& limits = t.arguments.limits;
  const auto way = way_to_launch(question.runs.front().planned->run, session.slurm());
  const auto most =
      std::min(way == "slurm" ? t.arguments.together : 1, limits.measured - question.tried());
  double hours = t.gpu_hours;
  while (out.size() < most && question.next && !(question.is_known && !out.empty())) {
    const auto next = *question.next;
    hours += question.runs[next].planned->job_hours();
    if (t.arguments.gpu_hours > 0 && hours > t.arguments.gpu_hours) break;
    out.push_back(next);
    believe(question, limits, out);
  }
  return out;
}

std::vector<std::string> ids_of(const TunedQuestion& question,
                                const std::vector<std::size_t>& round) {
  return mapped(round, [&](std::size_t place) { return question.runs[place].planned->run.id; });
}

Ending stopped_by(const TuneCommand& t, TunedQuestion& question, const TunedRun& run) {
  question.ended = "a run failed";
  return {Error{run.planned->run.id, run.failure,
                "the next runs would fail too. Fix the cause, then: orch retry " +
                    shell_path(fs::path(t.runs()) / t.name() / run.planned->run.id) +
                    ", and orch tune again"},
          Exit::runs_failed};
}

// Measures until the question is answered or a limit is reached.
Ending answer_question(TuneCommand& t, AppSession& session, TunedQuestion& question) {
  const auto& limits = t.arguments.limits;
  believe(question, limits);
  while (!question.is_known && question.tried() < limits.measured) {
    const auto round = next_round(t, session, question);
    if (round.empty()) {
      question.ended = "the limit of GPU-hours was reached";
      return Exit::ok;
    }
    auto number = question.tried();
    if (auto ended = measure(t, session, question, round); !ended.ok()) return ended;
    if (auto status = read_measured(t, ids_of(question, round)); !status) return status.error();
    for (const auto place : round) {
      auto& run = question.runs[place];
      run.is_open = false;
      if (!run.seconds && run.failure.empty()) run.failure = "ended without a measured step";
    }
    believe(question, limits);
    for (const auto place : round) {
      const auto& run = question.runs[place];
      tell(t, question, run, ++number);
      if (run.may_recur) return stopped_by(t, question, run);
    }
  }
  question.ended = "the limit of runs was reached";
  return Exit::ok;
}

// By what is believed, failed ones last.
std::vector<TunedRun> ranked(const TunedQuestion& question) {
  auto runs = question.runs;
  std::ranges::stable_sort(runs, {}, [](const TunedRun& run) {
    return std::pair(!run.failure.empty(), run.believed.time);
  });
  return runs;
}

show::Cell days_cell(const TunedRun& run) {
  const auto days = [](double seconds_of_token) { return seconds_of_token * 1e11 / kDay; };
  if (!run.failure.empty()) return {};
  show::Cell cell(days(run.believed.time), tables::significant(days(run.believed.time)));
  cell.low = days(run.believed.low);
  cell.high = days(run.believed.high);
  return cell;
}

show::Table table_of(const TunedQuestion& question, std::size_t index) {
  show::Columns<TunedRun> columns(ranked(question));
  columns.add("question", [index](const TunedRun&) { return index + 1; });
  columns.add("run", "run", 0, [](const TunedRun& run) { return run.name; });
  columns.add("id", [](const TunedRun& run) { return run.planned->run.id; });
  columns.add("step_seconds", "measured s", 0, [](const TunedRun& run) {
    return run.seconds ? show::Cell(*run.seconds, tables::significant(*run.seconds)) : show::Cell();
  });
  columns.add("step_seconds_estimated", "estimated s", 0, [](const TunedRun& run) {
    return show::Cell(run.estimated(), tables::significant(run.estimated()));
  });
  auto& days = columns.add("days_per_100b_tokens", "days/100B", 0, days_cell);
  days.range = "days_per_100b_tokens";
  columns.add("chance", "fastest %", 0, [](const TunedRun& run) {
    return show::Cell(run.believed.chance, fmt::format("{:.0f}", 100 * run.believed.chance));
  });
  columns.add("failure", "failure", 1, [](const TunedRun& run) { return run.failure; });
  auto out = columns.table("runs", question.name);
  out.below =
      "days/100B and fastest %: expected after these measurements, also of runs not measured\n";
  return out;
}

std::string best_text(const TunedQuestion& question) {
  if (!question.best || question.measured() == 0) return "no run has a measured time";
  const auto& best = question.runs[*question.best];
  std::string out = fmt::format("{} is the fastest: {:.3g} days per 100B tokens", best.name,
                                best.believed.time * 1e11 / kDay);
  const TunedRun* second = nullptr;
  for (const auto& run : question.runs)
    if (run.seconds && &run != &best &&
        (!second || *run.seconds / run.tokens() < *second->seconds / second->tokens()))
      second = &run;
  if (second != nullptr && best.seconds)
    out += fmt::format(
        "; the next of those measured, {}, takes {:.1f} % longer", second->name,
        100 * (*second->seconds / second->tokens() / (*best.seconds / best.tokens()) - 1));
  return out;
}

std::string sure_text(const TuneCommand& t, const TunedQuestion& question) {
  auto out =
      fmt::format("{} of {} measured", question.measured(), plural(question.runs.size(), "run"));
  if (const auto failed = question.tried() - question.measured(); failed > 0)
    out += fmt::format(", {} failed", failed);
  out +=
      fmt::format("; the fastest of all is expected to be {:.1f} % faster", 100 * question.regret);
  if (question.is_known) return out;
  return out +
         fmt::format(" (wanted: {:g} %; {})", 100 * t.arguments.limits.regret, question.ended);
}

std::string learnt_text(const TuneCommand& t) {
  std::vector<double> ratios;
  for (const auto& question : t.questions)
    for (const auto& run : question.runs)
      if (run.seconds) ratios.push_back(*run.seconds / run.estimated());
  if (ratios.empty()) return "";
  return fmt::format("measured steps take {:.2f} times as long as estimated here (median of {})",
                     statistics::median(ratios), ratios.size());
}

show::Answer answer_of(const TuneCommand& t) {
  show::Answer out{t.name(), "", {}};
  show::Findings findings;
  for (std::size_t i = 0; i < t.questions.size(); ++i) {
    const auto& question = t.questions[i];
    if (question.tried() == 0) continue;
    const auto head = question.name.empty() ? "" : question.name + ": ";
    findings.list.push_back({"answer", head + best_text(question)});
    findings.list.push_back({"sure", sure_text(t, question)});
  }
  findings.list.push_back({"learnt", learnt_text(t)});
  const auto folder = fs::path(t.runs()) / t.name();
  if (!t.arguments.write)
    findings.list.push_back(
        {"next", "next, to keep what was learnt about this machine: orch calibrate --from " +
                     shell_path(folder) + " --write"});
  out.sections.push_back(std::move(findings));
  for (std::size_t i = 0; i < t.questions.size(); ++i)
    if (t.questions[i].tried() > 0) out.sections.push_back(table_of(t.questions[i], i));
  return out;
}

Ending confirm(const TuneCommand& t, AppSession& session) {
  const auto& run = t.questions.front().runs.front().planned->run;
  const bool is_local = way_to_launch(run, session.slurm()) == "local";
  if (t.arguments.run.yes || (is_local && !t.console.can_ask())) return Exit::ok;
  double hours = 0;
  for (const auto& question : t.questions)
    hours += static_cast<double>(t.arguments.limits.measured) *
             question.runs.front().planned->job_hours();
  const auto text =
      fmt::format("measure up to {} runs of {} each on {}/{}, about {} GPU-hours at most?",
                  t.arguments.limits.measured * t.questions.size(),
                  plural(static_cast<std::size_t>(t.arguments.steps), "step"), run.cluster->name,
                  run.partition->name, tables::significant(hours));
  if (t.console.confirm(text)) return Exit::ok;
  return interrupted() ? Exit::interrupted : Exit::usage;
}

}  // namespace

Ending tune_command(App& app, const TuneArguments& arguments, Console& console) {
  TuneCommand t{app, arguments, console};
  if (!arguments.run.no_calibrate) measure_before_run(app, arguments.run.plan.source, console);
  if (auto ended = plan_all(t)) return std::move(*ended);
  make_questions(t);
  if (t.questions.empty())
    return {Error{"orch tune", "no run fits and can be trained", "orch plan shows the reasons"},
            Exit::invalid_experiment};
  if (auto status = read_measured(t, {}); !status) return status.error();
  AppSession session(console);
  if (auto ended = confirm(t, session); !ended.ok()) return ended;
  Ending ended = Exit::ok;
  for (auto& question : t.questions)
    if (ended.ok()) ended = answer_question(t, session, question);
  if (std::ranges::all_of(t.questions, [](const auto& q) { return q.tried() == 0; })) return ended;
  for (auto& question : t.questions) believe(question, arguments.limits);
  arguments.run.plan.common.give(answer_of(t), console);
  if (!ended.ok() || !arguments.write) return ended;
  CalibrateArguments calibrate;
  calibrate.files = {(fs::path(t.runs()) / t.name()).string()};
  calibrate.write = true;
  return calibrate_command(app, calibrate, console);
}

}  // namespace orch::app
