#include <cmath>

#include "core/show/tables/json.h"
#include "core/show/tables/validation.h"

namespace orch::tables {
namespace {

Json score_json(const published::Score& s) {
  return {{"n", s.n},
          {"mape", or_null(s.mape)},
          {"median", or_null(s.median)},
          {"p90", or_null(s.p90)},
          {"bias", or_null(s.bias)},
          {"spearman", or_null(s.spearman)},
          {"regret", or_null(s.regret)},
          {"coverage90", or_null(s.coverage90)},
          {"memory_n", s.memory_n},
          {"memory_mape", or_null(s.memory_mape)},
          {"oom_hit", s.oom_hit},
          {"oom_miss", s.oom_miss},
          {"oom_false_alarm", s.oom_false_alarm},
          {"oom_recall", or_null(s.recall())},
          {"oom_precision", or_null(s.precision())}};
}

Json scores_json(const std::map<std::string, published::Score>& scores) {
  Json json = Json::object();
  for (const auto& [name, score] : scores) json[name] = score_json(score);
  return json;
}

Json row_json(const published::Judged& row) {
  const auto& s = *row.sample;
  const auto& p = row.prediction;
  return {{"id", s.id},
          {"source", s.source},
          {"table", s.table},
          {"measured_seconds", or_null(s.step_seconds)},
          {"predicted_seconds", p.step_seconds},
          {"low", p.step_low},
          {"high", p.step_high},
          {"error", row.has_time() ? Json(row.error()) : Json()},
          {"measured_memory", or_null(s.memory_bytes)},
          {"predicted_memory", std::llround(row.memory_bytes())},
          {"fit", plan::name(p.fit)},
          {"status", s.status},
          {"assumed", s.assumed}};
}

}  // namespace

std::string validation_json(const Validation& v) {
  Json rows = Json::array(), skipped = Json::array();
  for (const auto& row : v.rows) rows.push_back(row_json(row));
  for (const auto& row : v.samples.skipped)
    skipped.push_back(
        {{"id", row.id}, {"source", row.source}, {"table", row.table}, {"reason", row.reason}});
  return dump({{"version", 1},
               {"by_source", scores_json(v.scores.by_source)},
               {"by_table", scores_json(v.scores.by_table)},
               {"rows", std::move(rows)},
               {"skipped", std::move(skipped)}});
}

}  // namespace orch::tables
