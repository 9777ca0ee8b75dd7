#include "core/show/compare/compare.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using record::Failure;
using record::Record;
using record::RunState;

Errors check(const std::vector<Cohort>& groups) {
  Errors errors;
  if (groups.size() < 2)
    errors.push_back(
        {"compare", plural(groups.size(), "group"), "name at least two things to compare"});
  for (const auto& group : groups) {
    if (group.records.empty())
      errors.push_back({group.name, "no record", "choose something that was run or planned"});
    for (const auto* record : group.records) ORCH_CHECK(record != nullptr, "a null record");
  }
  return errors;
}

// A job that reached its time limit has run until then, so the speed of its steps is valid.
bool met_its_limit(const Record& record) {
  const auto& m = record.measured;
  return record.state == RunState::failed && record.failure == Failure::timeout &&
         (m.step_seconds || m.tokens_per_second || m.days_per_100b_tokens);
}

EndKind fate_of(const Record& record) {
  if (record::lost_loss(record.measured)) return EndKind::lost_loss;
  if (met_its_limit(record)) return EndKind::time_limit;
  if (record.state == RunState::failed) return EndKind::failed;
  const bool ran = record.has_measurement() || record.state == RunState::finished ||
                   record.state == RunState::running || record.state == RunState::stopped;
  return ran ? EndKind::ran : EndKind::not_run;
}

// A run whose loss became NaN counts as failed: its later steps trained nothing.
bool failed(const Record& record) {
  const auto fate = fate_of(record);
  return fate == EndKind::failed || fate == EndKind::lost_loss;
}

bool ran(const Record& record) {
  const auto fate = fate_of(record);
  return fate == EndKind::ran || fate == EndKind::time_limit;
}

// A transient failure, such as a broken node, may be unrelated to the configuration.
bool failed_by_chance(const Record& record) { return record::is_transient(record.failure); }

std::vector<GroupEnding> endings_of(const Cohort& group) {
  std::vector<GroupEnding> out;
  for (const auto* record : group.records) {
    const auto fate = fate_of(*record);
    const GroupEnding ending{fate, fate == EndKind::failed ? record->failure : Failure::none,
                             record::nan_text(record->measured), 1};
    const auto same = std::ranges::find_if(out, [&](const GroupEnding& held) {
      return held.fate == fate && held.failure == ending.failure && held.nan == ending.nan;
    });
    same == out.end() ? out.push_back(ending) : void(++same->records);
  }
  return out;
}

GroupOutcome judge_outcome(const RecordPair& pair) {
  GroupOutcome out;
  const auto &base = pair.base, &other = pair.other;
  const bool broken_base = base.all(failed), broken_other = other.all(failed);
  if (!broken_base && !broken_other) return out;
  const auto same = [](const GroupEnding& a, const GroupEnding& b) {
    return a.fate == b.fate && a.failure == b.failure && a.nan == b.nan;
  };
  if (broken_base && broken_other) {
    out.verdict = std::ranges::equal(endings_of(base), endings_of(other), same)
                      ? PairVerdict::no_difference
                      : PairVerdict::unclear;
  } else if ((broken_base ? base : other).all(failed_by_chance)) {
    out.verdict = PairVerdict::unclear;
    out.by_chance = true;
  } else if ((broken_base ? other : base).any(ran)) {
    out.verdict = broken_base ? PairVerdict::better : PairVerdict::worse;
  }
  return out;
}

GroupSummary taken(const Cohort& group, std::size_t copies, std::size_t left_out) {
  GroupSummary out;
  out.name = group.name;
  for (const auto* record : group.records) out.ids.push_back(record->id);
  out.varies = varying_fields(group);
  if (group.records.size() > 1)
    out.kind = out.varies.empty() ? GroupKind::repeats : GroupKind::mixture;
  out.endings = endings_of(group);
  out.lost = group.all([](const auto& r) { return record::lost_loss(r.measured); });
  out.measured = group.any([](const auto& r) { return r.has_measurement(); });
  out.estimated = group.any([](const auto& r) { return r.estimated.has_value(); });
  for (const auto* record : group.records)
    if (out.not_estimated.empty()) out.not_estimated = record->not_estimated;
  out.copies = copies;
  out.left_out = left_out;
  describe(group, out);
  return out;
}

// Compares the losses at the end; the noise of the curves decides if they differ. Losses with NaN
// in them are never equal.
PairVerdict loss_verdict(const Losses& losses) {
  if (!losses.present) return PairVerdict::missing;
  if (losses.base.lost != losses.other.lost)
    return losses.base.lost ? PairVerdict::better : PairVerdict::worse;
  if (losses.base.lost || losses.places.empty()) return PairVerdict::not_comparable;
  if (!losses.noise_known) return PairVerdict::unclear;
  const bool numbers = losses.base.nan.empty() && losses.other.nan.empty();
  if (!losses.apart_at_end) return numbers ? PairVerdict::no_difference : PairVerdict::unclear;
  const auto& end = losses.places.back();
  return end.other < end.base ? PairVerdict::better : PairVerdict::worse;
}

void find_shared(const RecordPair& pair, GroupComparison& out) {
  const auto all = pair.other.records.size();
  for (const auto* one : pair.other.records)
    for (const auto* other : pair.base.records)
      if (const auto found = shared(*other, *one); found != SharedRecords::nothing) {
        ++out.shared_records;
        out.shared = found;
        break;
      }
  if (out.shared_records == 0) return;
  if (out.shared_records < all || all != pair.base.records.size())
    out.shared = SharedRecords::some;
  else if (all > 1)
    out.shared = SharedRecords::records;
}

// True if nothing but date and nodes differs. Only orch's own runs qualify: all of their settings
// are known.
bool are_repeats(const RecordPair& pair) {
  const auto is_ours = [](const Record& record) { return record.origin.kind == "run"; };
  if (!pair.base.all(is_ours) || !pair.other.all(is_ours)) return false;
  const auto found = explain(pair.differences, pair.group, Aspect::speed);
  return found.causes.empty() && found.unsaid.empty() &&
         std::ranges::all_of(found.circumstances, [](const std::string& name) {
           return name == "date" || name == "node names";
         });
}

// If the groups are repeats and one of them has a single run, their difference is noise: the
// interval over the steps of a run does not include the variation between runs.
void call_noise(const Comparison& comparison, const RecordPair& pair, GroupComparison& out) {
  if (out.itself() || !are_repeats(pair)) return;
  for (std::size_t i = 0; i < out.judgements.size(); ++i) {
    auto& found = out.judgements[i];
    const auto& values = comparison.metrics[i].values;
    const bool several = values.front().runs > 1 && values[pair.group].runs > 1;
    if (!found.is_decided() || found.estimated || several) continue;
    found.verdict = PairVerdict::unclear;
    found.reason = VerdictReason::repeats;
    out.repeats = true;
  }
}

GroupComparison compare_pair(const Comparison& comparison, const RecordPair& pair) {
  GroupComparison out;
  out.group = pair.group;
  out.unequal = unequals(pair);
  find_shared(pair, out);
  for (const auto& metric : comparison.metrics)
    out.judgements.push_back(judge(metric, pair.group, not_comparable(metric, pair)));
  call_noise(comparison, pair, out);
  out.outcome = judge_outcome(pair);
  out.losses = compare_losses(pair.base.records, pair.other.records, same_tokens_per_step(pair));
  out.loss_verdict = loss_verdict(out.losses);
  for (const auto aspect : kAspects)
    out.explanations.push_back(explain(comparison.differences, pair.group, aspect));
  return out;
}

std::vector<std::pair<std::string, record::Doubt>> doubts_of(const std::vector<Cohort>& groups) {
  std::vector<std::pair<std::string, record::Doubt>> out;
  std::set<const Record*> seen;
  for (const auto& group : groups)
    for (const auto* record : group.records)
      if (seen.insert(record).second)
        for (const auto& doubt : record->doubts) out.emplace_back(record->id, doubt);
  return out;
}

// Settings, then other arguments of programs, then circumstances.
std::vector<Difference> all_differences(const std::vector<Cohort>& groups) {
  auto out = differences_of(groups);
  auto arguments = argument_differences(groups);
  const auto settings = std::ranges::find_if(out, &Difference::circumstance);
  out.insert(settings, std::make_move_iterator(arguments.begin()),
             std::make_move_iterator(arguments.end()));
  return out;
}

}  // namespace

Result<Comparison> compare(const std::vector<Cohort>& chosen, const CompareOptions& options) {
  if (auto errors = check(chosen); !errors.empty()) return errors;
  Comparison out;
  std::vector<std::size_t> left_out;
  auto groups = without_misfits(chosen, left_out);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto all = groups[i].records.size();
    groups[i] = without_copies(groups[i]);
    out.groups.push_back(taken(groups[i], all - groups[i].records.size(), left_out[i]));
    groups[i].kind = out.groups.back().kind;
  }
  if (options.same_size) out.sizing = same_size(groups);
  out.differences = all_differences(groups);
  find_followers(out.differences, groups.size());
  out.metrics = metrics_of(groups, out.sizing);
  for (std::size_t i = 1; i < groups.size(); ++i) {
    out.against.push_back(compare_pair(
        out, {groups.front(), groups[i], i, out.differences, out.sizing.base.has_value()}));
    out.pairs.push_back(like_for_like(groups.front(), groups[i], i, out.sizing));
  }
  if (std::ranges::any_of(groups, [](auto& group) { return group.kind == GroupKind::mixture; }))
    out.best = best_against_best(groups, out.sizing);
  out.ranking = ranking_of(out);
  out.doubts = doubts_of(groups);
  return out;
}

}  // namespace orch::compare
