#include <cmath>

#include "core/record/quantities.h"
#include "core/show/tables/json.h"
#include "core/show/tables/status.h"

namespace orch::tables {
namespace {

// JSON has no word for what is not a number.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }
Json known(double value) { return value > 0 ? number(value) : Json(); }

// Every quantity, null where it is not known; a range where it has one.
void put(const record::Quantity& quantity, const record::Quantity::Value& value, Json& to) {
  to[std::string(quantity.name)] = value ? number(value->value) : Json();
  if (quantity.range.empty() || !value || !value->has_limits()) return;
  to[std::string(quantity.range) + "_low"] = number(*value->low);
  to[std::string(quantity.range) + "_high"] = number(*value->high);
}

Json estimate(const RunStatus& run) {
  Json out{{"fit", run.record.estimated ? plan::name(run.record.estimated->fit) : ""}};
  for (const auto& quantity : record::quantities())
    if (quantity.estimated) put(quantity, record::estimated(quantity, run.record), out);
  return out;
}

Json measured(const RunStatus& run) {
  const auto& measured = run.record.measured;
  if (measured.steps <= 0) return Json();
  const auto stated = [&](const char* name) {
    const auto held = measured.stated.find(name);
    return held != measured.stated.end() ? number(held->second) : Json();
  };
  Json out{{"step", measured.steps},
           {"loss", measured.last_loss ? number(*measured.last_loss) : Json()},
           {"gradient_norm", stated("gradient_norm")},
           {"learning_rate", stated("learning_rate")}};
  for (const auto& quantity : record::quantities())
    if (!quantity.planned) put(quantity, record::measured(quantity, run.record), out);
  return out;
}

}  // namespace

void add_status(const RunStatus& run, Json& json) {
  const auto& record = run.record;
  json["state"] = name(record.state);
  json["failure"] = name(record.failure);
  json["reason"] = record.reason;
  json["due"] = run.due;
  json["job"] = run.job;
  json["submissions"] = run.submissions;
  json["elapsed_seconds"] = number(run.elapsed_seconds);
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
                                          {"id", run.record.id},
                                          {"strategy", run.record.field_text("strategy")},
                                          {"cluster", run.record.field_text("cluster")},
                                          {"gpus", run.gpus()},
                                          {"nodes", run.record.whole("nodes").value_or(0)},
                                          {"steps", run.record.measured.steps_planned},
                                          {"estimate", estimate(run)}});
      add_status(run, json);
    }
  }
  const Json out = {
      {"version", 1}, {"experiments", std::move(experiments)}, {"runs", std::move(runs)}};
  return dump(out);
}

}  // namespace orch::tables
