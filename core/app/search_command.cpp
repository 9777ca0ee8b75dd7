#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "core/app/search_parts.h"
#include "core/app/search_sizes.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/price/search/compare.h"
#include "core/price/search/lua_text.h"
#include "core/price/search/search.h"
#include "core/show/tables/ranking.h"

namespace orch::app {
namespace {

// Entries of a list if --top is not given; 0: all. Lists with one answer are short, the front is
// long.
constexpr std::size_t kFastest = 10, kOthers = 3, kFront = 20;

std::string progress_line(const search::SearchProgress& progress) {
  const double rate = progress.evaluated / progress.seconds;
  auto line = fmt::format(
      "{} of {} ({:.0f} %), {}/s", group_digits(progress.evaluated), group_digits(progress.total),
      100 * progress.evaluated / std::max(1.0, progress.total), group_digits(rate));
  if (progress.best_days > 0) line += fmt::format(", best {:.1f} days", progress.best_days);
  if (rate > 0)
    line += fmt::format(", {} left", format_seconds((progress.total - progress.evaluated) / rate));
  return line;
}

// The results for one machine, size and sequence length.
struct Results {
  const search::ResultLists* found = nullptr;
  std::vector<RunList> lists = {};  // the best by time is first, the front last

  const plan::Planned& best() const { return *lists.front().runs.front(); }
};

// A search, from its experiment to its output.
struct SearchCommand {
  App& app;
  const SearchArguments& arguments;
  Console& console;
  plan::Experiment experiment = {};
  std::unique_ptr<const search::SearchSpace> space = {};
  search::SearchResult found = {};
  std::deque<plan::Planned> runs = {};  // the displayed runs, with items
  std::map<const plan::Planned*, search::SpacePlace> places = {};
  std::vector<Results> questions = {};

  const Results& fastest() const {
    const auto& calendar = experiment.calendar;
    return *std::ranges::min_element(questions, {}, [&](const Results& results) {
      const auto& best = results.best();
      const double days = calendar.windows.empty()
                              ? best.estimate.days_to_train
                              : calendar.calendar_days(best.portions(best.job_days()));
      return std::pair(!results.found->keeps_budget, days);
    });
  }
};

bool is_usage(const Errors& errors) {
  return !errors.empty() && errors.front().place.starts_with("--");
}

Status prepare(SearchCommand& s) {
  auto experiment = s.app.load(s.arguments.source);
  if (!experiment) return experiment.error();
  s.experiment = std::move(*experiment);
  auto space = search::SearchSpace::make(s.experiment, s.app.find_cluster(), s.arguments.opening);
  if (!space) return space.error();
  s.space = std::move(*space);
  return {};
}

Status look(SearchCommand& s) {
  auto options = options_of(s.app, s.arguments);
  if (!options) return options.error();
  options->top = std::max(s.arguments.top, kFastest);
  options->progress = [&](const auto& progress) { s.console.progress(progress_line(progress)); };
  auto found = search::search(*s.space, s.app.backends(), *options);
  s.console.progress("");
  if (!found) return found.error();
  s.found = std::move(*found);
  return {};
}

// Estimates the runs of a list; top 0: all. If the number of nodes varies, the best by time is the
// first to end, which may be any of the fastest.
Status price(SearchCommand& s, Results& question, RunList list,
             const std::vector<search::RunScore>& scores, std::size_t top) {
  const auto& calendar = s.experiment.calendar;
  const bool by_date = list.measure == tables::RankBy::time && !calendar.windows.empty();
  for (std::size_t i = 0; i < scores.size() && (by_date || top == 0 || i < top); ++i) {
    std::vector<Error> reasons;
    auto planned =
        s.app.explain(search::run_at(*s.space, s.app.backends(), scores[i].place, reasons));
    if (!planned) return planned.error();
    s.runs.push_back(std::move(*planned));
    list.runs.push_back(&s.runs.back());
    s.places[&s.runs.back()] = scores[i].place;
  }
  if (by_date)
    std::ranges::stable_sort(list.runs, {}, [&](const plan::Planned* run) {
      return calendar.calendar_days(run->portions(run->job_days()));
    });
  if (top > 0 && list.runs.size() > top) list.runs.resize(top);
  question.lists.push_back(std::move(list));
  return {};
}

std::string front_title(const Results& question) {
  const auto& runs = question.lists.back().runs;
  const bool same = std::all_of(runs.begin(), runs.end(), [&](const plan::Planned* run) {
    return run->run.gpus == runs.front()->run.gpus;
  });
  auto title =
      fmt::format("Pareto front: faster only with more memory{}", same ? "" : " or more GPU-hours");
  if (const auto all = question.found->front.size(); runs.size() < all)
    title +=
        fmt::format("; the first {} of {}", runs.size(), group_digits(static_cast<double>(all)));
  return title;
}

Status price_all(SearchCommand& s, const search::ResultLists& found) {
  using tables::RankBy;
  struct WantedList {
    RunList list;
    const std::vector<search::RunScore>& scores;
    std::size_t top;
  };
  const auto top = s.arguments.top;
  const auto most = [&](std::size_t usual) { return top > 0 ? top : usual; };
  const bool terminal = s.arguments.common.format == "table";
  const std::vector<search::RunScore> none;
  const bool several = s.experiment.strategies.size() > 1 && found.strategies.size() > 1;
  Results question{&found};
  for (const auto& [list, scores, count] :
       {WantedList{{"time", "Best by time to train"}, found.fastest, most(kFastest)},
        WantedList{
            {"strategy", "Best of each strategy"}, several ? found.strategies : none, most(0)},
        WantedList{
            {"gpu_hours", "Best by GPU-hours", RankBy::gpu_hours}, found.cheapest, most(kOthers)},
        WantedList{{"headroom",
                    "Best by memory headroom, of those that take at most twice as long as the best",
                    RankBy::memory},
                   found.roomiest,
                   most(kOthers)},
        WantedList{{"pareto", ""}, found.front, most(terminal ? kFront : 0)}})
    if (auto status = price(s, question, list, scores, count); !status) return status;
  question.lists.back().title = front_title(question);
  s.questions.push_back(std::move(question));
  return {};
}

// The best run of each question, in their order.
tables::RankedRuns bests_of(const SearchCommand& s) {
  return {.experiment = &s.experiment,
          .runs = mapped(s.questions, [](const auto& question) { return &question.best(); }),
          .apart = true};
}

// The name of a question; "" if there is only one.
std::string name_of(const SearchCommand& s, const Results& question) {
  return s.questions.size() < 2 ? "" : tables::question_text({&question.best()}, bests_of(s));
}

std::string head(const SearchCommand& s) {
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

// If several trainings are given: the one that was used for the comparison.
std::string trained(const SearchCommand& s) {
  const auto& all = s.experiment.trainings;
  if (all.size() < 2) return "";
  std::vector<std::string> first;
  for (const auto& field : plan::training_fields()) {
    const auto value = get(all.front(), field);
    if (std::any_of(all.begin(), all.end(),
                    [&](const auto& other) { return get(other, field) != value; }))
      first.push_back(fmt::format("{} = {}", field.param.name, plan::show(value)));
  }
  return fmt::format("searched with the first of {} trainings: {}; --write keeps them all\n",
                     group_digits(static_cast<double>(all.size())), join(first, ", "));
}

std::string verdict(const SearchCommand& s) {
  if (!plan::has_limits(s.experiment.budget) || s.found.empty()) return "";
  const auto limits = tables::limits_text(s.experiment.budget);
  if (!s.found.keeps_budget())
    return fmt::format("budget of {}: nothing keeps it; the lists show what comes nearest\n",
                       limits);
  std::vector<std::string> without;
  for (const auto& results : s.questions)
    if (!results.found->keeps_budget) without.push_back(name_of(s, results));
  return fmt::format(
      "budget of {}: kept by {} of {} that fit; no others are listed, but for strategies that have "
      "none{}\n",
      limits, group_digits(s.found.within_budget), plural(s.found.fitting, "configuration"),
      without.empty() ? "" : "; nothing keeps it for " + and_list(without));
}

// Strategies without a run in any list.
std::string absent(const SearchCommand& s) {
  std::vector<std::string> names;
  for (const auto& asked : s.experiment.strategies) {
    const auto& name = asked.strategy->name;
    const bool found =
        std::ranges::any_of(s.found.strategies(), [&](const search::RunScore& score) {
          return s.space->strategy_at(score.place).strategy->name == name;
        });
    if (!found && !contains(names, name)) names.push_back(name);
  }
  return names.empty() ? "" : fmt::format("nothing of {} works and fits\n", and_list(names));
}

std::string warnings(const SearchCommand& s, const Results& question) {
  std::string out;
  const auto& best = question.best().run;
  auto all = best.warnings;
  // A search does not ask frameworks: here the best run is checked.
  if (!best.framework.empty()) {
    const auto launch = s.app.frameworks().launch(best);
    const auto& refused = launch ? launch->refused : launch.error();
    all.insert(all.end(), refused.begin(), refused.end());
  }
  for (const auto& warning : all)
    out += fmt::format("  {}: {}\n    {}\n", warning.place, warning.fact, warning.fix);
  return out.empty() ? out : "warnings about the best:\n" + out;
}

std::string runner_up(const Results& question) {
  const auto& runs = question.lists.front().runs;
  std::string out;
  if (const auto tied = search::ties(question.found->fastest); tied > 0)
    out += tables::tie_text(tied, "layout", tables::RankBy::time) + "\n";
  if (runs.size() < 2) return out;
  const auto &best = *runs[0], &second = *runs[1];
  const auto why = search::text(search::differences(best, second));
  const double more = second.estimate.days_to_train / best.estimate.days_to_train - 1;
  out += fmt::format("the runner-up, {}, is estimated to take {:.1f} % longer",
                     plan::label(second.run), 100 * more);
  return out + (why.empty() ? "\n" : fmt::format("; per step: {}\n", why));
}

// Notes on each question that are not in its tables.
std::string notes(const SearchCommand& s) {
  std::string out;
  for (const auto& question : s.questions) {
    const auto text = warnings(s, question) + runner_up(question);
    const auto name = name_of(s, question);
    out += text.empty() || name.empty() ? text : name + ":\n" + text;
  }
  if (s.questions.size() < 2) return out;
  const auto bests = bests_of(s);
  return out + "the best of each " + and_list(tables::what_differs(bests)) + ":\n" +
         join(mapped(s.questions,
                     [&](const Results& question) {
                       return "  " + name_of(s, question) + ": " +
                              tables::run_text(question.best(), bests.runs, s.experiment) + "\n";
                     }),
              "");
}

show::Details counts(const SearchCommand& s) {
  const auto whole = [](double value) {
    return show::Value(static_cast<std::int64_t>(std::llround(value)));
  };
  return {"search",
          "",
          {{"space", whole(s.found.space)},
           {"evaluated", whole(s.found.evaluated)},
           {"rejected", whole(s.found.rejected)},
           {"oom", whole(s.found.oom)},
           {"seconds", s.found.seconds},
           {"complete", s.found.complete},
           {"keeps_budget", s.found.keeps_budget()}}};
}

show::Answer answer_of(const SearchCommand& s) {
  show::Answer out{s.experiment.name, head(s)};
  std::vector<Question> questions;
  for (const auto& question : s.questions)
    questions.push_back({name_of(s, question), &question.lists});
  out.sections.push_back(for_programs(s.experiment, questions));
  out.sections.push_back(counts(s));
  add_lists(s.experiment, questions, out);
  return out;
}

Exit verdict_exit(const SearchCommand& s) {
  if (!s.found.complete) return Exit::interrupted;
  if (s.found.empty()) return Exit::invalid_experiment;
  return s.found.keeps_budget() ? Exit::ok : Exit::over_budget;
}

Ending run(SearchCommand& s) {
  if (auto status = prepare(s); !status)
    return {status.error(), is_usage(status.error()) ? Exit::usage : Exit::invalid_experiment};
  if (auto status = look(s); !status)
    return {status.error(), s.arguments.where.empty() ? Exit::error : Exit::usage};
  for (const auto& lists : s.found.questions)
    if (auto status = price_all(s, lists); !status) return status.error();
  auto answer = answer_of(s);
  const auto say = [&](const char* kind, std::string text) {
    answer.sections.push_back(show::Findings{"", {{kind, std::move(text)}}});
  };
  if (!s.found.complete)
    s.console.note(fmt::format("interrupted after {:.1f} % of the space: the best so far\n",
                               100 * s.found.evaluated / std::max(1.0, s.found.space)));
  if (s.found.empty()) {
    if (s.found.complete)
      s.console.complain(
          Error{printable(s.arguments.source.file.string()),
                fmt::format("nothing is left of {}", plural(s.found.evaluated, "configuration")),
                "loosen what the experiment fixes: GPUs, batch, constraints, --where"});
    say("rejected", reasons_text(s.app, s.experiment, *s.space, s.found));
    s.arguments.common.give(answer, s.console);
    return verdict_exit(s);
  }
  const auto& fastest = s.fastest();
  const auto& best = fastest.best();
  const auto name = name_of(s, fastest);
  const auto how = fmt::format("the fastest of {}{}", plural(s.found.evaluated, "configuration"),
                               name.empty() ? "" : " (" + name + ")");
  const auto& asked = s.space->strategy_at(s.places.at(&best));
  if (auto status = write_best(s.arguments, s.experiment, best, asked, how); !status)
    return status.error();
  say("training", trained(s));
  say("absent", absent(s));
  say("notes", notes(s));
  say("budget", verdict(s));
  say("next", next_step(s.arguments, s.questions.size() < 2 ? search::strategy_lua(best.run) : ""));
  s.arguments.common.give(answer, s.console);
  return verdict_exit(s);
}

}  // namespace

Ending search_command(App& app, const SearchArguments& arguments, Console& console) {
  if (opens_sizes(arguments.opening)) return search_sizes(app, arguments, console);
  SearchCommand search{app, arguments, console};
  return run(search);
}

}  // namespace orch::app
