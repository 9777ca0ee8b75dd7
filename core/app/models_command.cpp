#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/family.h"
#include "core/plan/model_json.h"
#include "core/show/tables/json.h"

namespace orch::app {
namespace {

using Json = nlohmann::ordered_json;
using show::Rows;

std::string size(double params) {
  if (params < 1e9) return fmt::format("{:.1f}M", params / 1e6);
  return fmt::format("{:.{}f}B", params / 1e9, params < 1e10 ? 2 : 0);
}

Json named_json(const plan::Model& model) {
  Json json{{"name", model.name}};
  json.update(Json::parse(plan::model_json(model)));
  json["params"] = model.params();
  if (model.mixture()) json["active_params"] = model.active_params();
  return json;
}

Ending list_models(const App& app, const std::vector<plan::Model>& models, const Common& common,
                   Console& console) {
  if (common.format == "json") {
    Json list = Json::array();
    for (const auto& model : models) {
      list.push_back(named_json(model));
      list.back()["file"] = app.loader().preset_file(model.name).string();
    }
    console.print(tables::dump(Json{{"version", 1}, {"models", list}}));
    return Exit::ok;
  }
  Rows rows{{"model", "family", "layers", "hidden", "heads", "head dim", "vocab", "seq", "params",
             "hidden/layers", "from"}};
  for (const auto& m : models)
    rows.push_back({m.name, m.family, std::to_string(m.layers), std::to_string(m.hidden),
                    std::to_string(m.heads), std::to_string(m.head_dim), std::to_string(m.vocab),
                    std::to_string(m.seq), size(m.params()), std::to_string(m.hidden / m.layers),
                    app.places().source(app.loader().preset_file(m.name))});
  rows = show::without_plain(std::move(rows), "from", "shipped");
  console.print(show::grid(rows, common.screen));
  return Exit::ok;
}

struct Part {
  std::string name;
  double params;
  double per_gpu;
};

// How the parameters spread over tensor and pipeline ranks.
std::vector<Part> parts_of(const plan::Model& m, const ModelArguments& a) {
  const double tp = a.tensor_parallel;
  const double layers = static_cast<double>(m.layers) / a.pipeline_parallel;
  const double stage = layers * m.layer_params(), edge = stage + m.embedding_params();
  return {{"embedding", m.embedding_params(), m.embedding_params() / tp},
          {m.dense_layers > 0 ? "one layer, the mean of all" : "one layer", m.layer_params(),
           m.layer_params() / tp},
          {fmt::format("a stage of {:g} layers", layers), stage, stage / tp},
          {"the same with the embedding", edge, edge / tp}};
}

std::string shares(const plan::Model& m, const ModelArguments& a) {
  Rows rows{
      {"part", "parameters", "per GPU", fmt::format("bytes at {:g} each", a.bytes_per_param)}};
  for (const auto& part : parts_of(m, a))
    rows.push_back({part.name, group_digits(part.params), group_digits(part.per_gpu),
                    group_digits(part.per_gpu * a.bytes_per_param)});
  return fmt::format("Model state with tensor_parallel {}, pipeline_parallel {}:\n",
                     a.tensor_parallel, a.pipeline_parallel) +
         (a.common.screen.markdown ? "\n" : "") + show::grid(rows, a.common.screen);
}

// "888,888.89".
std::string with_cents(double number) {
  return std::abs(number) < 1e15 ? group_digits(number, 2) : format_number(number);
}

// Those that a token costs time for.
double trained_params(const plan::Model& model) {
  return model.mixture() ? model.active_params() : model.params();
}

Json training_json(double params, const ModelArguments& a) {
  Json json{{"params", params},
            {"tokens", a.tokens},
            {"tflops_per_gpu", a.tflops},
            {"tflops_convention", "simple"},
            {"gpu_hours", plan::gpu_hours_to_train(params, a.tokens, a.tflops)}};
  if (a.gpus > 0) {
    json["gpus"] = a.gpus;
    json["days"] = plan::days_to_train(params, a.tokens, a.gpus, a.tflops);
  }
  return json;
}

std::string training(double params, const ModelArguments& a) {
  std::string out =
      fmt::format("8 x {} parameters x {} tokens at {:g} TFLOPs per GPU: {} GPU-hours",
                  format_tokens(params), format_tokens(a.tokens), a.tflops,
                  with_cents(plan::gpu_hours_to_train(params, a.tokens, a.tflops)));
  if (a.gpus > 0) {
    const double days = plan::days_to_train(params, a.tokens, a.gpus, a.tflops);
    out += fmt::format(", {} days on {:g} GPUs",
                       days < 1e15 ? fmt::format("{:.2f}", days) : format_number(days), a.gpus);
  }
  return out + "\n";
}

Ending show_model(const plan::Model& model, const ModelArguments& arguments, Console& console) {
  if (arguments.common.format == "json") {
    Json json{{"version", 1}};
    json.update(named_json(model));
    json["embedding_params"] = model.embedding_params();
    json["layer_params"] = model.layer_params();
    json["tensor_parallel"] = arguments.tensor_parallel;
    json["pipeline_parallel"] = arguments.pipeline_parallel;
    Json parts = Json::array();
    for (const auto& part : parts_of(model, arguments))
      parts.push_back({{"part", part.name},
                       {"params", part.params},
                       {"params_per_gpu", part.per_gpu},
                       {"bytes_per_gpu", part.per_gpu * arguments.bytes_per_param}});
    json["parts"] = std::move(parts);
    if (arguments.tokens > 0 && arguments.tflops > 0)
      json["training"] = training_json(trained_params(model), arguments);
    console.print(tables::dump(json));
    return Exit::ok;
  }
  console.print(
      fmt::format("{} ({}): {} parameters, {}{}; {} layers x {} hidden (ratio {}), {} heads of {}, "
                  "vocabulary {}, {} tokens\n\n",
                  model.name, model.family, group_digits(model.params()), size(model.params()),
                  model.mixture() ? ", of which a token meets " + size(model.active_params()) : "",
                  model.layers, model.hidden, model.hidden / model.layers, model.heads,
                  model.head_dim, model.vocab, model.seq) +
      shares(model, arguments));
  if (arguments.tokens > 0 && arguments.tflops > 0)
    console.print("\n" + training(trained_params(model), arguments));
  return Exit::ok;
}

}  // namespace

Ending models_command(App& app, const ModelArguments& arguments, Console& console) {
  if (arguments.params > 0) {
    if (arguments.tokens <= 0 || arguments.tflops <= 0)
      return {Error{"orch models --params", "needs --tokens and --tflops",
                    "orch models --params 200e9 --tokens 300e9 --tflops 150 --gpus 350"},
              Exit::usage};
    if (arguments.common.format == "json") {
      Json json{{"version", 1}};
      json.update(training_json(arguments.params, arguments));
      console.print(tables::dump(json));
    } else {
      console.print(training(arguments.params, arguments));
    }
    return Exit::ok;
  }
  app.look_in(".");
  const auto models = app.loader().presets();
  if (!models) return models.error();
  if (arguments.name.empty()) return list_models(app, *models, arguments.common, console);
  const auto found = std::find_if(models->begin(), models->end(), [&](const plan::Model& model) {
    return model.name == arguments.name;
  });
  if (found != models->end()) return show_model(*found, arguments, console);
  return Error{printable(arguments.name), "no such model",
               suggestion(arguments.name, all_names(*models))};
}

}  // namespace orch::app
