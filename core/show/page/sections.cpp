#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/page/parts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

constexpr std::size_t kMostReasons = 60;          // groups of rejected runs
constexpr std::size_t kMostRejected = 100;        // runs listed per group
constexpr std::size_t kMostNames = 20;            // nodes, jobs or files under provenance
constexpr std::size_t kLongestFile = 256 * 1024;  // bytes shown of an attachment

std::string section(const char* id, const char* heading, const std::string& content) {
  return fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n", id, heading, content);
}

struct Rejection {
  const std::string* label = nullptr;
  std::string reason;  // followed by the fix
};

std::string rejections(const std::vector<Rejection>& group) {
  auto out = fmt::format("<details><summary>{}: {}</summary><ul>\n", plural(group.size(), "run"),
                         escape(group.front().reason));
  const bool alike = std::all_of(group.begin(), group.end(), [&](const Rejection& rejection) {
    return rejection.reason == group.front().reason;
  });
  for (std::size_t i = 0; i < std::min(group.size(), kMostRejected); ++i)
    out += fmt::format("<li>{}{}</li>\n", escape(*group[i].label, kLongestName),
                       alike ? "" : ": " + escape(group[i].reason));
  if (group.size() > kMostRejected)
    out += fmt::format("<li>and {} more</li>\n", group.size() - kMostRejected);
  return out + "</ul></details>\n";
}

// Collects distinct names in order of appearance and shows the first kMostNames.
class SectionNames {
 public:
  void add(const std::string& name) {
    if (!name.empty() && seen_.insert(name).second) names_.push_back(name);
  }
  std::string text() const { return first_of(names_, kMostNames); }

 private:
  std::vector<std::string> names_;
  std::set<std::string> seen_;
};

// The origins of all records, merged into one list.
Pairs origins(const std::vector<record::Record>& records) {
  std::vector<std::pair<std::string, SectionNames>> all{
      {"sources", {}}, {"experiment file", {}}, {"cluster file", {}}, {"commit", {}}, {"files", {}},
      {"jobs", {}},    {"nodes", {}},           {"versions", {}}};
  for (const auto& record : records) {
    const auto& origin = record.origin;
    all[0].second.add(record.source);
    all[1].second.add(origin.experiment_file);
    all[2].second.add(origin.cluster_file);
    all[3].second.add(origin.commit);
    all[4].second.add(origin.file);
    all[5].second.add(origin.job);
    for (const auto& node : origin.nodes) all[6].second.add(node);
    for (const auto& [name, version] : origin.versions)
      all[7].second.add(fmt::format("{} {}", name, version));
  }
  Pairs out;
  for (const auto& [name, names] : all)
    if (auto text = names.text(); !text.empty()) out.emplace_back(name, std::move(text));
  return out;
}

double share(double hours, double of) { return of > 0 ? std::clamp(hours / of, 0.0, 1.0) : 0; }

// A bar of used and committed GPU-hours; its full width is the limit.
std::string budget_bar(const PageBudget& budget) {
  if (!(budget.gpu_hours > 0)) return "";
  const double used = 100 * share(budget.used_gpu_hours, budget.gpu_hours);
  const double committed =
      std::min(100 - used, 100 * share(budget.committed_gpu_hours, budget.gpu_hours));
  return fmt::format(
      R"(<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="4"/><rect class="used" width="{0:.2f}" height="4"/><rect class="committed" x="{0:.2f}" width="{1:.2f}" height="4"/></svg>)"
      "\n<p>{0:.0f} % of the limit used, then {1:.0f} % committed.</p>\n",
      used, committed);
}

}  // namespace

std::string list_of(const Pairs& pairs) {
  std::string out = "<dl>\n";
  for (const auto& [name, value] : pairs)
    ((((out += "<div><dt>") += escape(name, kLongestName)) += "</dt><dd>") += escape(value)) +=
        "</dd></div>\n";
  return out + "</dl>\n";
}

std::string rejected(const std::vector<plan::RejectedRun>& runs) {
  if (runs.empty()) return "";
  std::map<std::string, std::vector<Rejection>> by_reason;
  for (const auto& run : runs)
    for (const auto& [place, fact, fix] : run.reasons) {
      auto reason = place + ": " + fact + (fix.empty() ? "" : "; " + fix);
      auto& group = by_reason[without_numbers(reason)];
      group.push_back({&run.label, std::move(reason)});
    }
  std::vector<const std::vector<Rejection>*> groups;
  groups.reserve(by_reason.size());
  for (const auto& [reason, group] : by_reason) groups.push_back(&group);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto* a, const auto* b) { return a->size() > b->size(); });
  auto out = fmt::format("<p>{} could not work as asked.</p>\n", plural(runs.size(), "run"));
  for (std::size_t i = 0; i < std::min(groups.size(), kMostReasons); ++i)
    out += rejections(*groups[i]);
  if (groups.size() > kMostReasons)
    out += fmt::format("<p>And {}.</p>\n", plural(groups.size() - kMostReasons, "more reason"));
  return section("rejected", "Rejected runs", out);
}

std::string budget(const PageBudget& budget) {
  if (budget.limits.empty() && budget.verdict.empty() && budget.gpu_hours <= 0 &&
      budget.used_gpu_hours <= 0)
    return "";
  Pairs pairs;
  const auto add = [&](const char* name, std::string value) {
    if (!value.empty()) pairs.emplace_back(name, std::move(value));
  };
  const auto hours = [](double value) {
    return value > 0 ? group_digits(value) + " GPU-hours" : std::string();
  };
  add("Limit", budget.limits.empty() ? hours(budget.gpu_hours) : budget.limits);
  add("Used", hours(budget.used_gpu_hours));
  add("Committed", hours(budget.committed_gpu_hours));
  add("Verdict", budget.verdict);
  return section("budget", "Budget", budget_bar(budget) + list_of(pairs));
}

std::string provenance(const Page& page) {
  auto pairs = page.provenance;
  const auto add = [&](const std::string& name, const std::string& value) {
    const bool told = std::any_of(pairs.begin(), pairs.end(),
                                  [&](const auto& pair) { return pair.first == name; });
    if (!told && !value.empty()) pairs.emplace_back(name, value);
  };
  for (const auto& [name, value] : origins(page.records)) add(name, value);
  add("command", page.command);
  add("created", page.created);
  if (pairs.empty() && page.attachments.empty()) return "";
  return section("provenance", "Provenance",
                 (pairs.empty() ? "" : list_of(pairs)) + attachments(page.attachments));
}

std::string attachments(const std::vector<Attachment>& files) {
  std::string out;
  for (const auto& file : files)
    out += fmt::format(
        "<details class=\"file\"><summary>{}</summary><pre tabindex=\"0\">{}</pre></details>\n",
        escape(file.name, kLongestName), escape(file.text, kLongestFile));
  return out;
}

}  // namespace orch::page
