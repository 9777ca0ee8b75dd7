#include "core/app/search_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/price/search/lua_text.h"
#include "core/show/tables/plan.h"
#include "core/show/tables/ranking.h"

namespace orch::app {
namespace {

constexpr std::string_view kWrittenBy = "-- Found by orch search";

tables::RankedRuns view(const plan::Experiment& experiment, const RunList& list) {
  return {.experiment = &experiment, .runs = list.runs, .measure = list.measure};
}

bool starts_with(const std::vector<const plan::Planned*>& runs,
                 const std::vector<const plan::Planned*>& first) {
  const auto same = [](const auto* a, const auto* b) { return a->run.id == b->run.id; };
  return runs.size() >= first.size() && std::equal(first.begin(), first.end(), runs.begin(), same);
}

// Keeps the column that a list is ranked by on a narrow screen.
void keep_measure(const RunList& list, show::Table& table) {
  for (auto& column : table.columns)
    if ((column.name == "peak_memory_bytes" &&
         (list.measure == tables::RankBy::memory || list.name == "pareto")) ||
        (column.name == "gpu_hours" && list.measure == tables::RankBy::gpu_hours))
      column.rank = 1;
}

// The arguments of the same search: what was opened, kept and filtered.
std::string same_search(const SearchArguments& arguments) {
  auto out = shell_quote(arguments.source.file.string());
  for (const auto& text : arguments.source.set) out += " --set " + shell_quote(text);
  for (const auto& name : arguments.opening.keep) out += " --keep " + shell_quote(name);
  for (const auto& name : arguments.opening.open) out += " --open " + shell_quote(name);
  if (!arguments.where.empty()) out += " --where " + shell_quote(arguments.where);
  return out;
}

}  // namespace

bool lists_several(const plan::FieldSources& frame, std::string_view field) {
  const auto& source = frame.source(frame.index(field));
  return source.axis >= 0 && frame.axes()[static_cast<std::size_t>(source.axis)]->points.size() > 1;
}

Result<search::SearchOptions> options_of(App& app, const SearchArguments& arguments) {
  auto options = arguments.options;
  options.interrupted = interrupted;
  if (arguments.where.empty()) return options;
  const auto filter = app.loader().filter(arguments.where);
  if (!filter) return filter.error();
  options.accept = [filter = *filter, strategies = app.backends().strategies()](
                       const plan::Run& run, const plan::Estimate& estimate) {
    const plan::Planned planned{run, estimate};
    return filter([&](std::string_view name) { return field(planned, name, strategies); });
  };
  return options;
}

show::Table for_programs(const plan::Experiment& experiment,
                         const std::vector<Question>& questions) {
  tables::RankedRuns all = view(experiment, {});
  std::vector<std::string> names, abouts;
  for (const auto& question : questions)
    for (const auto& list : *question.lists) {
      const auto places = tables::ranks(view(experiment, list));
      all.runs.insert(all.runs.end(), list.runs.begin(), list.runs.end());
      all.places.insert(all.places.end(), places.begin(), places.end());
      names.resize(all.runs.size(), list.name), abouts.resize(all.runs.size(), question.name);
    }
  auto out = show::for_programs(tables::runs_table(all, 0));
  const auto first = [&](const char* name, const std::vector<std::string>& of) {
    out.columns.insert(out.columns.begin(),
                       {name, "", 0, [of](std::size_t row) { return show::Cell(of[row]); }});
  };
  if (questions.size() > 1) first("question", abouts);
  first("list", names);
  out.columns.push_back({"headroom", "", 0, [runs = all.runs](std::size_t row) {
                           const auto& e = runs[row]->estimate;
                           return show::Cell(1 - e.peak_memory / e.usable_memory);
                         }});
  return out;
}

void add_lists(const plan::Experiment& experiment, const std::vector<Question>& questions,
               show::Answer& to) {
  for (const auto& [name, lists] : questions) {
    const auto about = name.empty() ? "" : name + ": ";
    for (const auto& list : *lists) {
      if (list.runs.empty()) continue;
      if (&list != &lists->front() && starts_with(lists->front().runs, list.runs)) {
        to.sections.push_back(show::Findings{"", {{"same", about + list.title + ": the same"}}});
        continue;
      }
      auto table = show::for_people(tables::runs_table(view(experiment, list), 0));
      keep_measure(list, table);
      table.title = about + list.title;
      to.sections.push_back(std::move(table));
    }
  }
}

Status write_best(const SearchArguments& arguments, const plan::Experiment& experiment,
                  const plan::Planned& best, const plan::AskedStrategy& asked,
                  const std::string& how) {
  if (arguments.write.empty()) return {};
  const fs::path file = arguments.write;
  if (const auto old = read_file(file); old && !old->starts_with(kWrittenBy))
    return Error{printable(arguments.write), "exists already, and not written by orch search",
                 "give --write another name"};
  const auto comment = fmt::format("{}: {} from\n{}: {:.1f} days.{}", kWrittenBy.substr(3), how,
                                   arguments.source.file.string(), best.estimate.days_to_train,
                                   experiment.constraints.empty()
                                       ? ""
                                       : "\nIt keeps that file's constraints; they are not in it.");
  return write_file_atomically(file, search::experiment_lua(best.run, experiment, asked, comment));
}

std::string next_step(const SearchArguments& arguments, const std::string& lua) {
  if (arguments.write.empty())
    return (lua.empty() ? "" : "the best as Lua: " + lua + "\n") +
           fmt::format("next: orch search {} --write best.lua && orch run best.lua\n",
                       same_search(arguments));
  return fmt::format("written: {}\nnext: orch run {}\n", printable(arguments.write),
                     shell_quote(arguments.write));
}

std::string reasons_text(App& app, const plan::Experiment& experiment,
                         const search::SearchSpace& space, const search::SearchResult& found) {
  std::string out;
  std::vector<std::pair<std::string, search::MissReason>> sorted(found.reasons.begin(),
                                                                 found.reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  for (const auto& [field, reason] : sorted) {
    std::vector<Error> errors;
    const auto run = search::run_at(space, app.backends(), reason.example, errors);
    if (experiment.strict) errors.insert(errors.end(), run.warnings.begin(), run.warnings.end());
    const auto fact = errors.empty() ? std::string() : errors.front().fact;
    out += fmt::format("  {:>10}  {}: e.g. {}\n", group_digits(reason.count), field, fact);
  }
  if (!out.empty()) out = "rejected, by field:\n" + out;
  if (found.fitting == 0 && !found.closest.empty()) {
    std::vector<Error> errors;
    const auto nearest =
        app.explain(search::run_at(space, app.backends(), found.closest.front().place, errors));
    if (nearest)
      out += fmt::format("the nearest to fitting takes {}: {}\n", nearest->estimate.fit_reason,
                         plan::label(nearest->run));
  }
  return out;
}

}  // namespace orch::app
