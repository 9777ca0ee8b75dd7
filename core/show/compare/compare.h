#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/record/record.h"
#include "core/record/statistics/interval.h"
#include "core/show/compare/losses.h"

// Compares groups of records: what differs, what of it can explain the result, and the result.
// Everything here is plain data; texts of records in it may be hostile until sections(), json() and
// csv() have made them harmless.
namespace orch::compare {

// Repeats: all fields of the records agree. A mixture is compared by its median, and says so.
enum class Kind { one, repeats, mixture };
std::string_view name(Kind kind);

// Repeats of one run, or a selection. The records outlive the comparison's making only.
struct Cohort {
  std::string name;
  std::vector<const record::Record*> records;
  Kind kind = Kind::one;  // found by compare()

  bool any(bool (*what)(const record::Record&)) const;
  bool all(bool (*what)(const record::Record&)) const;
};

struct Options {
  bool same_size = false;  // times of other models as if they had the FLOPs of the first group's
  bool letters = false;    // groups whose names are long are called A, B, ... in all texts
};

// A group as it was taken.
struct Taken {
  std::string name;   // in texts: its own, or a letter
  std::string title;  // as it was asked for
  std::vector<std::string> ids;
  Kind kind = Kind::one;
  std::string outcome;               // "ran", "2 of 3 ran, 1 ran out of GPU memory"
  std::vector<std::string> varies;   // fields in which the records of a mixture differ
  std::vector<std::string> nothing;  // why there is no estimate, or neither a measurement nor one
  std::size_t left_out = 0;          // records that are estimated not to fit and were not run
  std::size_t copies = 0;            // records that are in it twice: counted once
  bool lost = false;                 // the loss of all records became NaN: not ranked
};

// other: of a quantity that no difference is held to explain.
enum class Aspect { speed, memory, loss, other };
inline constexpr Aspect kAspects[] = {Aspect::speed, Aspect::memory, Aspect::loss};
std::string_view name(Aspect aspect);

// Whether a field can change it.
bool is_on(plan::Changes effect, Aspect aspect);

// What the records of a group say of a field.
struct Said {
  std::vector<std::string> values;  // each once, in their order; empty: not said
  bool partly = false;              // some of the records do not say it
  bool assumed = false;             // nobody said so: a habit
};

// How a group's field stands to the first group's. One-sided: only one of the two says it, or says
// it of all its records, so nobody knows whether it differs.
enum class Standing { same, differs, one_sided, unsaid };
std::string_view name(Standing standing);

// A field that is not the same in all groups.
struct Difference {
  std::string field;
  bool circumstance = false;                      // date, commit, nodes: not a setting
  plan::Changes effect;                           // what it can change
  std::vector<Said> said;                         // by group
  std::vector<Standing> standings;                // of each group to the first one
  std::vector<std::vector<std::string>> follows;  // by group: the fields that it follows from
                                                  // there; none: it is independent
};

// Which differences can explain what an aspect of the result shows.
struct Explanation {
  Aspect aspect = Aspect::speed;
  std::vector<std::string> causes;         // independent settings
  std::vector<std::string> circumstances;  // date, commit, ...
  std::vector<std::string> unsaid;         // settings that only one of the two says
  std::string text;
};

using record::Better;
std::string_view name(Better better);

// A metric of a group.
struct Value {
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
  std::vector<Value> values;  // by group
};

// Unclear: there is a difference in what was measured, and no reason to believe in it.
enum class Verdict { better, worse, no_difference, unclear, not_comparable, missing };
std::string_view name(Verdict verdict);

// A metric of a group against the first one's. Ratios above 1 are in the group's favour.
struct Judgement {
  Verdict verdict = Verdict::missing;
  bool estimated = false;  // it is the estimates that are compared
  bool doubtful = false;
  std::optional<statistics::Interval> ratio;
  std::optional<statistics::Interval> predicted;  // by the estimates of both
  // True: the ratio lies in the predicted range, on the predicted side, and both values lie in
  // their own. False: it lies outside. Else nothing follows: a wide range holds anything.
  std::optional<bool> as_predicted;
  std::string text;  // "1.36x faster (1.33 to 1.39)"
};

// A group against the first one.
struct Against {
  std::size_t group = 1;
  bool itself = false;                // both are the same records
  std::vector<std::string> warnings;  // why the two are no equals
  std::vector<Judgement> judgements;  // in the order of the metrics
  Judgement outcome;                  // "A ran out of GPU memory, B ran"
  std::vector<Explanation> explanations;
  Losses losses;
  Verdict loss_verdict = Verdict::missing;
};

// Two records, one of the first group and one of another, by one metric.
struct Duel {
  std::string base_id, id;
  std::string metric, title;  // days_per_100b_tokens; GPU-hours where GPU counts differ
  Value base, value;
  Judgement judgement;
};

// The fastest record of a group against the first group's fastest, where a group is a mixture.
struct BestAgainst : Duel {
  std::size_t group = 1;
};

// Two records that agree in everything but the question.
struct Twins : Duel {
  std::string where;                 // what tells this pair from the others: "8 GPUs"
  std::vector<std::string> differs;  // "micro_batch 2 → 1", and what belongs to a strategy
  std::vector<std::string> unsaid;   // settings that one of the two does not say
};

// A group against the first one by their pairs.
struct LikeForLike {
  std::size_t group = 1;
  std::vector<std::string> question;  // fields in which the groups differ, each being one value
  std::vector<Twins> pairs;
  bool per_gpu = false;  // GPU counts differ within a pair
  Judgement judgement;   // missing: there are no pairs
  std::vector<std::string> weaknesses;
};

// A place in the order by time to train. Groups that cannot be told apart from the first of their
// place share it; 0: not ranked.
struct Rank {
  std::size_t group = 0;
  std::size_t place = 0;
  bool tie = false;
  bool estimated = false;
};

struct Comparison {
  std::vector<Taken> groups;
  std::vector<Difference> differences;  // settings in the order of field_names(), circumstances
  std::vector<Metric> metrics;          // those that a group has
  std::vector<Against> against;         // every group but the first
  std::vector<LikeForLike> pairs;       // of every group but the first
  std::vector<BestAgainst> best;        // every group but the first; none where all are repeats
  std::vector<Rank> ranking;            // the best first
  std::vector<std::string> notes;       // on all of it: normalisation, mixtures, single runs
  std::vector<std::string> doubts;      // "b7b-0020: days_per_100b_tokens is doubtful: ..."
};

// Two groups or more, each with a record.
Result<Comparison> compare(const std::vector<Cohort>& groups, const Options& options = {});

// A part of the comparison for people: a table whose first row is its head (or none), and sentences
// to it. All texts are printable.
struct Section {
  std::string title;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> sentences;
};
// Narrow: estimates stand below what was measured, not beside it.
std::vector<Section> sections(const Comparison& comparison, bool narrow = false);

std::string json(const Comparison& comparison);
std::string csv(const Comparison& comparison);  // a line for each metric and group

}  // namespace orch::compare
