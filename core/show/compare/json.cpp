#include <cmath>
#include <nlohmann/json.hpp>

#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using Json = nlohmann::ordered_json;
using statistics::Interval;

Json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json interval_json(const std::optional<Interval>& interval) {
  if (!interval) return nullptr;
  return {{"value", number(interval->value)},
          {"low", number(interval->low)},
          {"high", number(interval->high)}};
}

Json group_json(const Taken& group) {
  return {{"name", group.name},        {"records", group.ids},     {"kind", name(group.kind)},
          {"varies", group.varies},    {"outcome", group.outcome}, {"notes", group.nothing},
          {"left_out", group.left_out}};
}

Json effect_json(plan::Changes effect) {
  Json out = Json::array();
  for (const auto aspect : kAspects)
    if (is_on(effect, aspect)) out.push_back(name(aspect));
  return out;
}

Json difference_json(const Comparison& c, const Difference& difference) {
  Json values = Json::array(), against = Json::array();
  bool independent = false;
  for (std::size_t g = 0; g < c.groups.size(); ++g) {
    const auto& said = difference.said[g];
    values.push_back({{"group", c.groups[g].name},
                      {"values", said.values},
                      {"said_by_all", !said.partly},
                      {"assumed", said.assumed}});
    if (g == 0) continue;
    const bool alone =
        difference.standings[g] == Standing::differs && difference.follows[g].empty();
    independent = independent || alone;
    against.push_back({{"group", c.groups[g].name},
                       {"standing", name(difference.standings[g])},
                       {"independent", alone},
                       {"follows", difference.follows[g]}});
  }
  return {{"field", difference.field},
          {"kind", difference.circumstance ? "circumstance" : "setting"},
          {"effect", effect_json(difference.effect)},
          {"independent", independent},
          {"values", std::move(values)},
          {"against", std::move(against)}};
}

Json value_json(const std::string& group, const Value& value) {
  const auto& m = value.measured;
  Json range = nullptr;
  if (value.lowest) range = {number(value.lowest), number(value.highest)};
  return {{"group", group},
          {"value", number(m ? std::optional(m->value) : std::nullopt)},
          {"low", number(m ? m->low : std::nullopt)},
          {"high", number(m ? m->high : std::nullopt)},
          {"runs", value.runs},
          {"range", std::move(range)},
          {"estimated", interval_json(value.estimated)},
          {"doubtful", value.doubtful}};
}

Json judgement_json(const std::string& group, const Judgement& j) {
  Json out{{"group", group},
           {"ratio", number(j.ratio ? std::optional(j.ratio->value) : std::nullopt)},
           {"low", number(j.ratio ? j.ratio->low : std::nullopt)},
           {"high", number(j.ratio ? j.ratio->high : std::nullopt)},
           {"verdict", name(j.verdict)},
           {"estimated", j.estimated},
           {"doubtful", j.doubtful},
           {"predicted", interval_json(j.predicted)},
           {"as_predicted", nullptr},
           {"text", j.text}};
  if (j.as_predicted) out["as_predicted"] = *j.as_predicted;
  return out;
}

Json metric_json(const Comparison& c, std::size_t i) {
  const auto& metric = c.metrics[i];
  Json values = Json::array(), against = Json::array();
  for (std::size_t g = 0; g < c.groups.size(); ++g)
    values.push_back(value_json(c.groups[g].name, metric.values[g]));
  for (const auto& a : c.against)
    against.push_back(judgement_json(c.groups[a.group].name, a.judgements[i]));
  return {{"metric", metric.name},           {"title", metric.title},
          {"convention", metric.convention}, {"better", name(metric.better)},
          {"aspect", name(metric.aspect)},   {"values", std::move(values)},
          {"against", std::move(against)}};
}

Json spikes_json(const std::vector<record::Spike>& spikes) {
  Json out = Json::array();
  for (const auto& spike : spikes)
    out.push_back({{"step", spike.step},
                   {"before", number(spike.before)},
                   {"peak", number(spike.peak)},
                   {"recovered", spike.recovered == 0 ? Json(nullptr) : Json(spike.recovered)},
                   {"at_resume", spike.at_resume}});
  return out;
}

Json losses_json(const std::string& group, const Against& against) {
  const auto& l = against.losses;
  Json places = Json::array();
  for (const auto& place : l.places)
    places.push_back({{"share", place.share},
                      {"at", number(place.at)},
                      {"base", number(place.base)},
                      {"value", number(place.other)},
                      {"difference", number(place.other - place.base)},
                      {"standard_error", number(place.error)}});
  return {{"group", group},
          {"verdict", name(against.loss_verdict)},
          {"aligned", l.present && l.why_not.empty()},
          {"axis", l.axis},
          {"from", number(l.from)},
          {"to", number(l.to)},
          {"apart_from", number(l.apart_from)},
          {"apart_at_end", l.apart_at_end},
          {"base_nan", l.base.nan},
          {"nan", l.other.nan},
          {"places", std::move(places)},
          {"base_spikes", spikes_json(l.base.spikes)},
          {"spikes", spikes_json(l.other.spikes)},
          {"text", l.present ? losses_text(l) : "not both have a loss"}};
}

Json explanation_json(const std::string& group, const Explanation& e) {
  return {{"group", group},
          {"aspect", name(e.aspect)},
          {"causes", e.causes},
          {"circumstances", e.circumstances},
          {"not_said_by_both", e.unsaid},
          {"text", e.text}};
}

// What there is once for every group but the first.
void add_pairs(const Comparison& c, Json& out) {
  for (const auto* key : {"outcomes", "explanations", "losses", "warnings"})
    out[key] = Json::array();
  for (const auto& against : c.against) {
    const auto& group = c.groups[against.group].name;
    out["outcomes"].push_back({{"group", group},
                               {"verdict", name(against.outcome.verdict)},
                               {"doubtful", against.outcome.doubtful},
                               {"text", against.outcome.text}});
    for (const auto& explanation : against.explanations)
      out["explanations"].push_back(explanation_json(group, explanation));
    out["losses"].push_back(losses_json(group, against));
    for (const auto& warning : against.warnings)
      out["warnings"].push_back({{"group", group}, {"text", warning}});
  }
}

Json best_json(const Comparison& c) {
  Json out = Json::array();
  for (const auto& best : c.best) {
    auto one = judgement_json(c.groups[best.group].name, best.judgement);
    one["metric"] = best.metric;
    one["record"] = best.id;
    one["base_record"] = best.base_id;
    one["value"] = value_json(c.groups[best.group].name, best.value);
    one["base"] = value_json(c.groups.front().name, best.base);
    out.push_back(std::move(one));
  }
  return out;
}

Json pairs_json(const Comparison& c) {
  Json out = Json::array();
  for (const auto& pairs : c.pairs) {
    auto one = judgement_json(c.groups[pairs.group].name, pairs.judgement);
    one["question"] = pairs.question;
    one["per_gpu"] = pairs.per_gpu;
    one["weaknesses"] = pairs.weaknesses;
    one["pairs"] = Json::array();
    for (const auto& twins : pairs.pairs) {
      auto pair = judgement_json(c.groups[pairs.group].name, twins.judgement);
      pair["where"] = twins.where;
      pair["metric"] = twins.metric;
      pair["base_record"] = twins.base_id;
      pair["record"] = twins.id;
      pair["differs"] = twins.differs;
      pair["not_said_by_both"] = twins.unsaid;
      one["pairs"].push_back(std::move(pair));
    }
    out.push_back(std::move(one));
  }
  return out;
}

Json ranking_json(const Comparison& c) {
  Json out = Json::array();
  for (const auto& rank : c.ranking)
    out.push_back({{"group", c.groups[rank.group].name},
                   {"place", rank.place == 0 ? Json(nullptr) : Json(rank.place)},
                   {"tie", rank.tie},
                   {"estimated", rank.estimated}});
  return out;
}

}  // namespace

std::string json(const Comparison& c) {
  Json out{{"version", 1}, {"base", c.groups.front().name}};
  for (const auto* key : {"groups", "differences", "results"}) out[key] = Json::array();
  for (const auto& group : c.groups) out["groups"].push_back(group_json(group));
  for (const auto& difference : c.differences)
    out["differences"].push_back(difference_json(c, difference));
  for (std::size_t i = 0; i < c.metrics.size(); ++i) out["results"].push_back(metric_json(c, i));
  add_pairs(c, out);
  out["like_for_like"] = pairs_json(c);
  out["best_against_best"] = best_json(c);
  out["ranking"] = ranking_json(c);
  out["notes"] = c.notes;
  out["doubts"] = c.doubts;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orch::compare
