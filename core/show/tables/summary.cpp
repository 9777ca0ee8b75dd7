#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/tables/report.h"

namespace orch::tables {
namespace {

struct SummaryGroup {
  std::size_t count = 0;
  const Error* example = nullptr;
};

using Groups = std::vector<SummaryGroup>;

template <class Lists>
Groups by_reason(const Lists& lists) {
  std::map<std::string, SummaryGroup> groups;
  for (const auto& errors : lists) {
    std::set<std::string> seen;  // a run counts once for each reason
    for (const auto& error : *errors) {
      const auto reason = error.place + ": " + without_numbers(error.fact);
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

}  // namespace

show::Findings rejected_by_reason(const std::vector<plan::RejectedRun>& rejected) {
  if (rejected.empty()) return {};
  std::vector<const std::vector<Error>*> lists;
  for (const auto& run : rejected) lists.push_back(&run.reasons);
  return {fmt::format("{} rejected, by reason:", plural(rejected.size(), "run")),
          {{"rejected", lines(by_reason(lists))}}};
}

show::Findings warnings_by_subject(const RankedRuns& result) {
  std::vector<const std::vector<Error>*> lists;
  std::size_t warned = 0;
  for (const auto* run : result.runs) {
    if (run->run.warnings.empty()) continue;
    ++warned;
    lists.push_back(&run->run.warnings);
  }
  if (warned == 0) return {};
  return {fmt::format("{} with warnings:", plural(warned, "run")),
          {{"warnings", lines(by_reason(lists))}}};
}

std::string unequal_text(const RankedRuns& result) {
  std::map<std::string, std::vector<const Error*>> found;
  for (const auto* run : result.runs)
    for (const auto& error : run->run.unequal) {
      auto& list = found[run->run.framework];
      if (std::none_of(list.begin(), list.end(),
                       [&](const Error* known) { return *known == error; }))
        list.push_back(&error);
    }
  std::string out;
  for (const auto& [framework, list] : found) {
    out += fmt::format("{} cannot be made equal in:\n", framework);
    for (const auto* error : list) {
      out += fmt::format("  {}: {}\n", error->place, error->fact);
      if (!error->fix.empty()) out += fmt::format("    {}\n", error->fix);
    }
  }
  return out;
}

}  // namespace orch::tables
