#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/show/tables/plan.h"

// Estimated runs made by hand.
namespace orch::tables::test {

// `days` days of training, with a range of `factor`.
inline plan::Planned planned(const std::string& strategy, double days, double factor = 1.1) {
  plan::Strategy made;
  made.name = strategy;
  auto cluster = std::make_shared<plan::Cluster>();
  cluster->name = "toy";
  cluster->partitions.emplace_back().name = "a100";
  plan::Planned out;
  out.run.id = strategy + "-1";
  out.run.strategy = std::make_shared<const plan::Strategy>(made);
  out.run.cluster = cluster;
  out.run.partition = &cluster->partitions.front();
  out.estimate.step_seconds = 1;
  out.estimate.step_low = 1 / factor;
  out.estimate.step_high = factor;
  out.estimate.days_to_train = days;
  out.estimate.gpu_hours = 24 * days;
  return out;
}

inline const std::vector<plan::RejectedRun> kNone;

inline std::string json_of(const RankedRuns& result) {
  return show::text_as("json", plan_answer(result, 0), {});
}
inline std::string csv(const RankedRuns& result) {
  return show::text_as("csv", plan_answer(result, 0), {});
}
inline std::string table(const RankedRuns& result, const show::Screen& screen, std::size_t top) {
  return show::text(runs_table(result, top), screen);
}
inline std::string answer_text(const RankedRuns& result) {
  const auto answer = plan_answer(result, 0);
  return show::text(show::Answer{"", "", {answer.sections.back()}}, {});
}
inline std::string text_of(const show::Findings& findings) {
  return show::text(show::Answer{"", "", {findings}}, {});
}

inline RankedRuns result_of(const plan::Experiment& experiment,
                            const std::vector<plan::Planned>& runs) {
  RankedRuns result;
  result.experiment = &experiment;
  result.rejected = &kNone;
  for (const auto& run : runs) result.runs.push_back(&run);
  return result;
}

}  // namespace orch::tables::test
