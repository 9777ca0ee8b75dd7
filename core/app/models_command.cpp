#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/family.h"

namespace orch::app {
namespace {

std::string size(double params) {
  if (params < 1e9) return fmt::format("{:.1f}M", params / 1e6);
  return fmt::format("{:.{}f}B", params / 1e9, params < 1e10 ? 2 : 0);
}

using plan::Model;

// Nothing if all models of its family have the same value.
plan::Value size_of(const Model& model, plan::Field field) {
  return plan::is_open(model, field) ? plan::get(model, field) : plan::Value();
}

show::Table models_table(const App& app, std::vector<Model> models) {
  show::Columns<Model> columns(std::move(models));
  const auto add = [&](const char* name, const char* title, int rank, auto read) {
    columns.add(name, title, rank, read);
  };
  const auto from = [&](const Model& m) {
    return app.places().source(app.loader().preset_file(m.name));
  };
  add("name", "model", 0, [](const Model& m) { return m.name; });
  add("family", "family", 1, [](const Model& m) { return m.family; });
  add("layers", "layers", 1, [](const Model& m) { return m.layers; });
  add("hidden", "hidden", 1, [](const Model& m) { return m.hidden; });
  add("heads", "heads", 2, [](const Model& m) { return m.heads; });
  add("head_dim", "head dim", 3, [](const Model& m) { return m.head_dim; });
  add("vocab", "vocab", 3, [](const Model& m) { return m.vocab; });
  add("seq", "seq", 2, [](const Model& m) { return m.seq; });
  add("params", "params", 0,
      [](const Model& m) { return show::Cell(m.params(), size(m.params())); });
  add("active_params", "", 0, [](const Model& m) { return m.active_params(); });
  add("", "hidden/layers", 4, [](const Model& m) { return m.hidden / m.layers; });
  const bool shipped =
      std::ranges::all_of(columns.rows(), [&](const Model* m) { return from(*m) == "shipped"; });
  if (!shipped) add("", "from", 2, from);
  for (int i = 0; i < plan::kFields; ++i)
    if (const auto field = static_cast<plan::Field>(i);
        plan::is_size(field) && !columns.has(plan::name(field)))
      columns.add(std::string(plan::name(field)),
                  [field](const Model& m) { return size_of(m, field); });
  add("file", "", 0, [&](const Model& m) { return app.loader().preset_file(m.name).string(); });
  return columns.table("models");
}

struct ModelPart {
  std::string name;
  double params;
  double per_gpu;
};

// The distribution of parameters over tensor and pipeline ranks.
std::vector<ModelPart> parts_of(const plan::Model& m, const ModelArguments& a) {
  const double tp = a.tensor_parallel;
  const double layers = static_cast<double>(m.layers) / a.pipeline_parallel;
  const double stage = layers * m.layer_params(), edge = stage + m.embedding_params();
  return {{"embedding", m.embedding_params(), m.embedding_params() / tp},
          {m.dense_layers > 0 ? "one layer, the mean of all" : "one layer", m.layer_params(),
           m.layer_params() / tp},
          {fmt::format("a stage of {:g} layers", layers), stage, stage / tp},
          {"the same with the embedding", edge, edge / tp}};
}

show::Table parts_table(const Model& model, const ModelArguments& a) {
  show::Columns<ModelPart> columns(parts_of(model, a));
  const auto whole = [](double number) { return show::Cell(number, group_digits(number)); };
  columns.add("part", "part", 0, [](const ModelPart& part) { return part.name; });
  columns.add("params", "parameters", 0, [=](const ModelPart& part) { return whole(part.params); });
  columns.add("params_per_gpu", "per GPU", 0,
              [=](const ModelPart& part) { return whole(part.per_gpu); });
  columns.add("bytes_per_gpu", fmt::format("bytes at {:g} each", a.bytes_per_param), 0,
              [=](const ModelPart& part) { return whole(part.per_gpu * a.bytes_per_param); });
  return columns.table("parts",
                       fmt::format("Model state with tensor_parallel {}, pipeline_parallel {}",
                                   a.tensor_parallel, a.pipeline_parallel));
}

// "888,888.89".
std::string with_cents(double number) {
  return std::abs(number) < 1e15 ? group_digits(number, 2) : format_number(number);
}

// The parameters that take part in the computation of a token.
double trained_params(const plan::Model& model) {
  return model.mixture() ? model.active_params() : model.params();
}

std::string training_text(double params, const ModelArguments& a) {
  std::string out =
      fmt::format("8 x {} parameters x {} tokens at {:g} TFLOPs per GPU: {} GPU-hours",
                  format_tokens(params), format_tokens(a.tokens), a.tflops,
                  with_cents(plan::gpu_hours_to_train(params, a.tokens, a.tflops)));
  if (a.gpus > 0) {
    const double days = plan::days_to_train(params, a.tokens, a.gpus, a.tflops);
    out += fmt::format(", {} days on {:g} GPUs",
                       days < 1e15 ? fmt::format("{:.2f}", days) : format_number(days), a.gpus);
  }
  return out;
}

// The cost of training by arithmetic; for people a sentence.
void add_training(double params, const ModelArguments& a, show::Answer& to) {
  show::Details details{"training"};
  details.pairs = {{"params", params},
                   {"tokens", a.tokens},
                   {"tflops_per_gpu", a.tflops},
                   {"tflops_convention", "simple"},
                   {"gpu_hours", plan::gpu_hours_to_train(params, a.tokens, a.tflops)}};
  if (a.gpus > 0) {
    details.pairs.emplace_back("gpus", a.gpus);
    details.pairs.emplace_back("days", plan::days_to_train(params, a.tokens, a.gpus, a.tflops));
  }
  to.sections.push_back(std::move(details));
  to.sections.push_back(show::Findings{"", {{"training", training_text(params, a)}}});
}

show::Details facts_of(const Model& model) {
  show::Details out{"model"};
  out.pairs = {{"name", model.name}, {"family", model.family}};
  for (const auto& size : plan::family_of(model).sizes)
    if (size.open) out.pairs.emplace_back(plan::name(size.field), plan::get(model, size.field));
  out.pairs.emplace_back("params", model.params());
  if (model.mixture()) out.pairs.emplace_back("active_params", model.active_params());
  out.pairs.emplace_back("embedding_params", model.embedding_params());
  out.pairs.emplace_back("layer_params", model.layer_params());
  return out;
}

show::Answer model_answer(const Model& model, const ModelArguments& arguments) {
  show::Answer out{
      model.name,
      fmt::format(
          "{} ({}): {} parameters, {}{}; {} layers x {} hidden (ratio {}), {} heads of {}, "
          "vocabulary {}, {} tokens",
          model.name, model.family, group_digits(model.params()), size(model.params()),
          model.mixture() ? " of which active for a token: " + size(model.active_params()) : "",
          model.layers, model.hidden, model.hidden / model.layers, model.heads, model.head_dim,
          model.vocab, model.seq),
      {facts_of(model), parts_table(model, arguments)}};
  if (arguments.tokens > 0 && arguments.tflops > 0)
    add_training(trained_params(model), arguments, out);
  return out;
}

Result<show::Answer> answer_of(App& app, const ModelArguments& arguments) {
  app.look_in(".");
  auto models = app.loader().presets();
  if (!models) return models.error();
  if (arguments.name.empty()) return show::Answer{"", "", {models_table(app, std::move(*models))}};
  const auto found = std::ranges::find(*models, arguments.name, &Model::name);
  if (found != models->end()) return model_answer(*found, arguments);
  return Error{printable(arguments.name), "no such model",
               suggestion(arguments.name, all_names(*models))};
}

}  // namespace

Ending models_command(App& app, const ModelArguments& arguments, Console& console) {
  if (arguments.params > 0) {
    if (arguments.tokens <= 0 || arguments.tflops <= 0)
      return {Error{"orch models --params", "needs --tokens and --tflops",
                    "orch models --params 200e9 --tokens 300e9 --tflops 150 --gpus 350"},
              Exit::usage};
    show::Answer out;
    add_training(arguments.params, arguments, out);
    arguments.common.give(out, console);
    return Exit::ok;
  }
  const auto answer = answer_of(app, arguments);
  if (!answer) return answer.error();
  arguments.common.give(*answer, console);
  return Exit::ok;
}

}  // namespace orch::app
