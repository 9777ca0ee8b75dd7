#include <cmath>

#include "core/show/tables/json.h"
#include "core/show/tables/status.h"

namespace orch::tables {
namespace {

// JSON has no word for what is not a number.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }
Json known(double value) { return value > 0 ? number(value) : Json(); }

Json estimate(const record::RunFacts& facts) {
  return {{"fit", facts.fit},
          {"step_seconds", number(facts.step_seconds)},
          {"step_low", number(facts.step_low)},
          {"step_high", number(facts.step_high)},
          {"tokens_per_second", number(facts.tokens_per_second)},
          {"days_per_100b_tokens", number(facts.days_per_100b_tokens)},
          {"peak_memory_bytes", number(facts.peak_memory)},
          {"communicated_bytes", number(facts.communicated_bytes)},
          {"bubble", number(facts.bubble)},
          {"gpu_hours", number(facts.gpu_hours)}};
}

Json measured(const RunStatus& run) {
  const auto& progress = run.outcome.progress;
  if (!progress) return Json();
  const auto maybe = [](const std::optional<double>& held) {
    return held ? number(*held) : Json();
  };
  const auto rate = progress->tokens_per_second;
  return {{"step", progress->step},
          {"loss", maybe(progress->loss)},
          {"evaluation_loss", maybe(progress->evaluation_loss)},
          {"gradient_norm", maybe(progress->gradient_norm)},
          {"learning_rate", maybe(progress->learning_rate)},
          {"step_seconds", known(progress->step_seconds)},
          {"tokens_per_second", known(rate)},
          {"days_per_100b_tokens", rate > 0 ? number(1e11 / rate / 86400) : Json()},
          {"peak_memory_bytes", known(progress->peak_memory)},
          {"communicated_bytes", maybe(progress->communicated_bytes)},
          {"bubble", maybe(progress->bubble)},
          {"gpu_hours", number(run.outcome.gpu_hours)}};
}

}  // namespace

void add_status(const RunStatus& run, Json& json) {
  const auto& verdict = run.outcome.verdict;
  json["state"] = name(verdict.state);
  json["failure"] = name(verdict.failure);
  json["reason"] = verdict.reason;
  json["due"] = run.due;
  json["job"] = run.job;
  json["submissions"] = run.submissions;
  json["elapsed_seconds"] = number(run.outcome.elapsed_seconds);
  json["measured"] = measured(run);
}

std::string status_json(const std::vector<Standings>& all) {
  Json experiments = Json::array(), runs = Json::array();
  for (const auto& standings : all) {
    experiments.push_back({{"name", standings.experiment},
                           {"gpu_hours",
                            {{"used", number(standings.used_gpu_hours)},
                             {"committed", number(standings.committed_gpu_hours)},
                             {"budget", known(standings.budget_gpu_hours)}}},
                           {"scheduler_silent_seconds", known(standings.silent_seconds)}});
    for (const auto& run : standings.runs) {
      auto& json = runs.emplace_back(Json{{"experiment", standings.experiment},
                                          {"id", run.facts.id},
                                          {"strategy", run.facts.strategy},
                                          {"cluster", run.facts.cluster},
                                          {"gpus", run.facts.gpus},
                                          {"nodes", run.facts.nodes},
                                          {"steps", run.facts.steps},
                                          {"estimate", estimate(run.facts)}});
      add_status(run, json);
    }
  }
  const Json out = {
      {"version", 1}, {"experiments", std::move(experiments)}, {"runs", std::move(runs)}};
  return dump(out);
}

}  // namespace orch::tables
