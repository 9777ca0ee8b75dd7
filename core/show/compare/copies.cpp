#include <algorithm>
#include <map>
#include <set>

#include "core/show/compare/parts.h"

// Detects records that describe the same run: a record that was read twice, a row of a table that
// was printed again, a copy or a part of a log. Two runs of one configuration never have exactly
// the same time in each step.
namespace orch::compare {
namespace {

using record::Record;

bool is_one(const Record& a, const Record& b) {
  return &a == &b || (!a.id.empty() && a.id == b.id && a.source == b.source &&
                      a.origin.file == b.origin.file && a.origin.first_line == b.origin.first_line);
}

bool same_numbers(const Record& a, const Record& b) {
  const auto &m = a.measured, &n = b.measured;
  const auto step = [](const record::Measurement& measured) {
    return measured.step_seconds ? measured.step_seconds->value : 0;
  };
  return a.has_measurement() && a.fields == b.fields && step(m) == step(n) &&
         m.days_per_100b_tokens == n.days_per_100b_tokens &&
         m.tokens_per_second == n.tokens_per_second && m.steps == n.steps;
}

bool is_printed_again(const Record& record) {
  return std::ranges::any_of(record.doubts, [](const auto& doubt) { return doubt.kind == "copy"; });
}

bool same_start(const Record& a, const Record& b) {
  return a.origin.start > 0 && a.origin.start == b.origin.start && a.origin.end == b.origin.end &&
         a.origin.job == b.origin.job;
}

bool contradict(const Record& a, const Record& b) {
  return std::ranges::any_of(a.fields, [&](const record::RecordField& field) {
    const auto* other = b.field(field.name);
    return !field.assumed && other != nullptr && *other != field.value;
  });
}

// True if all common steps have the same time, with enough steps and distinct times to rule out
// chance.
bool same_times(const Record& a, const Record& b) {
  constexpr std::size_t kEnough = 3, kDistinct = 2;
  std::map<std::int64_t, double> times;
  for (const auto& point : a.measured.step_times) times[point.step] = point.value;
  std::set<double> distinct;
  std::size_t common = 0;
  for (const auto& point : b.measured.step_times) {
    const auto found = times.find(point.step);
    if (found == times.end()) continue;
    if (found->second != point.value) return false;
    ++common;
    distinct.insert(point.value);
  }
  return common >= kEnough && distinct.size() >= kDistinct;
}

bool is_log(const Record& record) { return record.origin.kind == "log"; }

// True if one log is a copy of the other although it has only one time for all steps: the numbers
// and their lines agree.
bool same_lines(const Record& a, const Record& b) {
  const auto same_point = [](const record::LossPoint& one, const record::LossPoint& other) {
    return one.step == other.step && one.loss == other.loss;
  };
  return is_log(a) && is_log(b) && a.measured.step_seconds && a.measured.step_times.empty() &&
         a.origin.last_line > 0 && same_numbers(a, b) &&
         a.origin.first_line == b.origin.first_line && a.origin.last_line == b.origin.last_line &&
         std::ranges::equal(a.measured.losses, b.measured.losses, same_point);
}

}  // namespace

SharedRecords shared(const Record& a, const Record& b) {
  if (is_one(a, b)) return SharedRecords::record;
  if (same_numbers(a, b) && (same_start(a, b) || is_printed_again(a) || is_printed_again(b)))
    return SharedRecords::copy;
  if (same_lines(a, b)) return SharedRecords::copy;
  if (!is_log(a) || !is_log(b) || contradict(a, b) || !same_times(a, b))
    return SharedRecords::nothing;
  return a.measured.steps == b.measured.steps ? SharedRecords::copy : SharedRecords::part;
}

Cohort without_copies(const Cohort& group) {
  Cohort out{group.name, {}};
  for (const auto* record : group.records) {
    const auto held = std::ranges::find_if(out.records, [&](const Record* other) {
      return shared(*other, *record) != SharedRecords::nothing;
    });
    if (held == out.records.end())
      out.records.push_back(record);
    else if (record->measured.steps > (*held)->measured.steps)
      *held = record;  // replace a part by the whole log
  }
  return out;
}

}  // namespace orch::compare
