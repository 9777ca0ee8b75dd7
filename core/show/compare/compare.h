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

// Compares groups of records: what differs, what of it can explain the result, and the result, as
// numbers and judgements. Sentences about them are made in show/findings.
namespace orch::compare {

// Repeats: all fields of the records agree. A mixture is compared by its median, and says so.
enum class GroupKind { one, repeats, mixture };
std::string_view name(GroupKind kind);

// Repeats of one run, or a selection. The records outlive the comparison's making only.
struct Cohort {
  std::string name;
  std::vector<const record::Record*> records;
  GroupKind kind = GroupKind::one;  // found by compare()

  bool any(bool (*what)(const record::Record&)) const;
  bool all(bool (*what)(const record::Record&)) const;
};

struct CompareOptions {
  bool same_size = false;  // times of other models as if they had the FLOPs of the first group's
};

enum class EndKind { ran, time_limit, lost_loss, failed, not_run };

// How records of a group ended.
struct GroupEnding {
  EndKind fate = EndKind::not_run;
  record::Failure failure = record::Failure::none;
  std::string nan;  // "NaN in 50 of 100 steps, from step 51 on"
  std::size_t records = 0;
};

// A group as it was taken.
struct GroupSummary {
  std::string name;
  std::vector<std::string> ids;
  GroupKind kind = GroupKind::one;
  std::vector<GroupEnding> endings;  // each once
  std::vector<std::string> varies;   // fields in which the records of a mixture differ
  bool measured = false, estimated = false;
  std::string not_estimated;              // why there is no estimate
  std::size_t left_out = 0;               // records that are estimated not to fit and were not run
  std::size_t copies = 0;                 // records that are in it twice: counted once
  bool lost = false;                      // the loss of all records became NaN: not ranked
  std::optional<double> tokens_per_step;  // where all records have the same
  std::set<std::string> memory_from;      // how the peak memory was measured
};

// other: of a quantity that no difference is held to explain.
enum class Aspect { speed, memory, loss, other };
inline constexpr Aspect kAspects[] = {Aspect::speed, Aspect::memory, Aspect::loss};
std::string_view name(Aspect aspect);

// Whether a field can change it.
bool is_on(plan::FieldEffect effect, Aspect aspect);

// What the records of a group say of a field.
struct FieldValues {
  std::vector<std::string> values;  // each once, in their order; empty: not said
  bool partly = false;              // some of the records do not say it
  bool assumed = false;             // nobody said so: a habit
};

// How a group's field stands to the first group's. One-sided: only one of the two says it, or says
// it of all its records, so nobody knows whether it differs.
enum class FieldAgreement { same, differs, one_sided, unsaid };
std::string_view name(FieldAgreement standing);

// A field that is not the same in all groups.
struct Difference {
  std::string field;
  bool circumstance = false;                      // date, commit, nodes: not a setting
  bool argument = false;                          // of a program: orch has no name for it
  plan::FieldEffect effect;                       // what it can change
  std::vector<FieldValues> said;                  // by group
  std::vector<FieldAgreement> standings;          // of each group to the first one
  std::vector<std::vector<std::string>> follows;  // by group: the fields that it follows from
                                                  // there; none: it is independent
};

// The fields that can explain what an aspect of the result shows.
struct Explanation {
  Aspect aspect = Aspect::speed;
  std::vector<std::string> causes;         // independent settings, those that orch knows first
  std::vector<std::string> circumstances;  // date, commit, ...
  std::vector<std::string> unsaid;         // settings that only one of the two says
};

using record::Better;
std::string_view name(Better better);

// A metric of a group.
struct ComparedAmount {
  std::optional<statistics::Interval> measured;   // 95 %
  std::optional<double> lowest, highest;          // of a mixture
  std::size_t runs = 0;                           // records that have it
  std::optional<statistics::Interval> estimated;  // the limits are its 90 % range
  std::vector<std::string> doubtful;              // ids of records whose doubts touch it

  const std::optional<statistics::Interval>& of(bool estimate) const {
    return estimate ? estimated : measured;
  }
};

struct Metric {
  std::string name;        // days_per_100b_tokens
  std::string title;       // "days per 100B tokens"
  std::string convention;  // of TFLOPs: one metric for each, so that they never mix
  Better better = Better::lower;
  Aspect aspect = Aspect::speed;
  std::vector<ComparedAmount> values;  // by group
};

// Unclear: there is a difference in what was measured, and no reason to believe in it.
enum class PairVerdict { better, worse, no_difference, unclear, not_comparable, missing };
std::string_view name(PairVerdict verdict);

// What a verdict rests on, where it is not the interval alone.
enum class VerdictReason {
  none,
  // What the values are.
  single_values,     // of both
  one_single_value,  // of one of the two
  medians,           // of a mixture
  ranges_overlap,    // of mixtures
  few_runs,          // repeats differ by as much
  repeats,           // both are repeats of one run: it is noise
  // Why they do not compare.
  other_models,
  other_tokens,  // per step
  unknown_tokens,
  other_memory,  // measured in another way
  unsaid_convention,
  one_convention,  // only one of the two has TFLOPs by it
  // Why there is nothing to compare.
  neither,
  only_one,
  one_estimated,  // measured in one and only estimated in the other
};
std::string_view name(VerdictReason reason);

// A metric of a group against the first one's. Ratios above 1 are in the group's favour.
struct Judgement {
  PairVerdict verdict = PairVerdict::missing;
  VerdictReason reason = VerdictReason::none;
  bool estimated = false;             // it is the estimates that are compared
  std::vector<std::string> doubtful;  // ids of records that it rests on, whose doubts touch it
  std::optional<statistics::Interval> ratio;
  std::optional<statistics::Interval> predicted;  // by the estimates of both
  // True: the ratio lies in the predicted range, on the predicted side, and both values lie in
  // their own. False: it lies outside. Else nothing follows: a wide range holds anything.
  std::optional<bool> as_predicted;

  bool is_decided() const {
    return verdict == PairVerdict::better || verdict == PairVerdict::worse;
  }
};

// Why two groups are no equals though their numbers compare.
enum class Inequality { models, sequences, vocabularies, gpus, recomputation };

// What two groups have in common. A part: the log of one is a part of the other's.
enum class SharedRecords { nothing, some, record, records, copy, part };

// Which of two groups ran. Missing: there is nothing to say.
struct GroupOutcome {
  PairVerdict verdict = PairVerdict::missing;
  bool by_chance = false;  // the failure may come from the machine
};

// A group against the first one.
struct GroupComparison {
  std::size_t group = 1;
  SharedRecords shared = SharedRecords::nothing;
  std::size_t shared_records = 0;
  bool repeats = false;  // both are repeats of one run
  std::vector<Inequality> unequal;
  std::vector<Judgement> judgements;  // in the order of the metrics
  GroupOutcome outcome;
  std::vector<Explanation> explanations;  // of each aspect
  Losses losses;
  PairVerdict loss_verdict = PairVerdict::missing;

  bool itself() const { return shared > SharedRecords::some; }
};

// Two records, one of the first group and one of another, by one metric.
struct PairComparison {
  std::string base_id, id;
  std::string metric, title;  // days_per_100b_tokens; GPU-hours where GPU counts differ
  ComparedAmount base, value;
  Judgement judgement;
};

// The fastest record of a group against the first group's fastest, where a group is a mixture.
struct BestComparison : PairComparison {
  std::size_t group = 1;
  std::string base_gpus, gpus;                  // where they differ
  std::optional<statistics::Interval> per_gpu;  // and the ratio of what one of them does
};

// Two records that agree in everything but the question.
struct MatchedPair : PairComparison {
  // What tells this pair from the others: "gpus", "8".
  std::vector<std::pair<std::string, std::string>> where;
  std::vector<Difference> differs;  // micro_batch, and what belongs to a strategy
  std::vector<std::string> unsaid;  // settings that one of the two does not say
};

// A group against the first one by their pairs.
struct PairedComparison {
  std::size_t group = 1;
  std::vector<std::string> question;  // fields in which the groups differ, each being one value
  std::vector<MatchedPair> pairs;
  bool per_gpu = false;     // GPU counts differ within a pair
  bool same_ratio = false;  // of all pairs, as if one were computed from the other
  Judgement judgement;      // missing: there are no pairs
};

// A place in the order by time to train. Groups that cannot be told apart from the first of their
// place share it; 0: not ranked.
struct RankedRecord {
  std::size_t group = 0;
  std::size_t place = 0;
  bool tie = false;
  bool estimated = false;
};

// The size that times are brought to. Without a base nothing is changed.
struct SizeNormalization {
  // How FLOPs of a model are counted: by the shape, as Narayanan et al. 2021 do, without
  // recomputation, or 6 for each parameter. Unknown: a record has neither.
  enum class FlopsBy { as_it_is, shape, params, unknown };
  FlopsBy by = FlopsBy::as_it_is;
  std::string record;          // whose size it is, or who has none
  std::optional<double> base;  // FLOPs per token of that record

  // What a record's time per token is multiplied with.
  double factor(const record::Record& of) const;
};

struct Comparison {
  std::vector<GroupSummary> groups;
  std::vector<Difference> differences;   // settings in the order of field_names(), circumstances
  std::vector<Metric> metrics;           // those that a group has
  std::vector<GroupComparison> against;  // every group but the first
  std::vector<PairedComparison> pairs;   // of every group but the first
  std::vector<BestComparison> best;      // every group but the first; none where all are repeats
  std::vector<RankedRecord> ranking;     // the best first
  SizeNormalization sizing;
  std::vector<std::pair<std::string, record::Doubt>> doubts;  // each with its record's id
};

// Two groups or more, each with a record.
Result<Comparison> compare(const std::vector<Cohort>& groups, const CompareOptions& options = {});

// A setting; null: it does not differ.
const Difference* find(const std::vector<Difference>& differences, std::string_view field);

// How a field of a group stands to the first group's: that of its difference, else the same.
FieldAgreement standing_of(const std::vector<Difference>& differences, std::string_view field,
                           std::size_t group);

// What of the models differs: sizes and names that change something.
std::vector<std::string> model_changes(const std::vector<Difference>& differences,
                                       std::size_t group);

// The settings that follow from one, in the end.
std::vector<const Difference*> followers_of(const std::vector<Difference>& differences,
                                            const std::string& cause, std::size_t group);

// With its limits, where it has some: neither faster nor slower.
bool rounds_to_one(const statistics::Interval& ratio);

// The metric that groups are ordered by; null: none of them tells time.
const Metric* headline(const Comparison& comparison);

}  // namespace orch::compare
