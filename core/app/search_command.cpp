#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/price/search/compare.h"
#include "core/price/search/lua_text.h"
#include "core/price/search/search.h"
#include "core/show/tables/search.h"

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

// What the tables show, priced item by item.
struct ShownSearch {
  std::deque<plan::Planned> runs;
  tables::Searched view;
};

// One search from its experiment to what is printed.
class SearchVerb {
 public:
  SearchVerb(App& app, const SearchArguments& arguments, Console& console)
      : app_(app), arguments_(arguments), console_(console) {}

  Ending run();

 private:
  Status prepare();
  Status look();
  Status price(const std::vector<search::Score>& scores, std::size_t top,
               std::vector<const plan::Planned*>& to);
  Status price_all();
  void print_all();
  std::string head() const;
  std::string trained() const;
  std::string reasons() const;
  std::string verdict() const;
  std::string warnings() const;
  std::string runner_up() const;
  std::string next_step() const;
  Status write();
  std::string asked() const;
  Exit verdict_exit() const;
  void say(const std::string& text) const {
    arguments_.common.tell(tables::wrap(text, arguments_.common.screen), console_);
  }

  App& app_;
  const SearchArguments& arguments_;
  Console& console_;
  plan::Experiment experiment_;
  std::unique_ptr<const search::Space> space_;
  search::Found found_;
  ShownSearch shown_;
};

bool is_usage(const Errors& errors) {
  return !errors.empty() && errors.front().place.starts_with("--");
}

Status SearchVerb::prepare() {
  auto experiment = app_.load(arguments_.source);
  if (!experiment) return experiment.error();
  experiment_ = std::move(*experiment);
  auto space = search::Space::make(experiment_, app_.find_cluster(), arguments_.opening);
  if (!space) return space.error();
  space_ = std::move(*space);
  return {};
}

Status SearchVerb::look() {
  auto options = arguments_.options;
  options.interrupted = interrupted;
  options.progress = [&](const auto& progress) { console_.progress(progress_line(progress)); };
  if (!arguments_.where.empty()) {
    const auto filter = app_.loader().filter(arguments_.where);
    if (!filter) return filter.error();
    options.accept = [filter = *filter, strategies = app_.backends().strategies()](
                         const plan::Run& run, const plan::Estimate& estimate) {
      const plan::Planned planned{run, estimate};
      return filter([&](std::string_view name) { return field(planned, name, strategies); });
    };
  }
  auto found = search::search(*space_, app_.backends(), options);
  console_.progress("");
  if (!found) return found.error();
  found_ = std::move(*found);
  return {};
}

Status SearchVerb::price(const std::vector<search::Score>& scores, std::size_t top,
                         std::vector<const plan::Planned*>& to) {
  for (std::size_t i = 0; i < scores.size() && (top == 0 || i < top); ++i) {
    std::vector<Error> reasons;
    auto planned = app_.explain(search::run_at(*space_, app_.backends(), scores[i].place, reasons));
    if (!planned) return planned.error();
    shown_.runs.push_back(std::move(*planned));
    to.push_back(&shown_.runs.back());
  }
  return {};
}

Status SearchVerb::price_all() {
  auto& view = shown_.view;
  const auto top = arguments_.options.top;
  const auto few = std::min<std::size_t>(top, 3);  // of what only one is wanted
  view.experiment = &experiment_;
  view.space = found_.space;
  view.evaluated = found_.evaluated;
  view.rejected = found_.rejected;
  view.oom = found_.oom;
  view.seconds = found_.seconds;
  view.complete = found_.complete;
  view.keeps_budget = found_.keeps_budget;
  if (auto status = price(found_.fastest, top, view.time); !status) return status;
  if (experiment_.strategies.size() > 1 && found_.strategies.size() > 1)
    if (auto status = price(found_.strategies, 0, view.strategies); !status) return status;
  if (auto status = price(found_.cheapest, few, view.gpu_hours); !status) return status;
  if (auto status = price(found_.roomiest, few, view.headroom); !status) return status;
  return price(found_.front, 0, view.pareto);
}

std::string SearchVerb::head() const {
  auto out = experiment_.name;
  if (!experiment_.doc.empty()) out += ": " + printable(experiment_.doc);
  out += fmt::format("\n{} in {}", plural(found_.evaluated, "configuration"),
                     format_seconds(found_.seconds));
  if (!found_.complete)
    out += fmt::format(", interrupted: {:.1f} % of {}",
                       100 * found_.evaluated / std::max(1.0, found_.space),
                       group_digits(found_.space));
  return out + fmt::format(": {} cannot work, {} do not fit the memory, {} fit.\n\n",
                           group_digits(found_.rejected), group_digits(found_.oom),
                           group_digits(found_.fitting));
}

// Where several trainings are asked for: with which of them the others were compared.
std::string SearchVerb::trained() const {
  const auto& all = experiment_.trainings;
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
std::string SearchVerb::reasons() const {
  std::string out;
  std::vector<std::pair<std::string, search::Reason>> sorted(found_.reasons.begin(),
                                                             found_.reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  for (const auto& [field, reason] : sorted) {
    std::vector<Error> errors;
    const auto run = search::run_at(*space_, app_.backends(), reason.example, errors);
    if (experiment_.strict) errors.insert(errors.end(), run.warnings.begin(), run.warnings.end());
    const auto fact = errors.empty() ? std::string() : errors.front().fact;
    out += fmt::format("  {:>10}  {}: e.g. {}\n", group_digits(reason.count), field, fact);
  }
  if (!out.empty()) out = "rejected, by field:\n" + out;
  if (found_.fitting == 0 && !found_.closest.empty()) {
    std::vector<Error> errors;
    const auto nearest = app_.explain(
        search::run_at(*space_, app_.backends(), found_.closest.front().place, errors));
    if (nearest)
      out += fmt::format("the nearest to fitting takes {}: {}\n", nearest->estimate.fit_reason,
                         plan::label(nearest->run));
  }
  return out;
}

std::string SearchVerb::verdict() const {
  if (!plan::has_limits(experiment_.budget) || found_.fastest.empty()) return "";
  const auto limits = tables::limits_text(experiment_.budget);
  if (!found_.keeps_budget)
    return fmt::format("budget of {}: nothing keeps it; the lists show what comes nearest\n",
                       limits);
  return fmt::format(
      "budget of {}: kept by {} of {} that fit; no others are listed, but for strategies that have "
      "none\n",
      limits, group_digits(found_.within_budget), plural(found_.fitting, "configuration"));
}

std::string SearchVerb::warnings() const {
  std::string out;
  const auto& best = shown_.view.time.front()->run;
  auto all = best.warnings;
  // A search asks no framework: what the best one's would refuse is told here.
  if (!best.framework.empty()) {
    const auto launch = app_.frameworks().launch(best);
    const auto& refused = launch ? launch->refused : launch.error();
    all.insert(all.end(), refused.begin(), refused.end());
  }
  for (const auto& warning : all)
    out += fmt::format("  {}: {}\n    {}\n", warning.place, warning.fact, warning.fix);
  return out.empty() ? out : "warnings about the best:\n" + out;
}

std::string SearchVerb::runner_up() const {
  const auto& runs = shown_.view.time;
  std::string out;
  if (const auto tied = search::ties(found_.fastest); tied > 0)
    out += fmt::format("{} cannot be told from the best: their ratio may be 1\n",
                       plural(tied, "layout"));
  if (runs.size() < 2) return out;
  const auto &best = *runs[0], &second = *runs[1];
  const auto why = search::text(search::differences(best, second));
  const double more = second.estimate.days_to_train / best.estimate.days_to_train - 1;
  out += fmt::format("the runner-up, {}, is estimated to take {:.1f} % longer",
                     plan::label(second.run), 100 * more);
  return out + (why.empty() ? "\n" : fmt::format("; per step: {}\n", why));
}

Status SearchVerb::write() {
  const fs::path file = arguments_.write;
  if (const auto old = read_file(file); old && !old->starts_with(kWrittenBy))
    return Error{printable(arguments_.write), "is there already, and not written by orch search",
                 "give --write another name"};
  const auto& best = *shown_.view.time.front();
  const auto comment = fmt::format("{}: the fastest of {} from\n{}: {:.1f} days.{}",
                                   kWrittenBy.substr(3), plural(found_.evaluated, "configuration"),
                                   arguments_.source.file.string(), best.estimate.days_to_train,
                                   experiment_.constraints.empty()
                                       ? ""
                                       : "\nIt keeps that file's constraints; they are not in it.");
  return write_file_atomically(file, search::experiment_lua(best.run, experiment_, comment));
}

// The same search: what was opened, kept and filtered is part of it.
std::string SearchVerb::asked() const {
  auto out = shell_quote(arguments_.source.file.string());
  for (const auto& text : arguments_.source.set) out += " --set " + shell_quote(text);
  for (const auto& name : arguments_.opening.keep) out += " --keep " + shell_quote(name);
  for (const auto& name : arguments_.opening.open) out += " --open " + shell_quote(name);
  if (!arguments_.where.empty()) out += " --where " + shell_quote(arguments_.where);
  return out;
}

std::string SearchVerb::next_step() const {
  const auto& best = *shown_.view.time.front();
  if (arguments_.write.empty())
    return fmt::format(
        "the best as Lua: {}\nnext: orch search {} --write best.lua && orch run "
        "best.lua\n",
        search::strategy_lua(best.run), asked());
  return fmt::format("written: {}\nnext: orch run {}\n", printable(arguments_.write),
                     shell_quote(arguments_.write));
}

void SearchVerb::print_all() {
  const auto& view = shown_.view;
  const auto& [format, screen] = arguments_.common;
  if (format == "json") return console_.print(tables::json(view));
  if (format == "csv") return console_.print(tables::csv(view));
  if (format == "table") console_.print(tables::wrap(head(), screen));
  console_.print(tables::table(view, screen));
}

Exit SearchVerb::verdict_exit() const {
  if (!found_.complete) return Exit::interrupted;
  if (found_.fastest.empty()) return Exit::invalid_experiment;
  return found_.keeps_budget ? Exit::ok : Exit::over_budget;
}

Ending SearchVerb::run() {
  if (auto status = prepare(); !status)
    return {status.error(), is_usage(status.error()) ? Exit::usage : Exit::invalid_experiment};
  if (auto status = look(); !status)
    return {status.error(), arguments_.where.empty() ? Exit::error : Exit::usage};
  if (auto status = price_all(); !status) return status.error();
  print_all();
  if (!found_.complete)
    console_.note(fmt::format("interrupted after {:.1f} % of the space: the best so far\n",
                              100 * found_.evaluated / std::max(1.0, found_.space)));
  if (found_.fastest.empty()) {
    if (found_.complete)
      console_.complain(
          Error{printable(arguments_.source.file.string()),
                fmt::format("nothing is left of {}", plural(found_.evaluated, "configuration")),
                "loosen what the experiment fixes: GPUs, batch, constraints, --where"});
    say(reasons());
    return verdict_exit();
  }
  if (!arguments_.write.empty())
    if (auto status = write(); !status) return status.error();
  if (arguments_.common.format == "json")
    console_.note(trained());
  else
    say("\n" + trained() + warnings() + verdict() + runner_up() + next_step());
  return verdict_exit();
}

}  // namespace

Ending search_command(App& app, const SearchArguments& arguments, Console& console) {
  return SearchVerb(app, arguments, console).run();
}

}  // namespace orch::app
