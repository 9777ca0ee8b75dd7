#include <algorithm>

#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

auto count(const Metric& metric, bool estimated) {
  return std::count_if(
      metric.values.begin(), metric.values.end(),
      [&](const ComparedAmount& value) { return value.of(estimated).has_value(); });
}

double number(const Metric& metric, std::size_t group, bool estimated) {
  const double found = metric.values[group].of(estimated)->value;
  return metric.better == Better::lower ? found : -found;
}

// True if the metric is comparable between all groups; step times may not be.
bool comparable(const Comparison& comparison, std::size_t metric) {
  return std::all_of(comparison.against.begin(), comparison.against.end(),
                     [&](const GroupComparison& a) {
                       return a.judgements[metric].verdict != PairVerdict::not_comparable;
                     });
}

// Assigns places. A group shares the place of the leader before it if they are the same within
// noise.
void place(const Metric& metric, bool estimated, std::vector<RankedRecord>& ranks) {
  std::size_t leader = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].estimated = estimated;
    if (i > 0 && same_within_noise(metric, ranks[leader].group, ranks[i].group, estimated)) {
      ranks[i].tie = ranks[leader].tie = true;
    } else {
      leader = i;
    }
    ranks[i].place = leader + 1;
  }
}

}  // namespace

const Metric* headline(const Comparison& comparison) {
  for (const bool estimated : {false, true})
    for (const auto* wanted : {"days_per_100b_tokens", "step_seconds"})
      for (std::size_t i = 0; i < comparison.metrics.size(); ++i)
        if (const auto& metric = comparison.metrics[i];
            metric.name == wanted && count(metric, estimated) >= 2 && comparable(comparison, i))
          return &metric;
  return nullptr;
}

std::vector<RankedRecord> ranking_of(const Comparison& comparison) {
  const auto* metric = headline(comparison);
  if (metric == nullptr) return {};
  const bool estimated = count(*metric, false) < 2;
  std::vector<RankedRecord> ranked, others;
  for (std::size_t i = 0; i < metric->values.size(); ++i)
    (metric->values[i].of(estimated) && !comparison.groups[i].lost ? ranked : others)
        .push_back({i, 0, false, false});
  std::stable_sort(ranked.begin(), ranked.end(), [&](const RankedRecord& a, const RankedRecord& b) {
    return number(*metric, a.group, estimated) < number(*metric, b.group, estimated);
  });
  place(*metric, estimated, ranked);
  ranked.insert(ranked.end(), others.begin(), others.end());
  return ranked;
}

}  // namespace orch::compare
