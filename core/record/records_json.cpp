#include "core/record/records_json.h"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/json_fields.h"
#include "core/plan/estimate_json.h"
#include "core/plan/model_json.h"
#include "core/record/quantities.h"

// Writing and reading use one list of members for each struct: members(io, held) calls io(name,
// member) for each, where io is a RecordWriter or a RecordReader.
namespace orch::record {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRecordsSchema = 1;

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// Calls io(name, member) for each pair.
void each(auto& io, const char* name, auto& member, auto&&... others) {
  io(name, member);
  if constexpr (sizeof...(others) > 0) each(io, others...);
}

void members(auto& io, Is<plan::EstimateItem> auto& item) {
  each(io, "name", item.name, "group", item.kind, "seconds", item.amount);
}
void members(auto& io, Is<statistics::OutlierStep> auto& step) {
  each(io, "step", step.step, "seconds", step.seconds, "factor", step.factor);
}
void members(auto& io, Is<OutlierNode> auto& node) {
  each(io, "name", node.name, "value", node.value, "typical", node.typical, "what", node.what);
}
void members(auto& io, Is<Spike> auto& spike) {
  each(io, "step", spike.step, "before", spike.before, "peak", spike.peak, "recovered",
       spike.recovered, "at_resume", spike.at_resume);
}
void members(auto& io, Is<Tflops> auto& tflops) {
  each(io, "per_gpu", tflops.value, "convention", tflops.convention, "computed", tflops.computed);
}
void members(auto& io, Is<Doubt> auto& doubt) {
  each(io, "kind", doubt.kind, "field", doubt.field, "reason", doubt.reason);
}
void members(auto& io, Is<statistics::StepWindow> auto& window) {
  each(io, "first", window.first, "last", window.last, "used", window.used, "warmup", window.warmup,
       "rule", window.rule);
}
void members(auto& io, Is<statistics::Interval> auto& step) {
  each(io, "step_seconds", step.value, "step_low", step.low, "step_high", step.high, "step_count",
       step.n);
}
void members(auto& io, Is<Origin> auto& origin) {
  each(io, "kind", origin.kind, "file", origin.file, "first_line", origin.first_line, "last_line",
       origin.last_line, "date", origin.date, "start", origin.start, "end", origin.end,
       "experiment", origin.experiment, "experiment_file", origin.experiment_file, "cluster_file",
       origin.cluster_file, "commit", origin.commit, "job", origin.job, "nodes", origin.nodes,
       "versions", origin.versions);
}
void members(auto& io, Is<Measurement> auto& measured) {
  io.step(measured.step_seconds);
  each(io, "step_seconds_from", measured.step_seconds_from, "window", measured.window, "odd_steps",
       measured.odd_steps, "odd_step_count", measured.odd_step_count, "odd_nodes",
       measured.odd_nodes, "tokens_per_second", measured.tokens_per_second, "days_per_100b_tokens",
       measured.days_per_100b_tokens, "tflops", measured.tflops, "peak_memory_bytes",
       measured.peak_memory_bytes, "peak_memory_from", measured.peak_memory_from,
       "host_memory_bytes", measured.host_memory_bytes, "gpu_hours", measured.gpu_hours,
       "last_loss", measured.last_loss, "steps", measured.steps, "steps_planned",
       measured.steps_planned, "restarts", measured.restarts, "repeated_steps",
       measured.repeated_steps, "skipped_steps", measured.skipped_steps, "nan_steps",
       measured.nan_steps, "step_times", measured.step_times, "peaks", measured.peaks, "gpu_use",
       measured.gpu_use, "gpu_watts", measured.gpu_watts, "losses", measured.losses, "resumes",
       measured.resumes, "spikes", measured.spikes, "time_items", measured.time_items, "spent",
       measured.spent);
}
void members(auto& io, Is<plan::Estimate> auto& estimated) {
  io("fit", estimated.fit);
  for (const auto& [name, member] : plan::kEstimateNumbers) io(name, estimated.*member);
  io("currency", estimated.currency);
  io("time_items", estimated.time);
}

// Leaves out unknown values, unless all are requested; JSON cannot represent NaN.
struct RecordWriter {
  Json& to;
  bool all = false;

  void operator()(const char* name, const std::string& text) {
    if (all || !text.empty()) to[name] = text;
  }
  void operator()(const char* name, double value) {
    if (all || (value != 0 && std::isfinite(value))) to[name] = value;
  }
  void operator()(const char* name, const std::optional<double>& value) {
    if (value && std::isfinite(*value)) to[name] = *value;
  }
  void operator()(const char* name, plan::MemoryFit fit) { to[name] = plan::name(fit); }
  template <std::integral T>
  void operator()(const char* name, T count) {
    if (all || count != 0) to[name] = count;
  }
  template <class T>
  void operator()(const char* name, const std::vector<T>& list) {
    if (list.empty()) return;
    auto& out = to[name] = Json::array();
    for (const auto& item : list) out.push_back(json_of(item));
  }
  void operator()(const char* name,
                  const std::vector<std::pair<std::string, std::string>>& versions) {
    for (const auto& [program, version] : versions) to[name][program] = version;
  }
  void operator()(const char* name, const statistics::StepWindow& window) {
    if (!window.rule.empty()) to[name] = json_of(window);
  }
  void step(const std::optional<statistics::Interval>& step) {
    RecordWriter whole{to, true};
    if (step) members(whole, *step);
  }

 private:
  template <class T>
  static Json json_of(const T& item) {
    Json out;
    RecordWriter whole{out, true};
    if constexpr (Is<T, LossPoint>)
      out = Json::array({item.step, item.tokens, item.loss});
    else if constexpr (Is<T, StepPoint>)
      out = Json::array({item.step, item.value});
    else if constexpr (Is<T, std::string> || std::integral<T>)
      out = item;
    else
      members(whole, item);
    return out;
  }
};

// Leaves members unchanged that are missing in the document.
struct RecordReader {
  const Json& from;

  template <class T>
  void operator()(const char* name, T& to) {
    if (const auto held = from.find(name); held != from.end()) read(*held, to);
  }
  void step(std::optional<statistics::Interval>& to) {
    const auto held = from.find("step_seconds");
    if (held == from.end() || !held->is_number()) return;
    to.emplace().n = 1;
    members(*this, *to);
  }

 private:
  static void read(const Json& json, std::string& to) {
    if (json.is_string()) to = json.get<std::string>();
  }
  static void read(const Json& json, std::floating_point auto& to) {
    if (json.is_number()) to = json.get<double>();
  }
  static void read(const Json& json, std::optional<double>& to) {
    if (json.is_number()) to = json.get<double>();
  }
  static void read(const Json& json, plan::MemoryFit& to) {
    if (json.is_string()) to = plan::parse_fit(json.get<std::string>()).value_or(to);
  }
  static void read(const Json& json, bool& to) { to = json.is_boolean() && json.get<bool>(); }
  static void read(const Json& json, std::int64_t& to) {
    if (json.is_number_integer()) to = json.get<std::int64_t>();
  }
  static void read(const Json& json, std::size_t& to) {
    if (json.is_number_unsigned()) to = json.get<std::size_t>();
  }
  static void read(const Json& json, LossPoint& to) {
    to = {json[0].get<std::int64_t>(), json[1].get<double>(), json[2].get<double>()};
  }
  static void read(const Json& json, StepPoint& to) {
    to = {json[0].get<std::int64_t>(), json[1].get<double>()};
  }
  static void read(const Json& json, std::vector<std::pair<std::string, std::string>>& to) {
    if (!json.is_object()) return;
    for (const auto& [name, version] : json.items())
      if (version.is_string()) to.emplace_back(name, version.get<std::string>());
  }
  template <class T>
  static bool fits(const Json& json) {  // for items of a list
    if constexpr (Is<T, std::string>) return json.is_string();
    if constexpr (std::integral<T>) return json.is_number_integer();
    if constexpr (Is<T, LossPoint>)
      return json.is_array() && json.size() == 3 && json[0].is_number() && json[1].is_number() &&
             json[2].is_number();
    if constexpr (Is<T, StepPoint>)
      return json.is_array() && json.size() == 2 && json[0].is_number_integer() &&
             json[1].is_number();
    return true;
  }
  template <class T>
  static void read(const Json& json, std::vector<T>& to) {
    if (!json.is_array()) return;
    for (const auto& item : json)
      if (fits<T>(item)) read(item, to.emplace_back());
  }
  template <class T>
  requires std::is_aggregate_v<T>
  static void read(const Json& json, T& to) {
    RecordReader reader{json};
    if (json.is_object()) members(reader, to);
  }
};

void put_missing(Json& to, const Quantity& quantity, const Quantity::Value& value) {
  const std::string name(quantity.name);
  if (value && !to.contains(name)) to[name] = value->value;
}

Json json_of(const Record& record) {
  Json out = {{"id", record.id}, {"source", record.source}};
  RecordWriter io{out};
  io("table", record.table);
  out["state"] = name(record.state);
  if (record.failure != Failure::none) out["failure"] = name(record.failure);
  io("reason", record.reason);
  std::vector<std::string> assumed;
  for (const auto& field : record.fields) {
    out[field.name] = plan::json_of(field.value);
    if (field.assumed) assumed.push_back(field.name);
  }
  io("assumed", assumed);
  if (!record.arguments.empty()) {
    auto& arguments = out["arguments"] = Json::object();
    for (const auto& [name, value] : record.arguments) arguments[name] = value;
  }
  RecordWriter measurement{out["measured"] = Json::object()};
  members(measurement, record.measured);
  if (record.estimated) {
    RecordWriter estimate{out["estimated"] = Json::object()};
    members(estimate, *record.estimated);
  }
  // Derived quantities are written too, for readers that cannot compute them.
  for (const auto& quantity : quantities()) {
    put_missing(out["measured"], quantity, measured(quantity, record));
    if (record.estimated) put_missing(out["estimated"], quantity, estimated(quantity, record));
  }
  io("not_estimated", record.not_estimated);
  io("doubts", record.doubts);
  io("notes", record.notes);
  RecordWriter origin{out["origin"] = Json{{"kind", record.origin.kind}}};
  members(origin, record.origin);
  return out;
}

void read_fields(const Json& from, Record& record) {
  static const std::set<std::string> kOthers{
      "id", "source", "table", "state", "failure", "reason", "not_estimated", "notes", "assumed"};
  std::vector<std::string> names;
  RecordReader{from}("assumed", names);
  const std::set<std::string> assumed(names.begin(), names.end());
  for (const auto& [name, json] : from.items())
    if (json.is_primitive() && !json.is_null() && !kOthers.contains(name))
      record.set(name, plan::from_json(json), assumed.contains(name));
}

Record record_of(const Json& from) {
  Record out;
  std::string state, failure;
  RecordReader io{from};
  io("id", out.id);
  io("source", out.source);
  io("table", out.table);
  io("state", state);
  io("failure", failure);
  io("reason", out.reason);
  io("not_estimated", out.not_estimated);
  io("notes", out.notes);
  io("doubts", out.doubts);
  io("measured", out.measured);
  io("origin", out.origin);
  out.state = parse_state(state).value_or(RunState::planned);
  out.failure = parse_failure(failure).value_or(Failure::none);
  read_fields(from, out);
  if (const auto held = from.find("arguments"); held != from.end() && held->is_object())
    for (const auto& [name, value] : held->items())
      if (value.is_string()) out.arguments.emplace_back(name, value.get<std::string>());
  if (const auto held = from.find("estimated"); held != from.end() && !held->empty())
    io("estimated", out.estimated.emplace());
  for (const auto& quantity : quantities()) {
    std::optional<double> stated;
    if (!quantity.measured)
      RecordReader{from.value("measured", Json::object())}(quantity.name.data(), stated);
    if (stated) out.measured.stated.emplace(quantity.name, *stated);
  }
  return out;
}

}  // namespace

std::string records_json(const std::vector<Record>& records) {
  Json list = Json::array();
  for (const auto& record : records) list.push_back(json_of(record));
  const Json out = {{"schema", kRecordsSchema}, {"records", std::move(list)}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<Record>> parse_records_json(const std::string& text, const std::string& place) {
  const auto json = parse_json<Json>(text);
  if (json.is_discarded()) return Error{place, "is not JSON", "orch ingest --format json makes it"};
  if (!json.is_object() || !json.contains("records") || !json["records"].is_array())
    return Error{place, "has no records", "orch ingest --format json makes such a file"};
  std::int64_t schema = 0;
  RecordReader{json}("schema", schema);
  if (schema != kRecordsSchema)
    return Error{place, "was written by another version of orch", "ingest the logs again"};
  std::vector<Record> out;
  for (const auto& held : json["records"]) {
    if (!held.is_object())
      return Error{place, fmt::format("record {} is not an object", out.size() + 1),
                   "orch ingest --format json makes such a file"};
    out.push_back(record_of(held));
  }
  return out;
}

}  // namespace orch::record
