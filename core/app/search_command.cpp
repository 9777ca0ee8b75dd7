#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/price/search/compare.h"
#include "core/price/search/lua_text.h"
#include "core/price/search/search.h"
#include "core/show/tables/json.h"
#include "core/show/tables/ranking.h"

namespace orch::app {
namespace {

constexpr std::string_view kWrittenBy = "-- Found by orch search";

std::string progress_line(const search::Progress& progress) {
  const double rate = progress.evaluated / progress.seconds;
  auto line = fmt::format(
      "{} of {} ({:.0f} %), {}/s", group_digits(progress.evaluated), group_digits(progress.total),
      100 * progress.evaluated / std::max(1.0, progress.total), group_digits(rate));
  if (progress.best_days > 0) line += fmt::format(", best {:.1f} days", progress.best_days);
  if (rate > 0)
    line += fmt::format(", {} left", format_seconds((progress.total - progress.evaluated) / rate));
  return line;
}

// Some of the best.
struct List {
  const char* name;   // in JSON and CSV
  const char* title;  // for people
  tables::Measure measure = tables::Measure::time;
  std::vector<const plan::Planned*> runs = {};
};

// One search from its experiment to what is printed.
struct Search {
  App& app;
  const SearchArguments& arguments;
  Console& console;
  plan::Experiment experiment = {};
  std::unique_ptr<const search::Space> space = {};
  search::Found found = {};
  std::deque<plan::Planned> runs = {};  // what the tables show, priced item by item
  std::vector<List> lists = {};         // of those; the best by time first, the front last

  const plan::Planned& best() const { return *lists.front().runs.front(); }
};

bool is_usage(const Errors& errors) {
  return !errors.empty() && errors.front().place.starts_with("--");
}

Status prepare(Search& s) {
  auto experiment = s.app.load(s.arguments.source);
  if (!experiment) return experiment.error();
  s.experiment = std::move(*experiment);
  auto space = search::Space::make(s.experiment, s.app.find_cluster(), s.arguments.opening);
  if (!space) return space.error();
  s.space = std::move(*space);
  return {};
}

Status look(Search& s) {
  auto options = s.arguments.options;
  options.interrupted = interrupted;
  options.progress = [&](const auto& progress) { s.console.progress(progress_line(progress)); };
  if (!s.arguments.where.empty()) {
    const auto filter = s.app.loader().filter(s.arguments.where);
    if (!filter) return filter.error();
    options.accept = [filter = *filter, strategies = s.app.backends().strategies()](
                         const plan::Run& run, const plan::Estimate& estimate) {
      const plan::Planned planned{run, estimate};
      return filter([&](std::string_view name) { return field(planned, name, strategies); });
    };
  }
  auto found = search::search(*s.space, s.app.backends(), options);
  s.console.progress("");
  if (!found) return found.error();
  s.found = std::move(*found);
  return {};
}

// Of a top of 0, all.
Status price(Search& s, List list, const std::vector<search::Score>& scores, std::size_t top) {
  for (std::size_t i = 0; i < scores.size() && (top == 0 || i < top); ++i) {
    std::vector<Error> reasons;
    auto planned =
        s.app.explain(search::run_at(*s.space, s.app.backends(), scores[i].place, reasons));
    if (!planned) return planned.error();
    s.runs.push_back(std::move(*planned));
    list.runs.push_back(&s.runs.back());
  }
  s.lists.push_back(std::move(list));
  return {};
}

const char* front_title(const Search& s) {
  const auto& runs = s.lists.back().runs;
  const bool same = std::all_of(runs.begin(), runs.end(), [&](const plan::Planned* run) {
    return run->run.gpus == runs.front()->run.gpus;
  });
  return same ? "Pareto front: faster only with more memory"
              : "Pareto front: faster only with more memory or more GPU-hours";
}

Status price_all(Search& s) {
  using tables::Measure;
  struct Wanted {
    List list;
    const std::vector<search::Score>& scores;
    std::size_t top;
  };
  const auto& found = s.found;
  const auto top = s.arguments.options.top;
  const auto few = std::min<std::size_t>(top, 3);  // of what only one is wanted
  const std::vector<search::Score> none;
  const bool sizes = s.experiment.models.size() > 1;
  const bool several = (sizes || s.experiment.strategies.size() > 1) && found.strategies.size() > 1;
  for (const auto& [list, scores, most] :
       {Wanted{{"time", "Best by time to train"}, found.fastest, top},
        Wanted{{"strategy", sizes ? "Best of each model and strategy" : "Best of each strategy"},
               several ? found.strategies : none, 0},
        Wanted{{"gpu_hours", "Best by GPU-hours", Measure::gpu_hours}, found.cheapest, few},
        Wanted{{"headroom", "Best by memory headroom", Measure::memory}, found.roomiest, few},
        Wanted{{"pareto", ""}, found.front, 0}})
    if (auto status = price(s, list, scores, most); !status) return status;
  s.lists.back().title = front_title(s);
  return {};
}

tables::RankedRuns as_result(const Search& s, const List& list) {
  static const std::vector<plan::Rejected> kNone;
  tables::RankedRuns result;
  result.experiment = &s.experiment;
  result.rejected = &kNone;
  result.runs = list.runs;
  result.measure = list.measure;
  return result;
}

void add_entries(const Search& s, const List& list, bool named, tables::Json& to) {
  const auto places = tables::ranks(as_result(s, list));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& run = *list.runs[i];
    auto& json = to.emplace_back(tables::Json{{"rank", places[i].place}, {"tie", places[i].tie}});
    if (named) json["for"] = list.name;
    json.update(tables::run_fields(run));
    json["headroom"] = 1 - run.estimate.peak_memory / run.estimate.usable_memory;
    tables::add_limits(run, s.experiment, json);
  }
}

std::string json_of(const Search& s) {
  tables::Json best = tables::Json::array(), pareto = tables::Json::array();
  for (const auto& list : s.lists) {
    const bool named = &list != &s.lists.back();
    add_entries(s, list, named, named ? best : pareto);
  }
  return tables::dump({{"version", 1},
                       {"experiment", s.experiment.name},
                       {"space", std::llround(s.found.space)},
                       {"evaluated", std::llround(s.found.evaluated)},
                       {"rejected", std::llround(s.found.rejected)},
                       {"oom", std::llround(s.found.oom)},
                       {"seconds", s.found.seconds},
                       {"complete", s.found.complete},
                       {"keeps_budget", s.found.keeps_budget},
                       {"best", std::move(best)},
                       {"pareto", std::move(pareto)}});
}

// The list before the columns of a plan.
std::string csv_of(const Search& s) {
  List all{"all", ""};
  for (const auto& list : s.lists)
    all.runs.insert(all.runs.end(), list.runs.begin(), list.runs.end());
  const auto columns = tables::csv_columns(as_result(s, all));
  CsvWriter out("list," + tables::csv_header(columns));
  for (const auto& list : s.lists)
    for (auto& row : tables::csv_rows(as_result(s, list), columns)) {
      row.insert(row.begin(), list.name);
      out.row(row);
    }
  return out.text();
}

bool starts_with(const std::vector<const plan::Planned*>& runs,
                 const std::vector<const plan::Planned*>& first) {
  const auto same = [](const auto* a, const auto* b) { return a->run.id == b->run.id; };
  return runs.size() >= first.size() && std::equal(first.begin(), first.end(), runs.begin(), same);
}

// On a terminal a list that says what the first one has said already is not printed again.
std::string section(const Search& s, const List& list, const tables::Screen& screen) {
  constexpr std::size_t kFrontRows = 20;
  if (screen.markdown)
    return tables::heading(list.title, screen) + tables::table(as_result(s, list), screen, 0);
  const auto title = tables::paint(list.title, "1", screen);
  if (&list != &s.lists.front() && starts_with(s.lists.front().runs, list.runs))
    return title + ": the same\n";
  auto shown = list;
  if (&list == &s.lists.back() && shown.runs.size() > kFrontRows) shown.runs.resize(kFrontRows);
  auto out = title + "\n" + tables::table(as_result(s, shown), screen, 0);
  if (shown.runs.size() < list.runs.size())
    out += fmt::format("… and {} slower ones (--format json has all)\n",
                       list.runs.size() - shown.runs.size());
  return out;
}

std::string head(const Search& s) {
  auto out = s.experiment.name;
  if (!s.experiment.doc.empty()) out += ": " + printable(s.experiment.doc);
  out += fmt::format("\n{} in {}", plural(s.found.evaluated, "configuration"),
                     format_seconds(s.found.seconds));
  if (!s.found.complete)
    out += fmt::format(", interrupted: {:.1f} % of {}",
                       100 * s.found.evaluated / std::max(1.0, s.found.space),
                       group_digits(s.found.space));
  return out + fmt::format(": {} cannot work, {} do not fit the memory, {} fit.\n\n",
                           group_digits(s.found.rejected), group_digits(s.found.oom),
                           group_digits(s.found.fitting));
}

// Where several trainings are asked for: with which of them the others were compared.
std::string trained(const Search& s) {
  const auto& all = s.experiment.trainings;
  if (all.size() < 2) return "";
  std::vector<std::string> first;
  for (const auto& field : plan::training_fields()) {
    const auto value = get(all.front(), field);
    if (std::any_of(all.begin(), all.end(), [&](const auto& other) { return get(other, field) != value; }))
      first.push_back(fmt::format("{} = {}", field.param.name, plan::show(value)));
  }
  return fmt::format("searched with the first of {} trainings: {}; --write keeps them all\n",
                     group_digits(static_cast<double>(all.size())), join(first, ", "));
}

// Why nothing, or not all, was left: by the field to blame, with one example.
std::string reasons(const Search& s) {
  std::string out;
  std::vector<std::pair<std::string, search::Reason>> sorted(s.found.reasons.begin(),
                                                             s.found.reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  for (const auto& [field, reason] : sorted) {
    std::vector<Error> errors;
    const auto run = search::run_at(*s.space, s.app.backends(), reason.example, errors);
    if (s.experiment.strict) errors.insert(errors.end(), run.warnings.begin(), run.warnings.end());
    const auto fact = errors.empty() ? std::string() : errors.front().fact;
    out += fmt::format("  {:>10}  {}: e.g. {}\n", group_digits(reason.count), field, fact);
  }
  if (!out.empty()) out = "rejected, by field:\n" + out;
  if (s.found.fitting == 0 && !s.found.closest.empty()) {
    std::vector<Error> errors;
    const auto nearest = s.app.explain(
        search::run_at(*s.space, s.app.backends(), s.found.closest.front().place, errors));
    if (nearest)
      out += fmt::format("the nearest to fitting takes {}: {}\n", nearest->estimate.fit_reason,
                         plan::label(nearest->run));
  }
  return out;
}

std::string verdict(const Search& s) {
  if (!plan::has_limits(s.experiment.budget) || s.found.fastest.empty()) return "";
  const auto limits = tables::limits_text(s.experiment.budget);
  if (!s.found.keeps_budget)
    return fmt::format("budget of {}: nothing keeps it; the lists show what comes nearest\n",
                       limits);
  return fmt::format(
      "budget of {}: kept by {} of {} that fit; no others are listed, but for strategies that have "
      "none\n",
      limits, group_digits(s.found.within_budget), plural(s.found.fitting, "configuration"));
}

std::string warnings(const Search& s) {
  std::string out;
  const auto& best = s.best().run;
  auto all = best.warnings;
  // A search asks no framework: what the best one's would refuse is told here.
  if (!best.framework.empty()) {
    const auto launch = s.app.frameworks().launch(best);
    const auto& refused = launch ? launch->refused : launch.error();
    all.insert(all.end(), refused.begin(), refused.end());
  }
  for (const auto& warning : all)
    out += fmt::format("  {}: {}\n    {}\n", warning.place, warning.fact, warning.fix);
  return out.empty() ? out : "warnings about the best:\n" + out;
}

std::string runner_up(const Search& s) {
  const auto& runs = s.lists.front().runs;
  std::string out;
  if (const auto tied = search::ties(s.found.fastest); tied > 0)
    out += tables::tie_text(tied, "layout", tables::Measure::time) + "\n";
  if (runs.size() < 2) return out;
  const auto &best = *runs[0], &second = *runs[1];
  const auto why = search::text(search::differences(best, second));
  const double more = second.estimate.days_to_train / best.estimate.days_to_train - 1;
  out += fmt::format("the runner-up, {}, is estimated to take {:.1f} % longer",
                     plan::label(second.run), 100 * more);
  return out + (why.empty() ? "\n" : fmt::format("; per step: {}\n", why));
}

Status write(Search& s) {
  const fs::path file = s.arguments.write;
  if (const auto old = read_file(file); old && !old->starts_with(kWrittenBy))
    return Error{printable(s.arguments.write), "is there already, and not written by orch search",
                 "give --write another name"};
  const auto& best = s.best();
  const auto comment = fmt::format("{}: the fastest of {} from\n{}: {:.1f} days.{}",
                                   kWrittenBy.substr(3), plural(s.found.evaluated, "configuration"),
                                   s.arguments.source.file.string(), best.estimate.days_to_train,
                                   s.experiment.constraints.empty()
                                       ? ""
                                       : "\nIt keeps that file's constraints; they are not in it.");
  const auto& asked = s.space->strategy_at(s.found.fastest.front().place);
  return write_file_atomically(file, search::experiment_lua(best.run, s.experiment, asked, comment));
}

// The same search: what was opened, kept and filtered is part of it.
std::string asked(const Search& s) {
  auto out = shell_quote(s.arguments.source.file.string());
  for (const auto& text : s.arguments.source.set) out += " --set " + shell_quote(text);
  for (const auto& name : s.arguments.opening.keep) out += " --keep " + shell_quote(name);
  for (const auto& name : s.arguments.opening.open) out += " --open " + shell_quote(name);
  if (!s.arguments.where.empty()) out += " --where " + shell_quote(s.arguments.where);
  return out;
}

std::string next_step(const Search& s) {
  const auto& best = s.best();
  if (s.arguments.write.empty())
    return fmt::format(
        "the best as Lua: {}\nnext: orch search {} --write best.lua && orch run "
        "best.lua\n",
        search::strategy_lua(best.run), asked(s));
  return fmt::format("written: {}\nnext: orch run {}\n", printable(s.arguments.write),
                     shell_quote(s.arguments.write));
}

void print_all(const Search& s) {
  const auto& [format, screen] = s.arguments.common;
  if (format == "json") return s.console.print(json_of(s));
  if (format == "csv") return s.console.print(csv_of(s));
  if (format == "table") s.console.print(tables::wrap(head(s), screen));
  std::string out;
  for (const auto& list : s.lists)
    if (!list.runs.empty()) out += (out.empty() ? "" : "\n") + section(s, list, screen);
  s.console.print(out);
}

Exit verdict_exit(const Search& s) {
  if (!s.found.complete) return Exit::interrupted;
  if (s.found.fastest.empty()) return Exit::invalid_experiment;
  return s.found.keeps_budget ? Exit::ok : Exit::over_budget;
}

void say(const Search& s, const std::string& text) {
  s.arguments.common.tell(tables::wrap(text, s.arguments.common.screen), s.console);
}

Ending run(Search& s) {
  if (auto status = prepare(s); !status)
    return {status.error(), is_usage(status.error()) ? Exit::usage : Exit::invalid_experiment};
  if (auto status = look(s); !status)
    return {status.error(), s.arguments.where.empty() ? Exit::error : Exit::usage};
  if (auto status = price_all(s); !status) return status.error();
  print_all(s);
  if (!s.found.complete)
    s.console.note(fmt::format("interrupted after {:.1f} % of the space: the best so far\n",
                               100 * s.found.evaluated / std::max(1.0, s.found.space)));
  if (s.found.fastest.empty()) {
    if (s.found.complete)
      s.console.complain(
          Error{printable(s.arguments.source.file.string()),
                fmt::format("nothing is left of {}", plural(s.found.evaluated, "configuration")),
                "loosen what the experiment fixes: GPUs, batch, constraints, --where"});
    say(s, reasons(s));
    return verdict_exit(s);
  }
  if (!s.arguments.write.empty())
    if (auto status = write(s); !status) return status.error();
  if (s.arguments.common.format == "json")
    s.console.note(trained(s));
  else
    say(s, "\n" + trained(s) + warnings(s) + verdict(s) + runner_up(s) + next_step(s));
  return verdict_exit(s);
}

}  // namespace

Ending search_command(App& app, const SearchArguments& arguments, Console& console) {
  Search search{app, arguments, console};
  return run(search);
}

}  // namespace orch::app
