#include "core/plan/run_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/json_writer.h"
#include "core/base/text.h"

namespace orch::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Value from_json(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return {};
}

void write(JsonWriter& to, std::string_view key, const Value& value) {
  std::visit(
      [&](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          to.null(key);
        else
          to.field(key, held);
      },
      value);
}

void write(JsonWriter& to, const Model& model) {
  to.begin("model")
      .field("name", model.name)
      .field("family", name(model.family))
      .field("layers", model.layers)
      .field("hidden", model.hidden)
      .field("heads", model.heads)
      .field("vocab", model.vocab)
      .field("seq", model.seq)
      .end();
}

void write(JsonWriter& to, const std::optional<RampUp>& rampup) {
  if (!rampup) {
    to.null("rampup");
    return;
  }
  to.begin("rampup")
      .field("start", rampup->start)
      .field("step", rampup->step)
      .field("samples", rampup->samples)
      .field("fewer_nodes", rampup->fewer_nodes);
  if (rampup->phases != RampUp{}.phases) to.field("phases", rampup->phases);
  to.end();
}

void write(JsonWriter& to, const Slurm& job) {
  to.begin("job")
      .field("partition", job.partition)
      .field("account", job.account)
      .field("qos", job.qos)
      .field("constraint", job.constraint)
      .field("reservation", job.reservation)
      .field("hint", job.hint)
      .field("gres", job.gres)
      .field("time", job.time)
      .field("cpus_per_gpu", job.cpus_per_gpu)
      .field("signal_seconds", job.signal_seconds);
  // Left out where there are none: the ids of runs from before there could be any stay as they are.
  if (job.spare_nodes.value_or(0) > 0) to.field("spare_nodes", *job.spare_nodes);
  to.begin_list("options");
  for (const auto& option : job.options) to.item(option);
  to.end_list().begin("environment");
  for (const auto& [variable, value] : job.environment) to.field(variable, value);
  to.end().field("setup", job.setup).end();
}

void write(JsonWriter& to, const Training& training) {
  to.begin("training");
  for (const auto& field : training_fields())
    std::visit([&](auto member) { to.field(field.param.name, training.*member); }, field.member);
  to.end();
}

void read_model(const Json& json, Model& model) {
  model.name = json.at("name").get<std::string>();
  model.family = parse_family(json.at("family").get<std::string>()).value_or(Family::gpt);
  model.layers = json.at("layers").get<std::int64_t>();
  model.hidden = json.at("hidden").get<std::int64_t>();
  model.heads = json.at("heads").get<std::int64_t>();
  model.vocab = json.at("vocab").get<std::int64_t>();
  model.seq = json.at("seq").get<std::int64_t>();
}

void read_sizes(const Json& json, Run& run) {
  run.gpus = json.at("gpus").get<std::int64_t>();
  run.nodes = json.at("nodes").get<std::int64_t>();
  run.layout = {json.at("tensor_parallel").get<std::int64_t>(),
                json.at("pipeline_parallel").get<std::int64_t>(),
                json.at("data_parallel").get<std::int64_t>()};
  run.batch.micro_batch = json.at("micro_batch").get<std::int64_t>();
  run.batch.accumulate = json.at("accumulate").get<std::int64_t>();
  run.batch.global_batch = json.at("global_batch").get<std::int64_t>();
  if (const auto& rampup = json.at("rampup"); !rampup.is_null())
    run.batch.rampup =
        RampUp{rampup.at("start").get<std::int64_t>(), rampup.at("step").get<std::int64_t>(),
               rampup.at("samples").get<std::int64_t>(), rampup.at("fewer_nodes").get<bool>(),
               rampup.value("phases", RampUp{}.phases)};
  run.tokens = json.at("tokens").get<double>();
  run.steps = json.at("steps").get<std::int64_t>();
}

void read_job(const Json& json, Slurm& job) {
  job.partition = json.at("partition").get<std::string>();
  job.account = json.at("account").get<std::string>();
  job.qos = json.at("qos").get<std::string>();
  job.constraint = json.at("constraint").get<std::string>();
  job.reservation = json.at("reservation").get<std::string>();
  job.hint = json.at("hint").get<std::string>();
  job.gres = json.at("gres").get<std::string>();
  job.time = json.at("time").get<std::string>();
  job.cpus_per_gpu = json.at("cpus_per_gpu").get<std::int64_t>();
  job.signal_seconds = json.at("signal_seconds").get<std::int64_t>();
  if (const auto spare = json.find("spare_nodes"); spare != json.end())
    job.spare_nodes = spare->get<std::int64_t>();
  job.options = json.at("options").get<std::vector<std::string>>();
  job.environment = json.at("environment").get<std::map<std::string, std::string>>();
  job.setup = json.at("setup").get<std::string>();
}

Status read_strategy(const Json& json, const std::string& place,
                     const std::vector<StrategyPtr>& strategies, Run& run) {
  const auto wanted = json.at("strategy").get<std::string>();
  std::vector<std::string> names;
  for (const auto& strategy : strategies) {
    names.push_back(strategy->name);
    if (strategy->name == wanted) run.strategy = strategy;
  }
  if (!run.strategy)
    return Error{place, fmt::format("no backend offers the strategy '{}'", printable(wanted)),
                 suggestion(wanted, names)};
  for (const auto& param : run.strategy->params) {
    const auto& settings = json.at("settings");
    auto value = settings.contains(param.name) ? from_json(settings.at(param.name)) : Value();
    if (!is_given(value)) value = param.default_value;
    if (is_given(value)) {  // JSON writes a real 25 like a whole one
      const auto conformed = conform(param, value, place + ": settings." + param.name);
      if (!conformed) return conformed.error();
      value = *conformed;
    }
    run.settings.push_back(std::move(value));
  }
  return {};
}

// A run.json from before there was such a section means the defaults.
Status read_training(const Json& json, const std::string& place, Training& training) {
  const auto section = json.find("training");
  if (section == json.end()) return {};
  for (const auto& field : training_fields()) {
    const auto given = section->find(field.param.name);
    if (given == section->end()) continue;
    const auto value =
        conform(field.param, from_json(*given), place + ": training." + field.param.name);
    if (!value) return value.error();
    set(training, field, *value);
  }
  return {};
}

Status read_cluster(const Json& json, const std::string& place, const FindCluster& find_cluster,
                    Run& run) {
  const auto cluster = find_cluster(json.at("cluster").get<std::string>());
  if (!cluster) return cluster.error();
  run.cluster = *cluster;
  const auto partition = json.at("partition").get<std::string>();
  run.partition = run.cluster->find(partition);
  if (!run.partition)
    return Error{
        place,
        fmt::format("{} has no partition '{}' any more", run.cluster->name, printable(partition)),
        "plan the experiment again"};
  return {};
}

}  // namespace

std::string run_json(const Run& run) {
  JsonWriter to;
  to.begin()
      .field("version", std::int64_t{kVersion})
      .field("experiment", run.experiment)
      .field("strategy", run.strategy->name)
      .field("backend", run.strategy->backend)
      .field("backend_version", run.strategy->backend_version);
  write(to, run.model);
  to.field("cluster", run.cluster->name)
      .field("partition", run.partition->name)
      .field("gpu", run.partition->gpu.name)
      .field("gpus", run.gpus)
      .field("nodes", run.nodes)
      .field("gpus_per_node", run.partition->gpus_per_node)
      .field("tensor_parallel", run.layout.tensor_parallel)
      .field("pipeline_parallel", run.layout.pipeline_parallel)
      .field("data_parallel", run.layout.data_parallel)
      .field("micro_batch", run.batch.micro_batch)
      .field("accumulate", run.batch.accumulate)
      .field("global_batch", run.batch.global_batch);
  write(to, run.batch.rampup);
  to.field("tokens", run.tokens).field("steps", run.steps).begin("settings");
  for (std::size_t i = 0; i < run.settings.size(); ++i)
    write(to, run.strategy->params[i].name, run.settings[i]);
  to.end();
  write(to, run.training);
  write(to, run.job);
  return std::move(to.end()).text();
}

std::string run_id(const Run& run, const std::string& json) {
  return fmt::format("{}-{:08x}", label(run), stable_hash(json) >> 32);
}

Result<Run> parse_run_json(const std::string& text, const std::string& place,
                           const std::vector<StrategyPtr>& strategies,
                           const FindCluster& find_cluster) {
  try {
    const auto json = Json::parse(text);
    if (json.at("version").get<int>() != kVersion)
      return Error{place, "was written by another version of orch", "plan the experiment again"};
    Run run;
    run.experiment = json.at("experiment").get<std::string>();
    if (auto status = read_strategy(json, place, strategies, run); !status) return status.error();
    if (auto status = read_cluster(json, place, find_cluster, run); !status) return status.error();
    read_model(json.at("model"), run.model);
    read_sizes(json, run);
    if (auto status = read_training(json, place, run.training); !status) return status.error();
    read_job(json.at("job"), run.job);
    return run;
  } catch (const nlohmann::json::exception& error) {
    return Error{place, error.what(), "plan the experiment again"};
  }
}

namespace {

void write(JsonWriter& to, const Stretch& stretch) {
  to.begin()
      .field("first_batch", stretch.first_batch)
      .field("last_batch", stretch.last_batch)
      .field("samples", stretch.samples)
      .field("tokens", stretch.tokens)
      .field("data_parallel", stretch.data_parallel)
      .field("nodes", stretch.nodes)
      .field("gpus", stretch.gpus)
      .field("first_step_seconds", stretch.first_step_seconds)
      .field("last_step_seconds", stretch.last_step_seconds)
      .field("tflops_per_gpu", stretch.tflops_per_gpu)
      .field("seconds", stretch.seconds)
      .field("gpu_hours", stretch.gpu_hours)
      .end();
}

}  // namespace

std::string estimate_json(const Run& run, const Estimate& estimate) {
  JsonWriter to;
  to.begin()
      .field("version", std::int64_t{kVersion})
      .field("variant", variant(run))
      .field("fit", name(estimate.fit))
      .field("peak_memory_bytes", estimate.peak_memory)
      .field("memory_low", estimate.memory_low)
      .field("memory_high", estimate.memory_high)
      .field("usable_memory_bytes", estimate.usable_memory)
      .field("host_memory_bytes", estimate.host_memory)
      .field("step_seconds", estimate.step_seconds)
      .field("step_low", estimate.step_low)
      .field("step_high", estimate.step_high)
      .field("tflops_per_gpu", estimate.tflops_per_gpu)
      .field("tflops_per_gpu_simple", estimate.tflops_per_gpu_simple)
      .field("mfu", estimate.mfu)
      .field("tokens_per_second", estimate.tokens_per_second)
      .field("days_per_100b_tokens", estimate.days_per_100b_tokens)
      .field("days_to_train", estimate.days_to_train)
      .field("gpu_hours", estimate.gpu_hours)
      .field("communicated_bytes", estimate.communicated)
      .begin_list("schedule");
  for (const auto& stretch : estimate.schedule) write(to, stretch);
  to.end_list();
  return std::move(to.end()).text();
}

}  // namespace orch::plan
