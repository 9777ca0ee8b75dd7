#include "core/record/published/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/record/statistics/interval.h"

namespace orch::published {
namespace {

using statistics::mean, statistics::ranks;
using JudgedRows = std::vector<const JudgedSample*>;

constexpr double kShrink = 0.3;
const std::string kApart = " (unexplained)", kAssumed = " (sizes assumed)";

// A suffix for the names of samples that are scored separately.
const std::string& mark_of(const PublishedSample& sample, const std::set<std::string>& apart) {
  static const std::string kNone;
  if (apart.contains(sample.id)) return kApart;
  return sample.assumed_sizes ? kAssumed : kNone;
}

void score_time(const JudgedRows& rows, GroupScore& score) {
  std::vector<double> signed_errors, errors, measured, predicted;
  std::size_t inside = 0;
  for (const auto* row : rows) {
    if (!row->has_time()) continue;
    const double seconds = *row->sample->step_seconds;
    signed_errors.push_back(row->error());
    errors.push_back(std::abs(row->error()));
    measured.push_back(seconds);
    predicted.push_back(row->prediction.step_seconds);
    inside += seconds >= row->prediction.step_low && seconds <= row->prediction.step_high;
  }
  score.n = errors.size();
  if (errors.empty()) return;
  score.mape = mean(errors);
  score.median = statistics::quantile(errors, 0.5);
  score.p90 = statistics::quantile(errors, 0.9);
  score.bias = mean(signed_errors);
  score.coverage90 = 100 * static_cast<double>(inside) / static_cast<double>(score.n);
  score.spearman = spearman(measured, predicted);
  score.regret = regret(rows);
}

void score_memory(const JudgedRows& rows, GroupScore& score) {
  std::vector<double> errors;
  for (const auto* row : rows) {
    const bool predicted = row->prediction.fit == plan::MemoryFit::oom;
    if (row->sample->oom)
      ++(predicted ? score.oom_hit : score.oom_miss);
    else if (row->sample->status != "hang" && predicted)
      ++score.oom_false_alarm;
    if (row->sample->memory_bytes) errors.push_back(std::abs(row->memory_error()));
  }
  score.memory_n = errors.size();
  if (!errors.empty()) score.memory_mape = mean(errors);
}

// One choice: a configuration with its measurements.
struct LayoutChoice {
  double predicted = 0;  // seconds per FLOP
  bool fits = true;
  std::vector<double> measured;  // seconds per FLOP
};

double regret_of(const JudgedRows& rows) {
  std::map<double, LayoutChoice> choices;
  for (const auto* row : rows) {
    const double work = work_of(*row);
    auto& choice = choices[row->prediction.step_seconds / work];
    choice.predicted = row->prediction.step_seconds / work;
    choice.fits = row->prediction.fit != plan::MemoryFit::oom;
    choice.measured.push_back(*row->sample->step_seconds / work);
  }
  const LayoutChoice* pick = nullptr;
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [predicted, choice] : choices) {  // ordered by prediction, the fastest first
    if (!pick || (!pick->fits && choice.fits)) pick = &choice;
    best = std::min(best, mean(choice.measured));
  }
  return 100 * (mean(pick->measured) / best - 1);
}

// Cuts rows into sets in which a value varies by no more than a given share of its smallest.
template <class Value>
std::vector<JudgedRows> cut_by(JudgedRows rows, Value value, double share) {
  std::stable_sort(rows.begin(), rows.end(), [&](const JudgedSample* a, const JudgedSample* b) {
    return value(a) < value(b);
  });
  std::vector<JudgedRows> sets;
  for (const auto* row : rows) {
    if (sets.empty() || value(row) > (1 + share) * value(sets.back().front())) sets.emplace_back();
    sets.back().push_back(row);
  }
  return sets;
}

// The scores of a source that are averages over its tables; others are computed over all its rows.
void average_tables(const std::vector<GroupScore>& tables, GroupScore& source) {
  double weighted = 0, weights = 0;
  std::vector<double> regrets;
  for (const auto& table : tables) {
    if (table.spearman) {
      const auto weight = static_cast<double>(table.n - 1);
      weighted += weight * *table.spearman;
      weights += weight;
    }
    if (table.regret) regrets.push_back(*table.regret);
  }
  source.spearman = weights > 0 ? std::optional(weighted / weights) : std::nullopt;
  source.regret = regrets.empty() ? std::nullopt : std::optional(mean(regrets));
}

}  // namespace

double JudgedSample::error() const {
  return 100 * (prediction.step_seconds / *sample->step_seconds - 1);
}

double JudgedSample::memory_bytes() const { return prediction.memory_of(sample->memory_of); }

double JudgedSample::memory_error() const {
  return 100 * (memory_bytes() / *sample->memory_bytes - 1);
}

Result<std::vector<JudgedSample>> judge(const std::vector<PublishedSample>& samples,
                                        const Predict& predict) {
  std::vector<JudgedSample> judged;
  judged.reserve(samples.size());
  for (const auto& sample : samples) {
    const auto prediction = predict(sample);
    if (!prediction) return prediction.error();
    judged.push_back({&sample, *prediction});
  }
  return judged;
}

void calibrate_on_first(std::vector<JudgedSample>& judged) {
  std::map<std::pair<std::string, std::string>, double> factors;
  for (auto& row : judged) {
    if (!row.has_time()) continue;
    const auto [place, first] = factors.try_emplace(
        {row.sample->source, row.sample->table},
        std::pow(*row.sample->step_seconds / row.prediction.step_seconds, kShrink));
    if (first) {
      row.gave_factor = true;
      continue;
    }
    row.prediction.step_seconds *= place->second;
    row.prediction.step_low *= place->second;
    row.prediction.step_high *= place->second;
  }
}

static std::optional<double> share(std::size_t part, std::size_t rest) {
  if (part + rest == 0) return std::nullopt;
  return 100 * static_cast<double>(part) / static_cast<double>(part + rest);
}

std::optional<double> GroupScore::recall() const { return share(oom_hit, oom_miss); }
std::optional<double> GroupScore::precision() const { return share(oom_hit, oom_false_alarm); }

std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return std::nullopt;  // two values have an order but no correlation
  const auto x = ranks(a), y = ranks(b);
  const double middle = (static_cast<double>(a.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - middle) * (y[i] - middle);
    xx += (x[i] - middle) * (x[i] - middle);
    yy += (y[i] - middle) * (y[i] - middle);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

double work_of(const JudgedSample& row) {
  const auto& run = row.sample->run;
  return plan::megatron_flops(run.model, static_cast<double>(run.batch.global_batch), false);
}

// A batch that is not divisible by the ranks is a few samples smaller than stated.
std::vector<JudgedRows> comparable(const JudgedRows& rows) {
  JudgedRows timed;
  for (const auto* row : rows)
    if (row->has_time()) timed.push_back(row);
  const auto gpus = [](const JudgedSample* row) {
    return static_cast<double>(row->sample->run.gpus);
  };
  const auto batch = [](const JudgedSample* row) {
    return static_cast<double>(row->sample->run.batch.global_batch);
  };
  const auto size = [](const JudgedSample* row) { return row->sample->run.model.params(); };
  std::vector<JudgedRows> sets;
  for (const auto& same_gpus : cut_by(timed, gpus, 0))
    for (const auto& same_batch : cut_by(same_gpus, batch, 0.01))
      for (auto& set : cut_by(same_batch, size, 0.15))
        if (set.size() > 1) sets.push_back(std::move(set));
  return sets;
}

std::optional<double> regret(const JudgedRows& rows) {
  std::vector<double> regrets;
  for (const auto& set : comparable(rows)) regrets.push_back(regret_of(set));
  return regrets.empty() ? std::nullopt : std::optional(mean(regrets));
}

GroupScore score_table(const JudgedRows& rows) {
  GroupScore score;
  score_time(rows, score);
  score_memory(rows, score);
  return score;
}

std::map<std::pair<std::string, std::string>, std::string> table_names(
    const std::vector<JudgedSample>& judged) {
  std::map<std::string, std::set<std::string>> sources;
  for (const auto& row : judged) sources[row.sample->table].insert(row.sample->source);
  std::map<std::pair<std::string, std::string>, std::string> names;
  for (const auto& [table, of] : sources)
    for (const auto& source : of)
      names[{source, table}] = of.size() == 1 ? table : source + "/" + table;
  return names;
}

std::string shown_source(const PublishedSample& sample, const std::set<std::string>& apart) {
  return sample.source + mark_of(sample, apart);
}

bool is_apart(const std::string& name) {
  return name.ends_with(kApart) || name.ends_with(kAssumed);
}

std::vector<std::string> Scores::beyond(const std::map<std::string, GroupScore>& scores,
                                        double percent) {
  std::vector<std::string> names;
  for (const auto& [name, score] : scores)
    if (score.mape && *score.mape > percent && !is_apart(name)) names.push_back(name);
  return names;
}

Scores score(const std::vector<JudgedSample>& judged, const std::set<std::string>& apart,
             ScoreGrouping by) {
  const auto names = table_names(judged);
  const auto part = [&](const PublishedSample& sample) {
    return by == ScoreGrouping::table
               ? names.at({sample.source, sample.table})
               : fmt::format("{} {:.3g}B", sample.source, sample.run.model.params() / 1e9);
  };
  std::map<std::string, JudgedRows> sources;
  std::map<std::string, std::map<std::string, JudgedRows>> tables;  // by source
  for (const auto& row : judged) {
    const auto& mark = mark_of(*row.sample, apart);
    const auto source = shown_source(*row.sample, apart);
    sources[source].push_back(&row);
    tables[source][part(*row.sample) + mark].push_back(&row);
  }
  Scores scores;
  for (const auto& [source, rows] : sources) {
    std::vector<GroupScore> of_tables;
    for (const auto& [table, table_rows] : tables[source]) {
      of_tables.push_back(score_table(table_rows));
      scores.by_table[table] = of_tables.back();
      scores.tables[source].push_back(table);
    }
    auto& total = scores.by_source[source] = score_table(rows);
    average_tables(of_tables, total);
  }
  return scores;
}

}  // namespace orch::published
