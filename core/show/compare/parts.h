// Internal functions that the parts of a comparison share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/show/compare/compare.h"

namespace orch::compare {

// FLOPs per token; empty if the record does not have the size of its model.
std::optional<double> flops_per_token(const record::Record& record, SizeNormalization::FlopsBy by);

// True if FLOPs per token differ by more than 10 % between records.
bool work_differs(const std::vector<Cohort>& groups);

// Normalises to the first record by the best way of counting FLOPs that all records allow.
SizeNormalization same_size(const std::vector<Cohort>& groups);

// Fields and circumstances that are not the same in all groups; `follows` is still empty. The name
// of the model and its parameters have no effect if all records have the same shape.
std::vector<Difference> differences_of(const std::vector<Cohort>& groups);

// Differing arguments that are not fields; empty unless all groups have printed arguments.
std::vector<Difference> argument_differences(const std::vector<Cohort>& groups);

// Fields in which the records of a group differ; assumed values count like stated ones.
std::vector<std::string> varying_fields(const Cohort& group);

// Sets `follows` of each difference: data_parallel follows from gpus, tensor_parallel and
// pipeline_parallel if the numbers are consistent with that.
void find_followers(std::vector<Difference>& differences, std::size_t groups);

// The differences between a group and the first one that can explain an aspect of the result.
Explanation explain(const std::vector<Difference>& differences, std::size_t group, Aspect aspect);

// The first group and another one, with their differences.
struct RecordPair {
  const Cohort& base;
  const Cohort& other;
  std::size_t group;
  const std::vector<Difference>& differences;
  bool same_size;  // times are normalised
};

// True if a step has the same number of tokens in both groups, as far as known.
bool same_tokens_per_step(const RecordPair& pair);

// Why a metric is not comparable between the two; none if it is.
VerdictReason not_comparable(const Metric& metric, const RecordPair& pair);

// The reasons why the two are not equivalent although their numbers are comparable.
std::vector<Inequality> unequals(const RecordPair& pair);

// Sets the tokens per step and how memory was measured.
void describe(const Cohort& group, GroupSummary& out);

// Relative difference that is normal between repeats of one configuration: published repeats differ
// by 1 to 9 %, most of them by less than 5 %. A smaller difference of single runs is not
// significant.
inline constexpr double kRepeatsDiffer = 0.05;

// Judges a group's metric against the first group's. If both have values, a reason in
// not_comparable makes the verdict not_comparable.
Judgement judge(const Metric& metric, std::size_t group, VerdictReason not_comparable);

// True if the measured (or estimated) values do not differ clearly, by the rule of judge().
bool same_within_noise(const Metric& metric, std::size_t a, std::size_t b, bool estimated);

inline constexpr std::string_view kUnsaidConvention = "convention not said";

// The metrics that at least one group has, measured or estimated, with values of all groups.
std::vector<Metric> metrics_of(const std::vector<Cohort>& groups, const SizeNormalization& sizing);

// Removes records that are estimated not to fit and were not run, since a median should not include
// them; a group of only such records stays as it is. left_out is the number removed, by group.
std::vector<Cohort> without_misfits(const std::vector<Cohort>& groups,
                                    std::vector<std::size_t>& left_out);

const Metric* find(const std::vector<Metric>& metrics, std::string_view name);

// Compares two groups of one record each by a metric; empty if neither has it.
std::optional<PairComparison> duel(const std::vector<Cohort>& two, const SizeNormalization& sizing,
                                   std::string_view metric);

// The fastest record of each other group against the first group's fastest; empty if a group has no
// time. A record with doubts is used only if its group has no other.
std::vector<BestComparison> best_against_best(const std::vector<Cohort>& groups,
                                              const SizeNormalization& sizing);

// The ratio over pairs: the geometric mean, with limits by Student's t on the logarithms. The
// limits are never narrower than the variation between repeats allows, since pairs can agree by
// chance or because one value was computed from the other. One pair has no limits. All ratios are
// positive.
statistics::Interval paired_interval(const std::vector<double>& ratios);

// Pairs the records of a group with those of the first one; no pairs if neither group is a mixture,
// since the groups then are the pair. A record is in one pair at most. Pairs of estimates are used
// only if there are no pairs of measurements.
PairedComparison like_for_like(const Cohort& base, const Cohort& other, std::size_t group,
                               const SizeNormalization& sizing);

// Whether two records describe the same run: the same record, a copy, or a part of its log.
SharedRecords shared(const record::Record& a, const record::Record& b);

// The group without duplicates; a whole log replaces a part of it.
Cohort without_copies(const Cohort& group);

// The groups by time to train, best first: by measurements if two or more groups have them, else by
// estimates. Groups without a time come last and have no place.
std::vector<RankedRecord> ranking_of(const Comparison& comparison);

}  // namespace orch::compare
