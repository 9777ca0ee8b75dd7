#include "core/plan/training.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/number.h"
#include "core/base/text.h"

namespace orch::plan {
namespace {

// Far beyond what anyone trains with: they stop typing errors, not ambition.
constexpr double kMostSteps = 1e9;
constexpr double kLeast = 1e-12;  // above zero
constexpr double kAlmostOne = 1 - 1e-12;

using params::integer, params::real, params::text;
using T = Training;

Param steps(const char* name, const char* doc, double least = 0) {
  return integer(name, doc).range(least, kMostSteps);
}

std::vector<TrainingField> make_training_fields() {
  std::vector<TrainingField> fields{
      {real("learning_rate", "at its peak, after the warm-up").range(kLeast, 100), &T::learning_rate},
      {real("min_learning_rate", "where the schedule ends").range(0, 100), &T::min_learning_rate},
      {params::choice("schedule", "of the learning rate after the warm-up", {"cosine", "linear", "constant"}),
       &T::schedule},
      {steps("warmup_steps", "in which the learning rate rises"), &T::warmup_steps},
      {steps("decay_steps", "until the minimum is reached; 0: all steps of the run"), &T::decay_steps},
      {real("weight_decay", "of matrices, not of biases and norms").range(0, 100), &T::weight_decay},
      {real("beta1", "decay of the mean gradient").range(0, kAlmostOne), &T::beta1},
      {real("beta2", "decay of the mean squared gradient").range(0, kAlmostOne), &T::beta2},
      {real("epsilon", "added to the divisor of an update").range(1e-30, 1), &T::epsilon},
      {real("clip", "of the gradient's norm; 0: none").range(0, 1e9), &T::clip},
      {real("dropout", "after the embedding, attention and MLP; below 1").range(0, 1), &T::dropout},
      {real("attention_dropout", "of attention weights; below 1").range(0, 1), &T::attention_dropout},
      {real("init_std", "standard deviation of the first weights").range(0, 100), &T::init_std},
      {integer("seed", "of weights, dropout and the order of the data").range(0, 4294967295.0), &T::seed},
      {real("loss_scale", "fp16: the first one").range(1, 0x1p40), &T::loss_scale},
      {steps("loss_scale_window", "fp16: steps without overflow until the scale doubles", 1),
       &T::loss_scale_window},
      {text("data", "prefix of .bin and .idx; empty: synthetic tokens"), &T::data},
      {text("split", "shares of training, evaluation and test"), &T::split},
      {steps("evaluate_every", "steps; 0: never"), &T::evaluate_every},
      {steps("evaluate_batches", "global batches of one evaluation", 1), &T::evaluate_batches},
      {steps("checkpoint_every", "steps; 0: at the end and when told to stop"), &T::checkpoint_every},
      {integer("keep_checkpoints", "the last so many").range(1, 1e6), &T::keep_checkpoints},
      {text("init", "a checkpoint whose weights to begin with; empty: random ones"), &T::init},
      {steps("log_every", "steps between two lines of events", 1), &T::log_every},
      {params::boolean("tensorboard", "write TensorBoard event files"), &T::tensorboard},
      {real("collective_timeout", "seconds until a collective counts as stuck").range(1e-3, 1e6),
       &T::collective_timeout},
  };
  for (auto& field : fields) field.param.default_value = get(Training{}, field);
  return fields;
}

// Three shares such as "969,30,1"; nothing if they are none.
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
    errors.push_back({fmt::format("{}.{}", place, name), "1 would drop everything",
                      "give a number from 0 to below 1, such as 0.1"});
}

void check_split(const Training& training, const std::string& place, Errors& errors) {
  const auto shares = shares_of(training.split);
  const auto shown = show(Value(training.split));
  if (!shares) {
    errors.push_back({place + ".split", fmt::format("{} is not three shares", shown),
                      "write split = \"969,30,1\": of training, evaluation and test"});
    return;
  }
  if ((*shares)[0] == 0)
    errors.push_back({place + ".split", fmt::format("{} leaves nothing to train on", shown),
                      "raise the first share, as in \"969,30,1\""});
  if (training.evaluate_every > 0 && (*shares)[1] == 0)
    errors.push_back({place + ".evaluate_every",
                      fmt::format("split {} holds nothing out to evaluate on", shown),
                      "raise the second share, as in \"969,30,1\", or set evaluate_every = 0"});
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
  std::vector<std::string> names;
  for (const auto& field : training_fields()) names.push_back(field.param.name);
  return names;
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
  check_rates(training, place, errors);
  check_dropout("dropout", training.dropout, place, errors);
  check_dropout("attention_dropout", training.attention_dropout, place, errors);
  check_split(training, place, errors);
  return errors;
}

}  // namespace orch::plan
