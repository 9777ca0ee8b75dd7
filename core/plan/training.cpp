#include "core/plan/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/number.h"
#include "core/base/text.h"

namespace orch::plan {
namespace {

std::vector<TrainingField> make_training_fields() {
  // In the order of TrainingField::member.
  constexpr std::array kTypes{ParamType::boolean, ParamType::integer, ParamType::real,
                              ParamType::text};
  std::vector<TrainingField> fields;
#define ORCH_FIELD(type, name, value, min, max, doc) \
  fields.push_back({Param{#name, doc}.range(min, max), &Training::name});
  ORCH_TRAINING(ORCH_FIELD)
#undef ORCH_FIELD
  for (auto& field : fields) {
    field.param.type = kTypes[field.member.index()];
    field.param.default_value = get(Training{}, field);
    if (field.param.name != "schedule") continue;
    field.param.type = ParamType::choice;
    field.param.choices = {"cosine", "linear", "constant"};
  }
  return fields;
}

// Three shares such as "969,30,1"; nothing for any other text.
std::optional<std::vector<double>> shares_of(const std::string& text) {
  std::vector<double> shares;
  double sum = 0;
  for (const auto& part : split(text, ',')) {
    const auto share = number_from<double>(trim(part));
    if (!share || *share < 0 || *share >= 1e18) return std::nullopt;
    shares.push_back(*share);
    sum += *share;
  }
  if (shares.size() != 3 || !(sum > 0)) return std::nullopt;
  return shares;
}

void check_rates(const Training& training, const std::string& place, Errors& errors) {
  const bool falls = training.schedule != "constant";
  if (falls && training.min_learning_rate > training.learning_rate)
    errors.push_back({place + ".min_learning_rate",
                      fmt::format("{} is above learning_rate {}", training.min_learning_rate,
                                  training.learning_rate),
                      fmt::format("write min_learning_rate = {:.4g}, a tenth of it",
                                  training.learning_rate / 10)});
  if (falls && training.decay_steps > 0 && training.warmup_steps > training.decay_steps)
    errors.push_back({place + ".warmup_steps",
                      fmt::format("{} steps of warm-up, but the minimum is reached after {}",
                                  training.warmup_steps, training.decay_steps),
                      "lower warmup_steps, or raise decay_steps"});
}

void check_dropout(std::string_view name, double share, const std::string& place, Errors& errors) {
  if (share >= 1)
    errors.push_back({fmt::format("{}.{}", place, name), "1 would drop all values",
                      "give a number from 0 to below 1, such as 0.1"});
}

void check_split(const Training& training, const std::string& place, Errors& errors) {
  const auto shares = shares_of(training.split);
  const auto shown = show(Value(training.split));
  if (!shares) {
    errors.push_back({place + ".split", fmt::format("{} is not a list of three shares", shown),
                      "write split = \"969,30,1\": of training, evaluation and test"});
    return;
  }
  if ((*shares)[0] == 0)
    errors.push_back({place + ".split", fmt::format("{} leaves nothing to train on", shown),
                      "increase the first share, as in \"969,30,1\""});
  if (training.evaluate_every > 0 && (*shares)[1] == 0)
    errors.push_back({place + ".evaluate_every",
                      fmt::format("split {} leaves nothing for evaluation", shown),
                      "increase the second share, as in \"969,30,1\", or set evaluate_every = 0"});
}

}  // namespace

const std::vector<TrainingField>& training_fields() {
  static const auto kAll = make_training_fields();
  return kAll;
}

const TrainingField* find_training_field(std::string_view name) {
  for (const auto& field : training_fields())
    if (field.param.name == name) return &field;
  return nullptr;
}

std::vector<std::string> training_names() {
  return mapped(training_fields(), [](const auto& field) { return field.param.name; });
}

Value get(const Training& training, const TrainingField& field) {
  return std::visit([&](auto member) { return Value(training.*member); }, field.member);
}

void set(Training& training, const TrainingField& field, const Value& conformed) {
  std::visit(
      [&](auto member) {
        training.*member = std::get<std::decay_t<decltype(training.*member)>>(conformed);
      },
      field.member);
}

void fill_in(Training& training, const std::set<std::string>& given) {
  if (!given.contains("min_learning_rate"))
    training.min_learning_rate = std::min(training.min_learning_rate, training.learning_rate);
}

std::string changes(const Training& training) {
  std::vector<std::string> out;
  for (const auto& field : training_fields())
    if (const auto value = get(training, field); value != field.param.default_value)
      out.push_back(fmt::format("{} = {}", field.param.name, show(value)));
  return join(out, ", ");
}

Errors check_training(const Training& training, const std::string& place) {
  Errors errors;
  if (training.keep_checkpoints == 0 && training.checkpoint_every > 0)
    errors.push_back({place + ".keep_checkpoints",
                      fmt::format("0 writes no checkpoints, but checkpoint_every is {}",
                                  training.checkpoint_every),
                      "keep at least one, or leave checkpoint_every out"});
  check_rates(training, place, errors);
  check_dropout("dropout", training.dropout, place, errors);
  check_dropout("attention_dropout", training.attention_dropout, place, errors);
  check_split(training, place, errors);
  return errors;
}

}  // namespace orch::plan
