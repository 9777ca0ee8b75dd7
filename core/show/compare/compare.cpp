#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/record.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

Errors check(const std::vector<Cohort>& groups) {
  Errors errors;
  if (groups.size() < 2)
    errors.push_back(
        {"compare", plural(groups.size(), "group"), "name at least two things to compare"});
  for (const auto& group : groups) {
    if (group.records.empty())
      errors.push_back({group.name, "no record", "choose something that was run or planned"});
    for (const auto* record : group.records) ORCH_CHECK(record != nullptr, "a record that is none");
  }
  return errors;
}

using record::Failure;
using record::Record;
using record::State;

// A job that met its time limit ran until then, and its steps have a speed.
bool met_its_limit(const Record& record) {
  const auto& m = record.measured;
  return record.state == State::failed && record.failure == Failure::timeout &&
         (m.step_seconds || m.tokens_per_second || m.days_per_100b_tokens);
}

// A run that lost its loss went on for nothing.
bool failed(const Record& record) {
  return (record.state == State::failed && !met_its_limit(record)) ||
         record::lost_loss(record.measured);
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

// "ran", "2 of 3 ran, 1 ran out of GPU memory", "not run".
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

// Which of them ran: "A ran out of GPU memory, B ran". Missing where there is nothing to say.
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

Taken taken(const Cohort& group, const std::string& title) {
  Taken out;
  out.name = group.name;
  out.title = title;
  for (const auto* record : group.records) out.ids.push_back(record->id);
  out.varies = varying_fields(group);
  if (group.records.size() > 1) out.kind = out.varies.empty() ? Kind::repeats : Kind::mixture;
  out.outcome = outcome_text(group);
  out.lost = group.all([](const auto& r) { return record::lost_loss(r.measured); });
  const bool measured = group.any([](const auto& r) { return r.has_measurement(); });
  const bool estimated = group.any([](const auto& r) { return r.estimated.has_value(); });
  if (estimated) return out;
  out.nothing.push_back(measured ? "not estimated" : "neither measured nor estimated");
  for (const auto* record : group.records)
    if (!record->not_estimated.empty() && out.nothing.size() < 2)
      out.nothing.push_back(record->not_estimated);
  return out;
}

// A loss is lower or it is not: the noise of the curves decides. Those that became NaN are never
// equal.
Verdict loss_verdict(const Losses& losses) {
  if (!losses.present) return Verdict::missing;
  if (losses.base.lost != losses.other.lost)
    return losses.base.lost ? Verdict::better : Verdict::worse;
  if (losses.base.lost || losses.places.empty()) return Verdict::not_comparable;
  if (!losses.noise_known) return Verdict::unclear;
  const bool numbers = losses.base.nan.empty() && losses.other.nan.empty();
  if (!losses.apart_at_end) return numbers ? Verdict::no_difference : Verdict::unclear;
  const auto& end = losses.places.back();
  return end.other < end.base ? Verdict::better : Verdict::worse;
}

bool compares(const Comparison& comparison, const Against& against, Aspect aspect) {
  if (aspect == Aspect::loss) return against.losses.present;
  for (std::size_t i = 0; i < comparison.metrics.size(); ++i)
    if (comparison.metrics[i].aspect == aspect && against.judgements[i].verdict != Verdict::missing)
      return true;
  return against.outcome.verdict != Verdict::missing;
}

bool is_one(const record::Record& a, const record::Record& b) {
  return &a == &b || (!a.id.empty() && a.id == b.id && a.source == b.source &&
                      a.origin.file == b.origin.file && a.origin.first_line == b.origin.first_line);
}

std::size_t count_shared(const Cohort& a, const Cohort& b) {
  return static_cast<std::size_t>(
      std::count_if(a.records.begin(), a.records.end(), [&](const record::Record* one) {
        return std::any_of(b.records.begin(), b.records.end(),
                           [&](const record::Record* other) { return is_one(*one, *other); });
      }));
}

void add_shared(const Pair& pair, Against& out) {
  const auto shared = count_shared(*pair.other, *pair.base);
  const auto all = pair.other->records.size();
  out.itself = shared == all && all == pair.base->records.size();
  if (out.itself)
    out.warnings.push_back(all == 1 ? "both are one and the same record"
                                    : "both are the same records");
  else if (shared > 0)
    out.warnings.push_back(fmt::format("{} of its {} records are in both groups", shared, all));
}

// Runs of ours, whose settings are all known: nothing differs but when and where they ran.
bool are_repeats(const std::vector<Difference>& differences, std::size_t group, const Pair& pair) {
  const auto is_ours = [](const record::Record& record) { return record.origin.kind == "run"; };
  if (!pair.base->all(is_ours) || !pair.other->all(is_ours)) return false;
  const auto found = explain(differences, group, Aspect::speed);
  const auto is_noise = [](const std::string& name) {
    return name == "date" || name == "node names";
  };
  return found.causes.empty() && found.unsaid.empty() &&
         std::ranges::all_of(found.circumstances, is_noise);
}

// What one run of each shows is how far repeats vary. Steps of a run tell nothing of another.
void call_noise(const Comparison& comparison, const Pair& pair, Against& out) {
  const auto group = pair.group;
  if (out.itself || !are_repeats(comparison.differences, group, pair)) return;
  bool said = false;
  for (std::size_t i = 0; i < out.judgements.size(); ++i) {
    auto& found = out.judgements[i];
    const auto& values = comparison.metrics[i].values;
    const bool several = values.front().runs > 1 && values[group].runs > 1;
    const bool decided = found.verdict == Verdict::better || found.verdict == Verdict::worse;
    if (!decided || found.estimated || several) continue;
    found.verdict = Verdict::unclear;
    found.text = "repeats of one run, so this is noise: " + found.text;
    said = true;
  }
  if (said)
    out.warnings.insert(
        out.warnings.begin(),
        "both are repeats of one run: what differs is noise, and shows how far repeats vary");
}

Against compare_pair(const Comparison& comparison, const Pair& pair) {
  Against out;
  out.group = pair.group;
  out.warnings = warnings_of(pair);
  add_shared(pair, out);
  for (const auto& metric : comparison.metrics)
    out.judgements.push_back(judge(metric, pair.group, not_comparable(metric, pair)));
  call_noise(comparison, pair, out);
  out.outcome = judge_outcome(pair);
  out.losses = compare_losses(pair.base->records, pair.other->records, same_tokens_per_step(pair));
  out.loss_verdict = loss_verdict(out.losses);
  for (const auto aspect : kAspects)
    if (compares(comparison, out, aspect))
      out.explanations.push_back(explain(comparison.differences, pair.group, aspect));
  return out;
}

bool within_one_run(const Metric& metric) {
  return std::any_of(metric.values.begin(), metric.values.end(), [](const Value& value) {
    return value.runs == 1 && value.measured && value.measured->has_limits();
  });
}

std::vector<std::string> notes_of(const Comparison& comparison, const Sizing& sizing) {
  std::vector<std::string> out;
  if (!sizing.note.empty()) out.push_back(sizing.note);
  for (const auto& group : comparison.groups)
    if (group.left_out > 0)
      out.push_back(
          fmt::format("{}: {} of {} records are estimated not to fit and were not run: left out",
                      group.name, group.left_out, group.left_out + group.ids.size()));
  for (const auto& group : comparison.groups)
    if (group.copies > 0)
      out.push_back(fmt::format("{}: {} of its records are copies of others: counted once",
                                group.name, group.copies));
  for (const auto& group : comparison.groups)
    if (group.kind == Kind::mixture)
      out.push_back(
          fmt::format("{} is a mixture of {} records that differ in {}: its median stands "
                      "for it, with its range",
                      group.name, group.ids.size(), join(group.varies, ", ")));
  if (std::any_of(comparison.metrics.begin(), comparison.metrics.end(), within_one_run))
    out.push_back(
        "an interval of one run is of its steps: how much runs differ from each other is not in "
        "it");
  return out;
}

std::vector<std::string> doubts_of(const std::vector<Cohort>& groups) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const auto& group : groups)
    for (const auto* record : group.records)
      for (const auto& doubt : record->doubts) {
        const auto& what = doubt.field.empty() ? doubt.kind : doubt.field;
        const auto line = fmt::format("{}: {} is doubtful: {}", record->id, what, doubt.reason);
        if (seen.insert(line).second) out.push_back(line);
      }
  return out;
}

// A name that would fill every line becomes a letter; the list of groups says whose.
std::vector<Cohort> named(std::vector<Cohort> groups, bool letters) {
  constexpr std::size_t kLong = 12, kLetters = 26;
  const bool any = std::any_of(groups.begin(), groups.end(), [](const Cohort& group) {
    return display_width(group.name) > kLong;
  });
  if (letters && any && groups.size() <= kLetters)
    for (std::size_t i = 0; i < groups.size(); ++i)
      groups[i].name = std::string(1, static_cast<char>('A' + i));
  return groups;
}

}  // namespace

Result<Comparison> compare(const std::vector<Cohort>& chosen, const Options& options) {
  if (auto errors = check(chosen); !errors.empty()) return errors;
  Comparison out;
  std::vector<std::size_t> left_out;
  auto groups = without_misfits(named(chosen, options.letters), left_out);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto all = groups[i].records.size();
    groups[i] = without_copies(groups[i]);
    out.groups.push_back(taken(groups[i], chosen[i].name));
    out.groups.back().left_out = left_out[i];
    out.groups.back().copies = all - groups[i].records.size();
    groups[i].kind = out.groups.back().kind;
  }
  const auto sizing = options.same_size ? same_size(groups) : Sizing{};
  out.differences = differences_of(groups);
  find_followers(out.differences, groups.size());
  out.metrics = metrics_of(groups, sizing);
  for (std::size_t i = 1; i < groups.size(); ++i) {
    out.against.push_back(compare_pair(
        out, {&groups.front(), &groups[i], i, &out.differences, sizing.base.has_value()}));
    out.pairs.push_back(like_for_like(groups.front(), groups[i], i, sizing));
  }
  if (std::any_of(groups.begin(), groups.end(), [](auto& g) { return g.kind == Kind::mixture; }))
    out.best = best_against_best(groups, sizing);
  out.ranking = ranking_of(out);
  out.notes = notes_of(out, sizing);
  out.doubts = doubts_of(groups);
  return out;
}

}  // namespace orch::compare
