#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/record/record.h"
#include "core/record/statistics/interval.h"
#include "core/show/compare/losses.h"

// Compares groups of records: which settings differ, which of these differences can explain the
// result, and the result itself, as numbers and judgements. show/findings turns them into
// sentences.
namespace orch::compare {

// repeats: all fields of the records agree. mixture: they do not; the median is compared.
enum class GroupKind { one, repeats, mixture };
std::string_view name(GroupKind kind);

// A group of records: repeats of one run, or a selection. compare() does not keep the pointers.
struct Cohort {
  std::string name;
  std::vector<const record::Record*> records;
  GroupKind kind = GroupKind::one;  // set by compare()

  bool any(bool (*what)(const record::Record&)) const;
  bool all(bool (*what)(const record::Record&)) const;
};

struct CompareOptions {
  bool same_size = false;  // scale times to the FLOPs of the first group's model
};

enum class EndKind { ran, time_limit, lost_loss, failed, not_run };

// One way in which records of a group ended, and how many did.
struct GroupEnding {
  EndKind fate = EndKind::not_run;
  record::Failure failure = record::Failure::none;
  std::string nan;  // "NaN in 50 of 100 steps, from step 51 on"
  std::size_t records = 0;
};

// A group as compare() uses it, without misfits and copies.
struct GroupSummary {
  std::string name;
  std::vector<std::string> ids;
  GroupKind kind = GroupKind::one;
  std::vector<GroupEnding> endings;  // without duplicates
  std::vector<std::string> varies;   // fields in which the records differ
  bool measured = false, estimated = false;
  std::string not_estimated;              // the reason why there is no estimate
  std::size_t left_out = 0;               // records estimated not to fit, and not run
  std::size_t copies = 0;                 // duplicate records, which count once
  bool lost = false;                      // the loss of all records became NaN: not ranked
  std::optional<double> tokens_per_step;  // if equal in all records
  std::set<std::string> memory_from;      // how peak memory was measured
};

// What a metric measures. other: a quantity whose differences are not explained.
enum class Aspect { speed, memory, loss, other };
inline constexpr Aspect kAspects[] = {Aspect::speed, Aspect::memory, Aspect::loss};
std::string_view name(Aspect aspect);

// True if a field with this effect can change the aspect.
bool is_on(plan::FieldEffect effect, Aspect aspect);

// The values of a field in the records of a group.
struct FieldValues {
  std::vector<std::string> values;  // distinct, in order of appearance; empty: not set
  bool partly = false;              // some of the records have no value
  bool assumed = false;             // a value is not stated, but a habit of the framework or source
};

// How a group's field compares with the first group's. one_sided: only one of the two groups has a
// value, or only one has it in all records, so it is unknown whether they differ. unsaid: neither
// group has a value.
enum class FieldAgreement { same, differs, one_sided, unsaid };
std::string_view name(FieldAgreement standing);

// A field that is not the same in all groups.
struct Difference {
  std::string field;
  bool circumstance = false;                      // not a setting: date, commit, nodes
  bool argument = false;                          // a program's argument that orch has no field for
  plan::FieldEffect effect;                       // what it can change
  std::vector<FieldValues> said;                  // by group
  std::vector<FieldAgreement> standings;          // by group, against the first one
  std::vector<std::vector<std::string>> follows;  // by group: its causes; empty: independent
};

// The differing fields that can explain an aspect of the result.
struct Explanation {
  Aspect aspect = Aspect::speed;
  std::vector<std::string> causes;         // independent settings: orch's fields, then arguments
  std::vector<std::string> circumstances;  // date, commit, ...
  std::vector<std::string> unsaid;         // settings that only one of the two groups has
};

using record::Better;
std::string_view name(Better better);

// A group's value of a metric.
struct ComparedAmount {
  std::optional<statistics::Interval> measured;   // with its 95 % interval
  std::optional<double> lowest, highest;          // only for a mixture
  std::size_t runs = 0;                           // records with a measured value
  std::optional<statistics::Interval> estimated;  // with its 90 % range
  std::vector<std::string> doubtful;              // ids of records with a doubt about this metric

  const std::optional<statistics::Interval>& of(bool estimate) const {
    return estimate ? estimated : measured;
  }
};

struct Metric {
  std::string name;        // days_per_100b_tokens
  std::string title;       // "days per 100B tokens"
  std::string convention;  // of TFLOPs: each is a metric of its own
  Better better = Better::lower;
  Aspect aspect = Aspect::speed;
  std::vector<ComparedAmount> values;  // by group
};

// unclear: the values differ, but the difference may be noise.
enum class PairVerdict { better, worse, no_difference, unclear, not_comparable, missing };
std::string_view name(PairVerdict verdict);

// The basis of a verdict, if it is not the interval alone.
enum class VerdictReason {
  none,
  // The kind of values that are compared.
  single_values,     // neither value has an interval
  one_single_value,  // one of the values has no interval
  medians,           // a group is a mixture
  ranges_overlap,    // a group is a mixture, and the ranges overlap
  few_runs,          // repeats can differ by this much
  repeats,           // both groups repeat one run: the difference is noise
  // Why the values are not comparable.
  other_models,
  other_tokens,  // tokens per step differ
  unknown_tokens,
  other_memory,  // measured in different ways
  unsaid_convention,
  one_convention,  // only one of the groups has TFLOPs by this convention
  // Why a value is missing.
  neither,
  only_one,
  one_estimated,  // measured in one group, only estimated in the other
};
std::string_view name(VerdictReason reason);

// A group's metric against the first group's. A ratio above 1 means that the group is better.
struct Judgement {
  PairVerdict verdict = PairVerdict::missing;
  VerdictReason reason = VerdictReason::none;
  bool estimated = false;             // the verdict compares estimates
  std::vector<std::string> doubtful;  // ids of used records with a doubt about the metric
  std::optional<statistics::Interval> ratio;
  std::optional<statistics::Interval> predicted;  // ratio of the estimates
  // True if the ratio is in the predicted range and on the predicted side of 1, and both values are
  // in their own estimated ranges. False if the ratio is outside the predicted range. Empty
  // otherwise: to lie within a wide range confirms nothing.
  std::optional<bool> as_predicted;

  bool is_decided() const {
    return verdict == PairVerdict::better || verdict == PairVerdict::worse;
  }
};

// A reason why two groups are not equivalent although their numbers are comparable.
enum class Inequality { models, sequences, vocabularies, gpus, recomputation };

// The records that two groups share. part: the log of one is a part of the other's log.
enum class SharedRecords { nothing, some, record, records, copy, part };

// Which of two groups ran without failure. missing: none failed, or the other never ran.
struct GroupOutcome {
  PairVerdict verdict = PairVerdict::missing;
  bool by_chance = false;  // the machine may have caused the failure
};

// A group compared with the first one.
struct GroupComparison {
  std::size_t group = 1;
  SharedRecords shared = SharedRecords::nothing;
  std::size_t shared_records = 0;
  bool repeats = false;  // both groups are repeats of one run
  std::vector<Inequality> unequal;
  std::vector<Judgement> judgements;  // in the order of Comparison::metrics
  GroupOutcome outcome;
  std::vector<Explanation> explanations;  // one for each of kAspects
  Losses losses;
  PairVerdict loss_verdict = PairVerdict::missing;

  bool itself() const { return shared > SharedRecords::some; }
};

// A record of the first group and a record of another group, compared by one metric.
struct PairComparison {
  std::string base_id, id;
  std::string metric, title;  // e.g. days_per_100b_tokens, or GPU-hours if GPU counts differ
  ComparedAmount base, value;
  Judgement judgement;
};

// The fastest record of a group against the fastest of the first group.
struct BestComparison : PairComparison {
  std::size_t group = 1;
  std::string base_gpus, gpus;                  // set if they differ
  std::optional<statistics::Interval> per_gpu;  // then also the ratio of the speeds per GPU
};

// Two records that differ only in the fields of the question (PairedComparison).
struct MatchedPair : PairComparison {
  // Fields and values that identify this pair among the others: "gpus", "8".
  std::vector<std::pair<std::string, std::string>> where;
  std::vector<Difference> differs;  // micro_batch and the strategy's own settings
  std::vector<std::string> unsaid;  // settings that only one of the records has
};

// A group compared with the first one by pairs of their records.
struct PairedComparison {
  std::size_t group = 1;
  std::vector<std::string> question;  // fields with one value in each group, but not the same
  std::vector<MatchedPair> pairs;
  bool per_gpu = false;     // GPU counts differ within a pair
  bool same_ratio = false;  // in all pairs, as if one value were computed from the other
  Judgement judgement;      // missing if there are no pairs
};

// A group's place in the order by time to train. A group that differs from the first one at a
// place by no more than noise shares that place. 0: not ranked.
struct RankedRecord {
  std::size_t group = 0;
  std::size_t place = 0;
  bool tie = false;
  bool estimated = false;
};

// The model size that times are normalised to. Without a base, times stay as they are.
struct SizeNormalization {
  // How a model's FLOPs are counted. shape: the formula of Narayanan et al. 2021, without
  // recomputation. params: 6 per parameter. unknown: a record has neither shape nor parameters.
  enum class FlopsBy { as_it_is, shape, params, unknown };
  FlopsBy by = FlopsBy::as_it_is;
  std::string record;          // id of the record with that size; if unknown, of one without a size
  std::optional<double> base;  // FLOPs per token of that record

  // The factor that normalises a record's time per token.
  double factor(const record::Record& of) const;
};

struct Comparison {
  std::vector<GroupSummary> groups;
  std::vector<Difference> differences;   // settings, arguments, circumstances
  std::vector<Metric> metrics;           // with a value in at least one group
  std::vector<GroupComparison> against;  // one per group but the first
  std::vector<PairedComparison> pairs;   // one per group but the first
  std::vector<BestComparison> best;      // empty if no group is a mixture
  std::vector<RankedRecord> ranking;     // best first
  SizeNormalization sizing;
  std::vector<std::pair<std::string, record::Doubt>> doubts;  // each with its record's id
};

// Compares two or more groups; an error if there are fewer, or if a group has no records.
Result<Comparison> compare(const std::vector<Cohort>& groups, const CompareOptions& options = {});

// The difference of a setting or argument; null if it does not differ.
const Difference* find(const std::vector<Difference>& differences, std::string_view field);

// How a field of a group compares with the first group's; `same` if there is no difference.
FieldAgreement standing_of(const std::vector<Difference>& differences, std::string_view field,
                           std::size_t group);

// The differing fields of the model (sizes, name) that have an effect, except seq.
std::vector<std::string> model_changes(const std::vector<Difference>& differences,
                                       std::size_t group);

// The settings that follow from a cause, directly or through others.
std::vector<const Difference*> followers_of(const std::vector<Difference>& differences,
                                            const std::string& cause, std::size_t group);

// True if the ratio and its limits, if any, are printed as 1.00.
bool rounds_to_one(const statistics::Interval& ratio);

// The metric that groups are ranked by; null if fewer than two groups have a comparable time.
const Metric* headline(const Comparison& comparison);

}  // namespace orch::compare
