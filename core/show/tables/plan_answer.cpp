#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/tables/plan.h"
#include "core/show/tables/ranking.h"

namespace orch::tables {
namespace {

using show::Cell, show::Findings, show::Mark;

std::string title(const RankedRuns& result) {
  const auto& experiment = *result.experiment;
  std::string out = experiment.name;
  if (!experiment.doc.empty()) out += ": " + printable(experiment.doc);
  if (result.runs.empty()) return out + "\nno run is left";
  const double tokens = result.runs.front()->run.tokens;
  const bool same =
      std::ranges::all_of(result.runs, [&](const auto* run) { return run->run.tokens == tokens; });
  const auto apart = what_differs(result);
  out += fmt::format("\n{}, {} rejected; ranked by time to train{}{}.",
                     plural(result.runs.size(), "run"),
                     group_digits(static_cast<double>(result.rejected->size())),
                     same ? " " + format_tokens(tokens) + " tokens" : "",
                     apart.empty() ? "" : ", each " + and_list(apart) + " apart");
  if (result.duplicates > 0)
    out += fmt::format(" {} described twice and counted once.", result.duplicates);
  return out;
}

// For programs: a row for each error of each run.
struct ErrorOf {
  const std::string* run;
  const Error* error;
};

show::Table errors_table(std::string name, const std::vector<ErrorOf>& errors) {
  show::Columns<ErrorOf> columns(errors);
  columns.add("id", [](const ErrorOf& of) { return *of.run; });
  columns.add("place", [](const ErrorOf& of) { return of.error->place; });
  columns.add("fact", [](const ErrorOf& of) { return of.error->fact; });
  columns.add("fix", [](const ErrorOf& of) { return of.error->fix; });
  return columns.table(std::move(name));
}

Findings budget_and_dates(const RankedRuns& result) {
  Findings out;
  if (const auto verdict = budget_verdict(result); !verdict.text.empty())
    out.list.push_back({"budget", verdict.text, verdict.over ? Mark::bad : Mark::good});
  if (const auto dates = dates_text(result); !dates.empty()) out.list.push_back({"dates", dates});
  return out;
}

Findings answer_findings(const RankedRuns& result) {
  const auto found = answer(result);
  return {"", {{"answer", found.best}, {"sure", found.sure}, {"nearby", found.nearby}}};
}

}  // namespace

show::Answer plan_answer(const RankedRuns& result, std::size_t top) {
  show::Answer out{result.experiment->name, title(result)};
  const auto add = [&](show::Section section) { out.sections.push_back(std::move(section)); };
  add(runs_table(result, top));
  std::vector<ErrorOf> warnings, rejected;
  for (const auto* run : result.runs)
    for (const auto& error : run->run.warnings) warnings.push_back({&run->run.id, &error});
  for (const auto& run : *result.rejected)
    for (const auto& error : run.reasons) rejected.push_back({&run.label, &error});
  add(errors_table("warnings", warnings));
  add(errors_table("rejected", rejected));
  add(Findings{"", {{"ties", ties_text(result)}}});
  add(Findings{"", {{"priced", stacks_text(result)}}});
  add(warnings_by_subject(result));
  add(Findings{"", {{"unequal", unequal_text(result)}}});
  add(rejected_by_reason(*result.rejected));
  add(Findings{"", {{"failures", failures_text(result)}}});
  add(budget_and_dates(result));
  add(answer_findings(result));
  return out;
}

}  // namespace orch::tables
