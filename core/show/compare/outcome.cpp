#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/record/record.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using record::Failure;
using record::Record;
using record::State;

// A run that lost its loss went on for nothing.
// A job that met its time limit ran until then, and its steps have a speed.
bool met_its_limit(const Record& record) {
  const auto& m = record.measured;
  return record.state == State::failed && record.failure == Failure::timeout &&
         (m.step_seconds || m.tokens_per_second || m.days_per_100b_tokens);
}

bool failed(const Record& record) {
  return (record.state == State::failed && !met_its_limit(record)) || record::lost_loss(record.measured);
}

bool ran(const Record& record) {
  return !failed(record) && (record.has_measurement() || record.state == State::finished ||
                             record.state == State::running || record.state == State::stopped);
}

std::string failure_words(const Record& record) {
  switch (record.failure) {
    case Failure::gpu_memory:
      return "ran out of GPU memory";
    case Failure::host_memory:
      return "ran out of host memory";
    case Failure::nan:
      return "lost its loss (not a number)";
    case Failure::hang:
      return "hung";
    case Failure::none:
      return "failed";
    default:
      return "failed (" + std::string(name(record.failure)) + ")";
  }
}

std::string words(const Record& record) {
  const auto nan = record::nan_text(record.measured);
  if (record::lost_loss(record.measured)) return "lost its loss (" + nan + ")";
  if (failed(record)) return failure_words(record);
  if (met_its_limit(record)) return "ran until its time limit";
  if (!nan.empty()) return "ran (loss " + nan + ")";
  return ran(record) ? "ran" : "was not run";
}

// A node that broke says nothing about what ran on it.
bool failed_by_chance(const Record& record) { return record::is_transient(record.failure); }

bool is_outcome_in_doubt(const Record& record) {
  return std::any_of(record.doubts.begin(), record.doubts.end(), [](const record::Doubt& doubt) {
    return doubt.field.find("status") != std::string::npos;
  });
}

}  // namespace

std::string outcome_text(const Cohort& group) {
  std::map<std::string, std::size_t> counts;
  for (const auto* record : group.records) ++counts[words(*record)];
  if (counts.size() == 1) return counts.begin()->first;
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [what, count] : counts)
    parts.push_back(fmt::format("{} of {} {}", count, group.records.size(), what));
  return join(parts, ", ");
}

Judgement judge_outcome(const Pair& pair) {
  Judgement out;
  const auto &base = *pair.base, &other = *pair.other;
  const bool broken_base = base.all(failed), broken_other = other.all(failed);
  if (!broken_base && !broken_other) return out;
  out.text =
      fmt::format("{}: {}; {}: {}", base.name, outcome_text(base), other.name, outcome_text(other));
  if (broken_base && broken_other) {
    out.verdict =
        outcome_text(base) == outcome_text(other) ? Verdict::no_difference : Verdict::unclear;
  } else if ((broken_base ? base : other).all(failed_by_chance)) {
    out.verdict = Verdict::unclear;
    out.text += "; such a failure may come from the machine and not from the settings";
  } else if ((broken_base ? other : base).any(ran)) {
    out.verdict = broken_base ? Verdict::better : Verdict::worse;
  }
  out.doubtful = base.any(is_outcome_in_doubt) || other.any(is_outcome_in_doubt);
  if (out.doubtful) out.text += "; doubtful";
  return out;
}

}  // namespace orch::compare
