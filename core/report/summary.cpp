#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "core/base/units.h"
#include "core/report/report.h"

namespace orch::report {
namespace {

struct Group {
  std::size_t count = 0;
  const Error* example = nullptr;
};

// "heads = 20 is not divisible by tensor_parallel = 3" with any other numbers is the same reason.
std::string without_numbers(const Error& error) {
  std::string out = error.place + ": ";
  for (const char c : error.fact) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit)
      out += c;
    else if (out.back() != '#')
      out += '#';
  }
  return out;
}

using Groups = std::vector<Group>;

template <class Lists>
Groups by_reason(const Lists& lists) {
  std::map<std::string, Group> groups;
  for (const auto& errors : lists) {
    std::set<std::string> seen;  // a run counts once for each reason
    for (const auto& error : *errors) {
      const auto reason = without_numbers(error);
      if (!seen.insert(reason).second) continue;
      auto& group = groups[reason];
      ++group.count;
      if (!group.example) group.example = &error;
    }
  }
  Groups sorted;
  for (const auto& [reason, group] : groups) sorted.push_back(group);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return sorted;
}

std::string lines(const Groups& groups) {
  std::string out;
  for (const auto& [count, example] : groups) {
    out += fmt::format("  {:>6}  {}: {}{}\n", group_digits(static_cast<double>(count)),
                       example->place, count > 1 ? "e.g. " : "", example->fact);
    if (!example->fix.empty()) out += fmt::format("          {}\n", example->fix);
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
  return paint(fmt::format("{} rejected, by reason:", plural(rejected.size(), "run")), "1",
               screen) +
         "\n" + lines(by_reason(lists));
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
  return fmt::format("{} with warnings:\n", plural(warned, "run")) + lines(by_reason(lists));
}

bool keeps(const plan::Estimate& estimate, const plan::Budget& budget) {
  return (budget.gpu_hours <= 0 || estimate.gpu_hours <= budget.gpu_hours) &&
         (budget.deadline_days <= 0 || estimate.days_to_train <= budget.deadline_days);
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
    within += keeps(e, budget);
  }
  Verdict verdict;
  if (fitting == 0) {
    verdict.text = "budget: no run fits its GPUs, so none can keep it";
    return verdict;
  }
  verdict.over = within == 0;
  std::string limits;
  if (budget.gpu_hours > 0) limits += group_digits(budget.gpu_hours) + " GPU-hours";
  if (budget.deadline_days > 0)
    limits += fmt::format("{}{:g} day{}", limits.empty() ? "" : " and ", budget.deadline_days,
                          budget.deadline_days == 1 ? "" : "s");
  verdict.text = fmt::format("budget of {}: kept by {} of {} that fit", limits, within,
                             plural(fitting, "run"));
  if (cheapest) {
    verdict.text += fmt::format("; the cheapest takes {} GPU-hours",
                                group_digits(cheapest->estimate.gpu_hours));
    if (budget.gpu_hours > 0)
      verdict.text += fmt::format(
          " ({} %)", group_digits(100 * cheapest->estimate.gpu_hours / budget.gpu_hours));
    verdict.text += fmt::format(" and {:.1f} days", cheapest->estimate.days_to_train);
  }
  return verdict;
}

}  // namespace orch::report
