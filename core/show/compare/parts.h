// What the parts of a comparison give each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/show/compare/compare.h"

namespace orch::compare {

// How many FLOPs a token takes; nothing: the record does not say its size.
std::optional<double> flops_per_token(const record::Record& record, SizeNormalization::FlopsBy by);

// Whether a token of one record takes more work than a token of another.
bool work_differs(const std::vector<Cohort>& groups);

// The best way to count that all records have in common.
SizeNormalization same_size(const std::vector<Cohort>& groups);

// Fields of the groups' records that are not the same everywhere, and circumstances that are not.
// What follows from what is not said yet. What a model is called has no effect where its shape is
// said and the same.
std::vector<Difference> differences_of(const std::vector<Cohort>& groups);

// What else of their settings the programs of all groups printed, where it is not the same.
std::vector<Difference> argument_differences(const std::vector<Cohort>& groups);

// Fields in which the records of a group differ; an assumed value is a value.
std::vector<std::string> varying_fields(const Cohort& group);

// Says of every difference which others it follows from: data_parallel from gpus, tensor_parallel
// and pipeline_parallel, as far as the numbers agree with that.
void find_followers(std::vector<Difference>& differences, std::size_t groups);

// Which differences of a group to the first one can explain an aspect of the result.
Explanation explain(const std::vector<Difference>& differences, std::size_t group, Aspect aspect);

// Two groups, the first one and another, with what differs between them.
struct RecordPair {
  const Cohort& base;
  const Cohort& other;
  std::size_t group;
  const std::vector<Difference>& differences;
  bool same_size;  // times are normalised
};

// Whether a step trains on as many tokens in both, as far as anybody can know.
bool same_tokens_per_step(const RecordPair& pair);

// Why a metric of the two does not compare; none: it does.
VerdictReason not_comparable(const Metric& metric, const RecordPair& pair);

// Why the two are no equals though their numbers compare.
std::vector<Inequality> unequals(const RecordPair& pair);

// What a step is in the group, and how its memory was measured.
void describe(const Cohort& group, GroupSummary& out);

// Repeats of one configuration differ by this much: the published ones by 1 to 9 %, most of them by
// less than 5. A smaller difference between single runs shows nothing.
inline constexpr double kRepeatsDiffer = 0.05;

// A metric of a group against the first one's, as far as its values tell. Why they do not compare
// at all, where that is so.
Judgement judge(const Metric& metric, std::size_t group, VerdictReason not_comparable);

// Whether measured values (or estimated ones) cannot be told apart: the rule of judge().
bool same_within_noise(const Metric& metric, std::size_t a, std::size_t b, bool estimated);

inline constexpr std::string_view kUnsaidConvention = "convention not said";

// The metrics that a group has, measured or estimated, in every group.
std::vector<Metric> metrics_of(const std::vector<Cohort>& groups, const SizeNormalization& sizing);

// The groups without records that are estimated not to fit and were not run, where others remain: a
// median of what cannot run tells nothing. How many each has lost is in left_out, by group.
std::vector<Cohort> without_misfits(const std::vector<Cohort>& groups,
                                    std::vector<std::size_t>& left_out);

const Metric* find(const std::vector<Metric>& metrics, std::string_view name);

// Two groups of one record each by a metric; nothing where neither has it.
std::optional<PairComparison> duel(const std::vector<Cohort>& two, const SizeNormalization& sizing,
                                   std::string_view metric);

// The fastest record of each group against the first group's, for every group but that; nothing
// where a group has no time. Those that are doubtful are taken only where there is no other.
std::vector<BestComparison> best_against_best(const std::vector<Cohort>& groups,
                                              const SizeNormalization& sizing);

// The ratio over pairs: the geometric mean, with Student's t on the logarithms. Never narrower than
// what repeats of one configuration differ by: pairs that agree by chance, or because one was
// computed from the other, know no more than that. One pair has no limits; all are positive.
statistics::Interval paired_interval(const std::vector<double>& ratios);

// The pairs of a group with the first one; none where neither of the two is a mixture, as then the
// groups are the pair. A record is in one pair at most. Pairs of measurements go before pairs of
// estimates and are never mixed with them.
PairedComparison like_for_like(const Cohort& base, const Cohort& other, std::size_t group,
                               const SizeNormalization& sizing);

// Two records of one thing: one row or run, or a log beside a copy or a part of it.
SharedRecords shared(const record::Record& a, const record::Record& b);

// What is the same thing twice, once.
Cohort without_copies(const Cohort& group);

// The groups by time to train, the best first: by what was measured where two groups or more have
// it, else by estimates. Those without come last and have no place.
std::vector<RankedRecord> ranking_of(const Comparison& comparison);

}  // namespace orch::compare
