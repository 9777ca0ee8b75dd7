#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/units.h"
#include "core/report/report.h"

namespace orch::report {
namespace {

struct Group {
  std::size_t count = 0;
  const Error* example = nullptr;
};

// By what the problem is about: its place in the run.
using Groups = std::vector<std::pair<std::string, Group>>;

template <class Lists>
Groups by_place(const Lists& lists) {
  std::map<std::string, Group> groups;
  for (const auto& errors : lists) {
    std::string last;
    for (const auto& error : *errors) {
      auto& group = groups[error.place];
      if (error.place != last) ++group.count;  // a run counts once for each reason
      last = error.place;
      if (!group.example) group.example = &error;
    }
  }
  Groups sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  return sorted;
}

std::string lines(const Groups& groups) {
  std::string out;
  for (const auto& [place, group] : groups) {
    out += fmt::format("  {:>6}  {}: {}\n", group_digits(static_cast<double>(group.count)), place,
                       group.example->fact);
    if (!group.example->fix.empty()) out += fmt::format("          {}\n", group.example->fix);
  }
  return out;
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", group_digits(static_cast<double>(count)), noun,
                     count == 1 ? "" : "s");
}

}  // namespace

std::string rejected_by_reason(const std::vector<plan::Rejected>& rejected, const Screen& screen) {
  if (rejected.empty()) return "";
  std::vector<const std::vector<Error>*> lists;
  for (const auto& run : rejected) lists.push_back(&run.reasons);
  return paint(fmt::format("{} rejected, by reason (with an example of each):",
                           plural(rejected.size(), "run")),
               "1", screen) +
         "\n" + lines(by_place(lists));
}

std::string warnings_by_subject(const Result& result) {
  std::vector<const std::vector<Error>*> lists;
  std::size_t warned = 0;
  for (const auto* run : result.runs) {
    if (run->run.warnings.empty()) continue;
    ++warned;
    lists.push_back(&run->run.warnings);
  }
  if (warned == 0) return "";
  return fmt::format("{} with warnings (with an example of each):\n", plural(warned, "run")) +
         lines(by_place(lists));
}

Verdict budget_verdict(const Result& result) {
  const auto& budget = result.experiment->budget;
  if (budget.gpu_hours <= 0 && budget.deadline_days <= 0) return {};
  const plan::Planned* cheapest = nullptr;
  std::size_t fitting = 0, within = 0;
  for (const auto* run : result.runs) {
    const auto& e = run->estimate;
    if (e.fit == plan::Fit::oom) continue;
    ++fitting;
    if (!cheapest || e.gpu_hours < cheapest->estimate.gpu_hours) cheapest = run;
    within += (budget.gpu_hours <= 0 || e.gpu_hours <= budget.gpu_hours) &&
              (budget.deadline_days <= 0 || e.days_to_train <= budget.deadline_days);
  }
  Verdict verdict;
  verdict.over = within == 0;
  std::string limits;
  if (budget.gpu_hours > 0) limits += group_digits(budget.gpu_hours) + " GPU-hours";
  if (budget.deadline_days > 0)
    limits += fmt::format("{}{:g} days", limits.empty() ? "" : " and ", budget.deadline_days);
  verdict.text = fmt::format("budget of {}: kept by {} of {} that fit", limits, within,
                             plural(fitting, "run"));
  if (cheapest) {
    verdict.text += fmt::format("; the cheapest takes {} GPU-hours",
                                group_digits(cheapest->estimate.gpu_hours));
    if (budget.gpu_hours > 0)
      verdict.text +=
          fmt::format(" ({:.0f} %)", 100 * cheapest->estimate.gpu_hours / budget.gpu_hours);
    verdict.text += fmt::format(" and {:.1f} days", cheapest->estimate.days_to_train);
  }
  return verdict;
}

}  // namespace orch::report
