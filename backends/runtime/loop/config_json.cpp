#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/runtime/loop/config.h"
#include "backends/runtime/loop/json_fields.h"

namespace orch::train {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr std::int64_t kMost = 1'000'000'000'000'000;  // whatever is counted
constexpr double kAlmostOne = 1 - 1e-12;
constexpr auto kAgain = "plan the experiment again";

void read_training(JsonFields fields, Training& to) {
  fields.read("learning_rate", to.learning_rate, 0, 1e3);
  to.min_learning_rate = std::min(to.min_learning_rate, to.learning_rate);
  fields.read("min_learning_rate", to.min_learning_rate, 0, 1e3);
  fields.read("schedule", to.schedule, {"cosine", "linear", "constant"});
  fields.read("warmup_steps", to.warmup_steps, 0, kMost);
  fields.read("decay_steps", to.decay_steps, 0, kMost);
  fields.read("weight_decay", to.weight_decay, 0, 1e3);
  fields.read("beta1", to.beta1, 0, kAlmostOne);
  fields.read("beta2", to.beta2, 0, kAlmostOne);
  fields.read("epsilon", to.epsilon, 1e-30, 1);
  fields.read("clip", to.clip, 0, 1e9);
  fields.read("dropout", to.dropout, 0, kAlmostOne);
  fields.read("attention_dropout", to.attention_dropout, 0, kAlmostOne);
  fields.read("init_std", to.init_std, 0, 1e3);
  fields.read("seed", to.seed, 0, INT64_MAX);
  fields.read("loss_scale", to.loss_scale, 1, 0x1p40);
  fields.read("loss_scale_window", to.loss_scale_window, 1, kMost);
  fields.read("data", to.data);
  fields.read("split", to.split);
  fields.read("evaluate_every", to.evaluate_every, 0, kMost);
  fields.read("evaluate_batches", to.evaluate_batches, 1, kMost);
  fields.read("checkpoint_every", to.checkpoint_every, 0, kMost);
  fields.read("keep_checkpoints", to.keep_checkpoints, 0, kMost);
  fields.read("init", to.init);
  fields.read("log_every", to.log_every, 1, kMost);
  fields.read("tensorboard", to.tensorboard);
  fields.read("collective_timeout", to.collective_timeout, 0.001, 1e6);
  fields.reject_others();
  if (to.schedule != "constant" && to.min_learning_rate > to.learning_rate)
    fields.problem(
        "min_learning_rate",
        fmt::format("is {}, but the learning rate is {}", to.min_learning_rate, to.learning_rate),
        "let it be at most the learning rate");
}

void read_model(JsonFields fields, ModelConfig& to) {
  std::string family = "gpt";
  fields.required();
  fields.read("family", family, {"gpt", "bloom"});
  to.family = family == "bloom" ? Family::bloom : Family::gpt;
  fields.read("layers", to.layers, 1, 1'000'000);
  fields.read("hidden", to.hidden, 1, 1'000'000'000);
  fields.read("heads", to.heads, 1, 1'000'000);
  fields.read("vocab", to.vocab, 1, 1'000'000'000);
  fields.read("seq", to.seq, 1, 1'000'000'000);
  if (to.heads > 0 && to.hidden % to.heads != 0)
    fields.problem("heads", fmt::format("hidden {} does not divide into {}", to.hidden, to.heads),
                   "choose a divisor of hidden");
}

void read_sizes(JsonFields& fields, RunConfig& to) {
  fields.read("gpus", to.gpus, 1, 1'000'000'000);
  fields.read("tensor_parallel", to.tensor_parallel, 1, 1'000'000);
  fields.read("pipeline_parallel", to.pipeline_parallel, 1, 1'000'000);
  fields.read("data_parallel", to.data_parallel, 1, 1'000'000'000);
  fields.read("micro_batch", to.micro_batch, 1, 1'000'000);
  fields.read("accumulate", to.accumulate, 1, 1'000'000'000);
  fields.read("global_batch", to.global_batch, 1, 1'000'000'000);
  fields.read("tokens", to.tokens, 0, 1e18);
  fields.read("steps", to.steps, 0, kMost);
  if (to.tokens == 0 && to.steps == 0)
    fields.problem("tokens", "nothing to train: neither tokens nor steps", "ask for one of them");
  const double ranks = static_cast<double>(to.tensor_parallel) *
                       static_cast<double>(to.pipeline_parallel) *
                       static_cast<double>(to.data_parallel);
  if (ranks != static_cast<double>(to.gpus))
    fields.problem(
        "gpus",
        fmt::format("{}, but tensor_parallel {} x pipeline_parallel {} x data_parallel "
                    "{} = {:.0f}",
                    to.gpus, to.tensor_parallel, to.pipeline_parallel, to.data_parallel, ranks),
        kAgain);
  const double batch = static_cast<double>(to.micro_batch) * static_cast<double>(to.accumulate) *
                       static_cast<double>(to.data_parallel);
  if (batch != static_cast<double>(to.global_batch))
    fields.problem(
        "global_batch",
        fmt::format("{}, but micro_batch {} x accumulate {} x data_parallel {} = {:.0f}",
                    to.global_batch, to.micro_batch, to.accumulate, to.data_parallel, batch),
        kAgain);
}

void read_rampup(JsonFields fields, RunConfig& to) {
  RampUp rampup;
  bool fewer_nodes = false;
  fields.required();
  fields.read("start", rampup.start, 1, 1'000'000'000);
  fields.read("step", rampup.step, 1, 1'000'000'000);
  fields.read("samples", rampup.samples, 0, 1'000'000'000'000);
  fields.read("fewer_nodes", fewer_nodes);
  if (rampup.start < 1 || rampup.step < 1) return;
  const auto way = to.global_batch - rampup.start;
  if (way < 0 || way % rampup.step != 0 || way / rampup.step > 1'000'000)
    return fields.problem("step",
                          fmt::format("steps of {} from {} do not lead to the global batch {}",
                                      rampup.step, rampup.start, to.global_batch),
                          kAgain);
  const auto shared = to.micro_batch * (fewer_nodes ? 1 : to.data_parallel);
  if (rampup.start % shared != 0 || rampup.step % shared != 0)
    return fields.problem("start",
                          fmt::format("{} and its steps of {} are not divisible by micro_batch x "
                                      "data_parallel = {}",
                                      rampup.start, rampup.step, shared),
                          kAgain);
  to.rampup = rampup;
}

void read_settings(const Json& json, RunConfig& to) {
  for (const auto& [name, value] : json.items()) {
    auto& setting = to.settings[name];
    if (value.is_boolean())
      setting = value.get<bool>();
    else if (value.is_number_integer())
      setting = value.get<std::int64_t>();
    else if (value.is_number())
      setting = value.get<double>();
    else if (value.is_string())
      setting = value.get<std::string>();
  }
}

void read_run(const Json& json, const std::string& place, RunConfig& to, Errors& errors) {
  JsonFields fields(json, place, errors);
  fields.required();
  fields.read("experiment", to.experiment);
  fields.read("strategy", to.strategy);
  fields.read("backend", to.backend);
  fields.read("gpu", to.gpu);
  if (const auto* model = fields.section("model"))
    read_model({*model, place + "model.", errors}, to.model);
  read_sizes(fields, to);
  if (const auto* rampup = fields.section("rampup"))
    read_rampup({*rampup, place + "rampup.", errors}, to);
  if (const auto* settings = fields.section("settings")) read_settings(*settings, to);
  // Runs that were planned before there was such a section have none.
  JsonFields optional(json, place, errors);
  if (const auto* training = optional.section("training"))
    read_training({*training, place + "training.", errors}, to.training);
}

}  // namespace

Result<RunConfig> parse_config(const std::string& text, const std::string& place) {
  const auto json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Error{place, "is not a JSON object", kAgain};
  if (json.value("version", Json()) != kVersion)
    return Error{place, "was written by another version of orch", kAgain};
  RunConfig config;
  Errors errors;
  read_run(json, place + ": ", config, errors);
  if (!errors.empty()) return errors;
  return config;
}

Result<RunConfig> read_config(const fs::path& run_json) {
  const auto text = read_file(run_json);
  if (!text) return text.error();
  return parse_config(*text, run_json.string());
}

}  // namespace orch::train
