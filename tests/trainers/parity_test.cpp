// DDP compared with one process in another implementation: autograd and torch::optim::AdamW.
#include <torch/csrc/api/include/torch/optim/adamw.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "backends/runtime/model/stage.h"
#include "core/plan/family.h"
#include "core/plan/model_json.h"
#include "core/train/data/synthetic.h"
#include "tests/runtime/reference.h"
#include "tests/trainers/trainer.h"

using namespace orch;
using namespace orch::test;
using Catch::Matchers::WithinAbs;

namespace {

struct Expected {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> weights;
};

// Cosine from 1e-3 to 1e-4 over 20 steps after 5 of warm-up, by hand.
double rate(int step) {
  if (step <= 5) return 1e-3 * step / 5;
  return 1e-4 + 0.5 * (1e-3 - 1e-4) * (1 + std::cos(M_PI * (step - 5) / 15));
}

struct ParitySamples {
  at::Tensor tokens, targets;
};

ParitySamples read(const data::Dataset& dataset, std::int64_t first, std::int64_t count,
                   std::int64_t seq) {
  auto all = at::empty({count, seq + 1}, at::kLong);
  std::vector<std::int32_t> sample(static_cast<std::size_t>(seq) + 1);
  for (std::int64_t i = 0; i < count; ++i) {
    dataset.read(first + i, sample);
    for (std::int64_t j = 0; j <= seq; ++j) all[i][j] = sample[static_cast<std::size_t>(j)];
  }
  return {all.narrow(1, 0, seq).reshape(-1), all.narrow(1, 1, seq).reshape(-1)};
}

std::vector<float> values(const at::Tensor& tensor) {
  const auto flat = tensor.detach().contiguous().view(-1);
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

// All 8 samples of a step at once.
Expected train_alone(const plan::Model& model) {
  train::Parameters first(train::parameter_specs(model), {});
  first.initialize(7, 0.1, model.layers);
  train::Reference reference(model, first);
  data::DatasetOptions asked;
  asked.seq = 16;
  asked.vocab = 100;
  asked.seed = 7;
  asked.samples = 160;
  const auto dataset = data::open_dataset(asked);
  std::vector<at::Tensor> decaying, plain, all;
  for (auto& [name, weight] : reference.weights()) {
    (weight.dim() > 1 ? decaying : plain).push_back(weight);
    all.push_back(weight);
  }
  using torch::optim::AdamWOptions;
  const auto options = AdamWOptions(1e-3).betas({0.9, 0.95}).eps(1e-5);
  torch::optim::AdamW optimizer(
      {torch::optim::OptimizerParamGroup(
           decaying, std::make_unique<AdamWOptions>(AdamWOptions(options).weight_decay(0.1))),
       torch::optim::OptimizerParamGroup(
           plain, std::make_unique<AdamWOptions>(AdamWOptions(options).weight_decay(0)))},
      options);
  Expected expected;
  for (int step = 1; step <= 20; ++step) {
    optimizer.zero_grad();
    const auto [tokens, targets] = read(**dataset, 8 * (step - 1), 8, 16);
    expected.losses.push_back(reference.loss(tokens, targets));
    double squares = 0;
    for (const auto& weight : all) squares += weight.grad().pow(2).sum().item<double>();
    const double clip = std::min(1.0, 1 / (std::sqrt(squares) + 1e-6));
    for (auto& weight : all) weight.mutable_grad().mul_(clip);
    for (auto& group : optimizer.param_groups())
      static_cast<AdamWOptions&>(group.options()).lr(rate(step));
    optimizer.step();
  }
  for (const auto& [name, weight] : reference.weights())
    expected.weights[name] = values(
        name == train::kWords || name == train::kHeadWords ? weight.narrow(0, 0, 100) : weight);
  return expected;
}

void check(const TrainerRun& run, const Expected& expected, double most) {
  const auto losses = run.losses();
  REQUIRE(losses.size() == 20);
  for (int step = 1; step <= 20; ++step) {
    INFO("step " << step);
    CHECK_THAT(losses.at(step),
               WithinAbs(expected.losses[static_cast<std::size_t>(step) - 1], most));
  }
  const auto weights = run.weights();
  for (const auto& [name, values] : expected.weights) {
    INFO(name);
    CHECK(distance(weights.at(name), values) < most);
  }
}

}  // namespace

TEST_CASE("one, two and four ranks train as one process that is written another way", "[train]") {
  const auto ranks = GENERATE(1, 2, 4);
  static const auto expected = train_alone(plan::sized("gpt", "", 2, 32, 4, 100, 16));
  CHECK(expected.losses.back() < expected.losses.front() - 0.1);  // it does learn
  TrainerRun run(small_run(ranks));
  const auto attempt = run.attempt();
  INFO(attempt.output);
  REQUIRE(attempt.ok());
  CHECK(attempt.finished());
  check(run, expected, 1e-6);
}

TEST_CASE("BLOOM on two ranks trains as one process", "[train]") {
  static const auto expected = train_alone(plan::sized("bloom", "", 2, 32, 4, 100, 16));
  auto json = small_run(2);
  json["model"]["family"] = "bloom";
  TrainerRun run(json);
  const auto attempt = run.attempt();
  INFO(attempt.output);
  REQUIRE(attempt.ok());
  check(run, expected, 1e-6);
}

TEST_CASE("a Llama on two ranks trains as one process", "[train]") {
  auto json = small_run(2);
  json["model"] = small_llama();
  static const auto expected = train_alone(*plan::parse_model(json["model"].dump(), "model"));
  TrainerRun run(json);
  const auto attempt = run.attempt();
  INFO(attempt.output);
  REQUIRE(attempt.ok());
  check(run, expected, 1e-6);
}
