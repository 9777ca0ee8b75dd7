#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/record/json_names.h"
#include "core/base/json_fields.h"
#include "core/record/quantities.h"
#include "core/record/records_json.h"

namespace orch::record {
namespace {

using Json = nlohmann::ordered_json;

// Reading forgives what is missing: a getter leaves alone what it does not find.
void get(const Json& from, const char* name, std::string& to) {
  if (const auto held = from.find(name); held != from.end() && held->is_string())
    to = held->get<std::string>();
}
void get(const Json& from, const char* name, double& to) {
  if (const auto held = from.find(name); held != from.end() && held->is_number())
    to = held->get<double>();
}
void get(const Json& from, const char* name, std::int64_t& to) {
  if (const auto held = from.find(name); held != from.end() && held->is_number_integer())
    to = held->get<std::int64_t>();
}
void get(const Json& from, const char* name, std::optional<double>& to) {
  if (const auto held = from.find(name); held != from.end() && held->is_number())
    to = held->get<double>();
}
bool flag(const Json& from, const char* name) {
  const auto held = from.find(name);
  return held != from.end() && held->is_boolean() && held->get<bool>();
}
const Json& list(const Json& from, const char* name) {
  static const Json kNone = Json::array();
  const auto held = from.find(name);
  return held != from.end() && held->is_array() ? *held : kNone;
}
const Json& object(const Json& from, const char* name) {
  static const Json kNone = Json::object();
  const auto held = from.find(name);
  return held != from.end() && held->is_object() ? *held : kNone;
}

std::vector<TimeItem> items_of(const Json& from) {
  std::vector<TimeItem> out;
  for (const auto& json : list(from, "time_items")) {
    auto& item = out.emplace_back();
    get(json, "name", item.name);
    get(json, "group", item.group);
    get(json, "seconds", item.seconds);
  }
  return out;
}

void read_origin(const Json& from, Origin& origin) {
  get(from, "kind", origin.kind);
  get(from, "file", origin.file);
  get(from, "first_line", origin.first_line);
  get(from, "last_line", origin.last_line);
  get(from, "date", origin.date);
  get(from, "start", origin.start);
  get(from, "end", origin.end);
  get(from, "experiment", origin.experiment);
  get(from, "experiment_file", origin.experiment_file);
  get(from, "cluster_file", origin.cluster_file);
  get(from, "commit", origin.commit);
  get(from, "job", origin.job);
  for (const auto& node : list(from, "nodes"))
    if (node.is_string()) origin.nodes.push_back(node.get<std::string>());
  for (const auto& [name, version] : object(from, "versions").items())
    if (version.is_string()) origin.versions.emplace_back(name, version.get<std::string>());
}

void read_steps(const Json& from, Measurement& measured) {
  std::optional<double> seconds;
  get(from, "step_seconds", seconds);
  if (seconds) {
    std::int64_t count = 1;
    get(from, "step_count", count);
    auto& step = measured.step_seconds.emplace();
    step.value = *seconds;
    step.n = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
    get(from, "step_low", step.low);
    get(from, "step_high", step.high);
  }
  get(from, "step_seconds_from", measured.step_seconds_from);
  const auto& window = object(from, "window");
  std::int64_t used = 0, warmup = 0, odd = 0;
  get(window, "first", measured.window.first);
  get(window, "last", measured.window.last);
  get(window, "used", used);
  get(window, "warmup", warmup);
  get(window, "rule", measured.window.rule);
  get(from, "odd_step_count", odd);
  measured.window.used = static_cast<std::size_t>(std::max<std::int64_t>(used, 0));
  measured.window.warmup = static_cast<std::size_t>(std::max<std::int64_t>(warmup, 0));
  measured.odd_step_count = static_cast<std::size_t>(std::max<std::int64_t>(odd, 0));
  for (const auto& json : list(from, "odd_steps")) {
    auto& step = measured.odd_steps.emplace_back();
    get(json, "step", step.step);
    get(json, "seconds", step.seconds);
    get(json, "factor", step.factor);
  }
  for (const auto& json : list(from, "odd_nodes")) {
    auto& node = measured.odd_nodes.emplace_back();
    get(json, "name", node.name);
    get(json, "value", node.value);
    get(json, "typical", node.typical);
    get(json, "what", node.what);
  }
}

void read_losses(const Json& from, Measurement& measured) {
  for (const auto& json : list(from, "losses"))
    if (json.is_array() && json.size() == 3 && json[0].is_number() && json[1].is_number() &&
        json[2].is_number())
      measured.losses.push_back(
          {json[0].get<std::int64_t>(), json[1].get<double>(), json[2].get<double>()});
  for (const auto& json : list(from, "resumes"))
    if (json.is_number_integer()) measured.resumes.push_back(json.get<std::int64_t>());
  for (const auto& json : list(from, "spikes")) {
    auto& spike = measured.spikes.emplace_back();
    get(json, "step", spike.step);
    get(json, "before", spike.before);
    get(json, "peak", spike.peak);
    get(json, "recovered", spike.recovered);
    spike.at_resume = flag(json, "at_resume");
  }
}

void read_measurement(const Json& from, Measurement& measured) {
  read_steps(from, measured);
  get(from, "tokens_per_second", measured.tokens_per_second);
  get(from, "days_per_100b_tokens", measured.days_per_100b_tokens);
  for (const auto& json : list(from, "tflops")) {
    auto& held = measured.tflops.emplace_back();
    get(json, "per_gpu", held.value);
    get(json, "convention", held.convention);
    held.computed = flag(json, "computed");
  }
  get(from, "peak_memory_bytes", measured.peak_memory_bytes);
  get(from, "peak_memory_from", measured.peak_memory_from);
  get(from, "host_memory_bytes", measured.host_memory_bytes);
  get(from, "gpu_hours", measured.gpu_hours);
  get(from, "last_loss", measured.last_loss);
  get(from, "steps", measured.steps);
  get(from, "steps_planned", measured.steps_planned);
  get(from, "restarts", measured.restarts);
  get(from, "repeated_steps", measured.repeated_steps);
  get(from, "skipped_steps", measured.skipped_steps);
  get(from, "nan_steps", measured.nan_steps);
  read_losses(from, measured);
  measured.time_items = items_of(from);
  for (const auto& quantity : quantities())
    if (!quantity.measured)
      if (const auto held = from.find(quantity.name); held != from.end() && held->is_number())
        measured.stated.emplace(quantity.name, held->get<double>());
}

Estimated estimated_of(const Json& from) {
  Estimated out;
  get(from, "fit", out.fit);
  for (const auto& [name, member] : kEstimated) get(from, name, out.*member);
  out.time_items = items_of(from);
  return out;
}

plan::Value value_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return {};
}

void read_fields(const Json& from, Record& record) {
  static const std::set<std::string> kOthers{
      "id", "source", "table", "state", "failure", "reason", "not_estimated", "notes", "assumed"};
  std::set<std::string> assumed;
  for (const auto& name : list(from, "assumed"))
    if (name.is_string()) assumed.insert(name.get<std::string>());
  for (const auto& [name, json] : from.items())
    if (const auto value = value_of(json); plan::is_given(value) && !kOthers.contains(name))
      record.set(name, value, assumed.contains(name));
}

Record record_of(const Json& from) {
  Record out;
  std::string state, failure;
  get(from, "id", out.id);
  get(from, "source", out.source);
  get(from, "table", out.table);
  get(from, "state", state);
  get(from, "failure", failure);
  get(from, "reason", out.reason);
  get(from, "not_estimated", out.not_estimated);
  get(from, "notes", out.notes);
  out.state = parse_state(state).value_or(State::planned);
  out.failure = parse_failure(failure).value_or(Failure::none);
  read_fields(from, out);
  read_measurement(object(from, "measured"), out.measured);
  if (const auto& json = object(from, "estimated"); !json.empty())
    out.estimated = estimated_of(json);
  for (const auto& json : list(from, "doubts")) {
    auto& doubt = out.doubts.emplace_back();
    get(json, "kind", doubt.kind);
    get(json, "field", doubt.field);
    get(json, "reason", doubt.reason);
  }
  read_origin(object(from, "origin"), out.origin);
  return out;
}

}  // namespace

Result<std::vector<Record>> parse_records_json(const std::string& text, const std::string& place) {
  const auto json = parse_json<Json>(text);
  if (json.is_discarded()) return Error{place, "is not JSON", "orch ingest --format json makes it"};
  if (!json.is_object() || !json.contains("records") || !json["records"].is_array())
    return Error{place, "holds no records", "orch ingest --format json makes such a file"};
  std::int64_t version = 0;
  get(json, "version", version);
  if (version != kRecordsVersion)
    return Error{place, "was written by another version of orch", "ingest the logs again"};
  std::vector<Record> out;
  for (const auto& held : json["records"]) {
    if (!held.is_object())
      return Error{place, fmt::format("record {} is no object", out.size() + 1),
                   "orch ingest --format json makes such a file"};
    out.push_back(record_of(held));
  }
  return out;
}

}  // namespace orch::record
