#include <tuple>

#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using record::Record;

bool is_misfit(const Record& record) {
  return record.estimated && record.estimated->fit == plan::MemoryFit::oom &&
         !record.has_measurement() && record.state != record::RunState::failed;
}

Cohort fitting(const Cohort& group) {
  Cohort out{group.name, {}};
  for (const auto* record : group.records)
    if (!is_misfit(*record)) out.records.push_back(record);
  return out.records.empty() ? group : out;
}

struct Candidate {
  const Record* record = nullptr;
  ComparedAmount value;
};
using Time = std::optional<statistics::Interval> ComparedAmount::*;  // measured or estimated

std::vector<Candidate> candidates(const Cohort& group, const SizeNormalization& sizing,
                                  const char* name) {
  std::vector<Candidate> out;
  for (const auto* record : group.records) {
    const auto metrics = metrics_of({{group.name, {record}}}, sizing);
    if (const auto* metric = find(metrics, name)) out.push_back({record, metric->values.front()});
  }
  return out;
}

const Record* best(const std::vector<Candidate>& all, Time time) {
  const Candidate* out = nullptr;
  const auto rank = [time](const Candidate& c) {
    return std::tuple(!c.value.doubtful.empty(), (c.value.*time)->value);
  };
  for (const auto& one : all)
    if (one.value.*time && (out == nullptr || rank(one) < rank(*out))) out = &one;
  return out == nullptr ? nullptr : out->record;
}

// The best record of each group; empty if a group has no such time.
std::vector<Cohort> bests(const std::vector<Cohort>& groups,
                          const std::vector<std::vector<Candidate>>& all, Time time) {
  std::vector<Cohort> out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto* found = best(all[i], time);
    if (found == nullptr) return {};
    out.push_back({groups[i].name, {found}});
  }
  return out;
}

// Adds the ratio per GPU if GPU counts differ, since more GPUs are faster.
void add_gpus(const std::vector<Cohort>& two, const SizeNormalization& sizing,
              BestComparison& out) {
  const auto base = two[0].records.front()->field_text("gpus"),
             other = two[1].records.front()->field_text("gpus");
  if (base == other || base.empty() || other.empty()) return;
  const auto cost = duel(two, sizing, "gpu_hours_per_1e9_tokens");
  if (!cost) return;
  out.base_gpus = base;
  out.gpus = other;
  out.per_gpu = cost->judgement.ratio;
}

std::vector<BestComparison> judged(const std::vector<Cohort>& groups,
                                   const SizeNormalization& sizing, const char* name) {
  std::vector<BestComparison> out;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const std::vector<Cohort> two{groups.front(), groups[i]};
    auto found = duel(two, sizing, name);
    if (!found) continue;
    add_gpus(two, sizing, out.emplace_back(BestComparison{std::move(*found), i, {}, {}, {}}));
  }
  return out;
}

}  // namespace

const Metric* find(const std::vector<Metric>& metrics, std::string_view name) {
  for (const auto& metric : metrics)
    if (metric.name == name) return &metric;
  return nullptr;
}

std::optional<PairComparison> duel(const std::vector<Cohort>& two, const SizeNormalization& sizing,
                                   std::string_view name) {
  const auto metrics = metrics_of(two, sizing);
  const auto* metric = find(metrics, name);
  if (metric == nullptr) return std::nullopt;
  const auto differences = differences_of(two);
  const RecordPair pair{two[0], two[1], 1, differences, sizing.base.has_value()};
  return PairComparison{two[0].records.front()->id,
                        two[1].records.front()->id,
                        metric->name,
                        metric->title,
                        metric->values[0],
                        metric->values[1],
                        judge(*metric, 1, not_comparable(*metric, pair))};
}

std::vector<Cohort> without_misfits(const std::vector<Cohort>& groups,
                                    std::vector<std::size_t>& left_out) {
  std::vector<Cohort> out;
  for (const auto& group : groups) {
    out.push_back(fitting(group));
    left_out.push_back(group.records.size() - out.back().records.size());
  }
  return out;
}

std::vector<BestComparison> best_against_best(const std::vector<Cohort>& groups,
                                              const SizeNormalization& sizing) {
  for (const auto* name : {"days_per_100b_tokens", "step_seconds"}) {
    std::vector<std::vector<Candidate>> all;
    for (const auto& group : groups) all.push_back(candidates(group, sizing, name));
    for (const Time time : {&ComparedAmount::measured, &ComparedAmount::estimated})
      if (const auto chosen = bests(groups, all, time); !chosen.empty())
        return judged(chosen, sizing, name);
  }
  return {};
}

}  // namespace orch::compare
