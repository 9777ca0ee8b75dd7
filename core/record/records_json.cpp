#include "core/record/records_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/record/json_names.h"
#include "core/record/quantities.h"

namespace orch::record {
namespace {

using Json = nlohmann::ordered_json;

// Writing leaves out what is not known, and JSON has no word for what is not a number.
void put(Json& to, const char* name, double value) {
  if (std::isfinite(value)) to[name] = value;
}
void put(Json& to, const char* name, const std::optional<double>& value) {
  if (value) put(to, name, *value);
}
void put(Json& to, const char* name, const std::string& text) {
  if (!text.empty()) to[name] = text;
}
void put_count(Json& to, const char* name, std::int64_t count) {
  if (count != 0) to[name] = count;
}
void put_known(Json& to, const char* name, double value) {
  if (value != 0) put(to, name, value);
}
void put_list(Json& to, const char* name, Json list) {
  if (!list.empty()) to[name] = std::move(list);
}

Json json_of(const plan::Value& value) {
  return std::visit(
      [](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>)
          return Json();
        else
          return Json(held);
      },
      value);
}

Json json_of(const std::vector<TimeItem>& items) {
  Json out = Json::array();
  for (const auto& item : items)
    out.push_back({{"name", item.name}, {"group", item.group}, {"seconds", item.seconds}});
  return out;
}

Json json_of(const Origin& origin) {
  Json out = {{"kind", origin.kind}};
  put(out, "file", origin.file);
  put_count(out, "first_line", origin.first_line);
  put_count(out, "last_line", origin.last_line);
  put(out, "date", origin.date);
  put_known(out, "start", origin.start);
  put_known(out, "end", origin.end);
  put(out, "experiment", origin.experiment);
  put(out, "experiment_file", origin.experiment_file);
  put(out, "cluster_file", origin.cluster_file);
  put(out, "commit", origin.commit);
  put(out, "job", origin.job);
  put_list(out, "nodes", origin.nodes);
  Json versions = Json::object();
  for (const auto& [name, version] : origin.versions) versions[name] = version;
  put_list(out, "versions", std::move(versions));
  return out;
}

void put_window(Json& to, const statistics::Window& window) {
  if (window.rule.empty()) return;
  to["window"] = {{"first", window.first},
                  {"last", window.last},
                  {"used", window.used},
                  {"warmup", window.warmup},
                  {"rule", window.rule}};
}

void put_steps(Json& to, const Measurement& measured) {
  if (const auto& step = measured.step_seconds) {
    put(to, "step_seconds", step->value);
    put(to, "step_low", step->low);
    put(to, "step_high", step->high);
    to["step_count"] = step->n;
  }
  put(to, "step_seconds_from", measured.step_seconds_from);
  put_window(to, measured.window);
  Json odd = Json::array(), nodes = Json::array();
  for (const auto& step : measured.odd_steps)
    odd.push_back({{"step", step.step}, {"seconds", step.seconds}, {"factor", step.factor}});
  for (const auto& node : measured.odd_nodes)
    nodes.push_back({{"name", node.name},
                     {"value", node.value},
                     {"typical", node.typical},
                     {"what", node.what}});
  put_list(to, "odd_steps", std::move(odd));
  put_count(to, "odd_step_count", static_cast<std::int64_t>(measured.odd_step_count));
  put_list(to, "odd_nodes", std::move(nodes));
}

void put_losses(Json& to, const Measurement& measured) {
  Json points = Json::array(), spikes = Json::array();
  for (const auto& point : measured.losses)
    points.push_back(Json::array({point.step, point.tokens, point.loss}));
  for (const auto& spike : measured.spikes)
    spikes.push_back({{"step", spike.step},
                      {"before", spike.before},
                      {"peak", spike.peak},
                      {"recovered", spike.recovered},
                      {"at_resume", spike.at_resume}});
  put_list(to, "losses", std::move(points));
  put_list(to, "resumes", measured.resumes);
  put_list(to, "spikes", std::move(spikes));
}

Json json_of(const Measurement& measured) {
  Json out = Json::object();
  put_steps(out, measured);
  put(out, "tokens_per_second", measured.tokens_per_second);
  put(out, "days_per_100b_tokens", measured.days_per_100b_tokens);
  Json tflops = Json::array();
  for (const auto& held : measured.tflops)
    tflops.push_back(
        {{"per_gpu", held.value}, {"convention", held.convention}, {"computed", held.computed}});
  put_list(out, "tflops", std::move(tflops));
  put(out, "peak_memory_bytes", measured.peak_memory_bytes);
  put(out, "peak_memory_from", measured.peak_memory_from);
  put(out, "host_memory_bytes", measured.host_memory_bytes);
  put(out, "gpu_hours", measured.gpu_hours);
  put(out, "last_loss", measured.last_loss);
  put_count(out, "steps", measured.steps);
  put_count(out, "steps_planned", measured.steps_planned);
  put_count(out, "restarts", measured.restarts);
  put_count(out, "repeated_steps", measured.repeated_steps);
  put_count(out, "skipped_steps", measured.skipped_steps);
  put_count(out, "nan_steps", measured.nan_steps);
  put_losses(out, measured);
  put_list(out, "time_items", json_of(measured.time_items));
  return out;
}

Json json_of(const Estimated& estimated) {
  Json out = {{"fit", estimated.fit}};
  for (const auto& [name, member] : kEstimated) put_known(out, name, estimated.*member);
  put_list(out, "time_items", json_of(estimated.time_items));
  return out;
}

void put_missing(Json& to, const Quantity& quantity, const Quantity::Value& value) {
  const std::string name(quantity.name);
  if (value && !to.contains(name)) to[name] = value->value;
}

Json json_of(const Record& record) {
  Json out = {{"id", record.id}, {"source", record.source}};
  put(out, "table", record.table);
  out["state"] = name(record.state);
  if (record.failure != Failure::none) out["failure"] = name(record.failure);
  put(out, "reason", record.reason);
  Json assumed = Json::array();
  for (const auto& field : record.fields) {
    out[field.name] = json_of(field.value);
    if (field.assumed) assumed.push_back(field.name);
  }
  put_list(out, "assumed", std::move(assumed));
  out["measured"] = json_of(record.measured);
  if (record.estimated) out["estimated"] = json_of(*record.estimated);
  // What follows from others is written, too: a reader need not know how.
  for (const auto& quantity : quantities()) {
    put_missing(out["measured"], quantity, measured(quantity, record));
    if (record.estimated) put_missing(out["estimated"], quantity, estimated(quantity, record));
  }
  put(out, "not_estimated", record.not_estimated);
  Json doubts = Json::array();
  for (const auto& doubt : record.doubts)
    doubts.push_back({{"kind", doubt.kind}, {"field", doubt.field}, {"reason", doubt.reason}});
  put_list(out, "doubts", std::move(doubts));
  put(out, "notes", record.notes);
  out["origin"] = json_of(record.origin);
  return out;
}

}  // namespace

std::string records_json(const std::vector<Record>& records) {
  Json list = Json::array();
  for (const auto& record : records) list.push_back(json_of(record));
  const Json out = {{"version", kRecordsVersion}, {"records", std::move(list)}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orch::record
