// What the parts of a comparison give each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/show/compare/compare.h"

namespace orch::compare {

// How model FLOPs are counted: by the shape, as Narayanan et al. 2021 do, without recomputation, or
// 6 for each parameter.
enum class Flops { shape, params };

// The size that times are brought to. Without a base nothing is changed.
struct Sizing {
  std::optional<double> base;  // FLOPs per token of the first group's first record
  Flops by = Flops::shape;
  std::string note;

  // What a record's time per token is multiplied with.
  double factor(const record::Record& record) const;
};

// The best way to count that all records have in common; the note says which, or why there is none.
Sizing same_size(const std::vector<Cohort>& groups);

// Fields of the groups' records that are not the same everywhere, and circumstances that are not.
// What follows from what is not said yet. What a model is called has no effect where its shape is
// said and the same.
std::vector<Difference> differences_of(const std::vector<Cohort>& groups);

// Fields in which the records of a group differ; an assumed value is a value.
std::vector<std::string> varying_fields(const Cohort& group);

const Difference* find(const std::vector<Difference>& differences, std::string_view field);

// How a field of a group stands to the first group's: that of its difference, else the same.
Standing standing_of(const std::vector<Difference>& differences, std::string_view field,
                     std::size_t group);

// "2, 4", "true (assumed)", "not said".
std::string said_text(const Said& said);

// "zero_stage 1 → 3".
std::string change_text(const Difference& difference, std::size_t group);

// Says of every difference which others it follows from: data_parallel from gpus, tensor_parallel
// and pipeline_parallel, as far as the numbers agree with that.
void find_followers(std::vector<Difference>& differences, std::size_t groups);

// Which differences of a group to the first one can explain an aspect of the result.
Explanation explain(const std::vector<Difference>& differences, std::size_t group, Aspect aspect);

// Two groups, the first one and another, with what differs between them.
struct Pair {
  const Cohort* base = nullptr;
  const Cohort* other = nullptr;
  std::size_t group = 1;
  const std::vector<Difference>* differences = nullptr;
  bool same_size = false;  // times are normalised
};

// Whether a step trains on as many tokens in both, as far as anybody can know.
bool same_tokens_per_step(const Pair& pair);

// Why a metric of the two does not compare; empty: it does.
std::string not_comparable(const Metric& metric, const Pair& pair);

// Why the two are no equals though their numbers compare: other models, sequences, GPUs.
std::vector<std::string> warnings_of(const Pair& pair);

// Repeats of one configuration differ by this much: the published ones by 1 to 9 %, most of them by
// less than 5. A smaller difference between single runs shows nothing.
inline constexpr double kRepeatsDiffer = 0.05;

// A metric of a group against the first one's, as far as its values tell. Why they do not compare
// at all, where that is so.
Judgement judge(const Metric& metric, std::size_t group, const std::string& not_comparable);

// "1.36x faster (1.33 to 1.39)", "1.36x slower", "as fast to within 0.5 %".
std::string speed_text(const statistics::Interval& ratio);

// Whether measured values (or estimated ones) cannot be told apart: the rule of judge().
bool same_within_noise(const Metric& metric, std::size_t a, std::size_t b, bool estimated);

inline constexpr std::string_view kUnsaidConvention = "convention not said";

// The metrics that a group has, measured or estimated, in every group.
std::vector<Metric> metrics_of(const std::vector<Cohort>& groups, const Sizing& sizing);

// The groups without records that are estimated not to fit and were not run, where others remain: a
// median of what cannot run tells nothing. How many each has lost is in left_out, by group.
std::vector<Cohort> without_misfits(const std::vector<Cohort>& groups,
                                    std::vector<std::size_t>& left_out);

const Metric* find(const std::vector<Metric>& metrics, std::string_view name);

// Two groups of one record each by a metric; nothing where neither has it.
std::optional<Duel> duel(const std::vector<Cohort>& two, const Sizing& sizing,
                         std::string_view metric);

// The fastest record of each group against the first group's, for every group but that; nothing
// where a group has no time. Those that are doubtful are taken only where there is no other.
std::vector<BestAgainst> best_against_best(const std::vector<Cohort>& groups, const Sizing& sizing);

// The ratio over pairs: the geometric mean, with Student's t on the logarithms. Never narrower than
// what repeats of one configuration differ by: pairs that agree by chance, or because one was
// computed from the other, know no more than that. One pair has no limits; all are positive.
statistics::Interval paired_interval(const std::vector<double>& ratios);

// The pairs of a group with the first one; none where neither of the two is a mixture, as then the
// groups are the pair. A record is in one pair at most. Pairs of measurements go before pairs of
// estimates and are never mixed with them.
LikeForLike like_for_like(const Cohort& base, const Cohort& other, std::size_t group,
                          const Sizing& sizing);

// What is the same row, log or run, with the same numbers, once.
Cohort without_copies(const Cohort& group);

// The groups by time to train, the best first: by what was measured where two groups or more have
// it, else by estimates. Those without come last and have no place.
std::vector<Rank> ranking_of(const Comparison& comparison);

// The metric that groups are ordered by; null: none of them tells time.
const Metric* headline(const Comparison& comparison);

// "2,312", "2.31"; with digits that are not negative, so many after the point.
std::string number_text(double value, int digits = -1);

// "2.31 (2.3 to 2.33)"; with digits, so many after the point.
std::string interval_text(const statistics::Interval& interval, int digits = -1);

// "350", "258 (249 to 350, range of 3)", "not measured"; "?" after a doubtful one.
std::string measured_text(const Metric& metric, const Value& value);
std::string estimated_text(const Metric& metric, const Value& value);

// The loss curves and their spikes, of every group against the first one.
Section loss_section(const Comparison& comparison);

// "the same within the noise of the curves, from 2B to 80B tokens".
std::string losses_text(const Losses& losses);

}  // namespace orch::compare
