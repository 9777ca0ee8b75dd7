#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/show/compare/compare.h"

// The results of a comparison as sentences. All of them compare a group with the first one. Names
// and values are taken from records unchanged: the caller must make them printable.
namespace orch::findings {

using compare::Comparison;
using compare::GroupComparison;

// The name of a group in sentences: fsdp for "strategy=fsdp", a file without its folders.
std::string spoken(const Comparison& comparison, std::size_t group);

// What the first sentence compares: pairs of records that differ in nothing else, the best of mixed
// groups, or all records of both.
struct LeadSentence {
  enum class LeadKind { nothing, pairs, best, groups };
  LeadKind by = LeadKind::nothing;
  const compare::Judgement* judgement = nullptr;
  const compare::PairedComparison* pairs = nullptr;
  const compare::BestComparison* best = nullptr;
  const compare::Metric* metric = nullptr;  // points into the groups
  compare::Aspect aspect = compare::Aspect::speed;
};
LeadSentence lead_of(const Comparison& comparison, const GroupComparison& against);

// The result, with the differences in GPUs, sequence length and model.
std::string answer_text(const Comparison& comparison, const GroupComparison& against);
// Reasons to doubt the answer; empty: none.
std::string sure_text(const Comparison& comparison, const GroupComparison& against);
// Possible explanations: settings that orch knows by name, others by number.
std::string causes_text(const Comparison& comparison, const GroupComparison& against);

// Notes on the whole: sizes, mixed groups, records left out or counted once.
std::vector<std::string> notes(const Comparison& comparison);
// "b7b-0020: tflops is doubtful: 88 TFLOPs do not follow from the time".
std::vector<std::string> doubts(const Comparison& comparison);

// "2 of 3 ran, 1 of 3 ran out of GPU memory".
std::string outcome_text(const compare::GroupSummary& group);

// "2, 4", "true (assumed)", "not said".
std::string said_text(const compare::FieldValues& said);
// "zero_stage 1 → 3".
std::string change_text(const compare::Difference& difference, std::size_t group);

// "2.31 (2.3 to 2.33)", in the unit of display.
std::string interval_text(const compare::Metric& metric, const statistics::Interval& interval);
// "258 (249 to 350, range of 3)", empty if it was not measured; "?" after a doubtful value.
std::string measured_text(const compare::Metric& metric, const compare::ComparedAmount& value);

// The words for a ratio.
struct Comparative {
  std::string_view verb, better, worse, same;
};
Comparative comparative_of(const compare::Metric& metric);
// "1.36", "12.3", "375".
std::string times_text(double factor);
// "1.36x faster (1.33 to 1.39)", "1.36x slower", "as fast to within 0.5 %".
std::string ratio_text(const statistics::Interval& ratio, const Comparative& words);
// The reason of a verdict: "single values: no interval"; empty: none needed.
std::string reason_text(const Comparison& comparison, const compare::Judgement& judgement,
                        std::size_t group);
// "1.36x faster (1.33 to 1.39)", "no detectable difference: 1.02x faster", for a cell.
std::string judgement_text(const Comparison& comparison, const compare::Judgement& judgement,
                           const compare::Metric& metric, std::size_t group);

// "the losses are the same within the noise of the curves: 2.31 against 2.32 at 80B tokens".
std::string losses_text(const compare::Losses& losses);
// "80B tokens".
std::string place_text(const compare::Losses& losses, double at);
// "at step 120 the loss jumps from 2.31 to 5.02, back at step 140".
std::string spike_text(const record::Spike& spike);
// "rank 3 on n2: seconds per step 1.21, others 1".
std::string node_text(const record::OutlierNode& node);

}  // namespace orch::findings
