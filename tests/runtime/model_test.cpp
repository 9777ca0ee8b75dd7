#include "backends/runtime/model/stage.h"

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <set>

#include "tests/runtime/reference.h"

using namespace orch;
using namespace orch::train;
using Catch::Matchers::WithinAbs;

namespace {

plan::Model tiny(plan::Family family) { return {"", family, 2, 32, 4, 100, 16}; }

// 1e-6 of the largest gradient: what fp32 can tell apart over sums of hundreds.
double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>() / (b.abs().max().item<double>() + 1e-12);
}

struct Setup {
  explicit Setup(ModelOptions asked) : options(std::move(asked)) {
    parameters.initialize(5, 0.2, options.config.layers);
    // Biases and norms that are not at their special first values.
    for (auto& parameter : parameters)
      if (parameter.spec.shape.size() == 1)
        parameter.master.add_(0.1 * at::sin(at::arange(parameter.count, at::kFloat)));
    parameters.copy_masters_to_weights();
  }
  MicroBatch batch(std::int64_t samples, std::int64_t first = 0) const {
    const auto [tokens, targets] = some_tokens(options.config, samples, 3);
    return {tokens, targets, 1, first};
  }

  ModelOptions options;
  Parameters parameters{parameter_specs(options.config), {options.dtype, true, options.device}};
  Stage model{options, parameters, nullptr};
};

ModelOptions options_of(plan::Family family) {
  ModelOptions options;
  options.config = tiny(family);
  return options;
}

}  // namespace

TEST_CASE("loss and gradients are those of autograd on another implementation", "[runtime]") {
  const auto family = GENERATE(plan::Family::gpt, plan::Family::bloom);
  Setup setup(options_of(family));
  Reference reference(setup.options.config, setup.parameters);
  const auto batch = setup.batch(3);

  const double expected = reference.loss(batch.tokens, batch.targets, 0.5);
  const double loss = setup.model.train(batch, 0.5, {}).item<double>();

  CHECK_THAT(loss, WithinAbs(expected, 1e-5));
  CHECK_THAT(setup.model.evaluate(batch).item<double>(), WithinAbs(expected, 1e-5));
  for (const auto& parameter : setup.parameters) {
    INFO(parameter.spec.name);
    CHECK(distance(parameter.gradient, reference.weights().at(parameter.spec.name).grad()) < 5e-6);
  }
}

TEST_CASE("logits are those of another implementation", "[runtime]") {
  const auto family = GENERATE(plan::Family::gpt, plan::Family::bloom);
  Setup setup(options_of(family));
  Reference reference(setup.options.config, setup.parameters);
  const auto batch = setup.batch(2);
  const auto expected = reference.logits(batch.tokens).narrow(1, 0, 100).detach();
  CHECK(distance(setup.model.logits(batch), expected) < 5e-6);
}

TEST_CASE("gradients of micro-batches add up", "[runtime]") {
  Setup whole(options_of(plan::Family::gpt)), parts(options_of(plan::Family::gpt));
  const auto batch = whole.batch(4);
  whole.model.train(batch, 1, {});
  for (int part = 0; part < 2; ++part)
    parts.model.train({batch.tokens.narrow(0, part * 32, 32),
                       batch.targets.narrow(0, part * 32, 32), 1, 2 * part},
                      0.5, {});
  CHECK(distance(parts.parameters.gradients(), whole.parameters.gradients()) < 2e-6);
}

TEST_CASE("recomputation changes no bit, with dropout too", "[runtime]") {
  const auto recompute = GENERATE(Recompute::selective, Recompute::full);
  const auto family = GENERATE(plan::Family::gpt, plan::Family::bloom);
  auto options = options_of(family);
  options.dropout = 0.1;
  options.attention_dropout = 0.1;
  Setup plain(options);
  options.recompute = recompute;
  Setup again(options);
  const auto batch = plain.batch(3, 12);
  const auto expected = plain.model.train(batch, 1, {});
  const auto loss = again.model.train(batch, 1, {});
  CHECK(at::equal(loss, expected));
  CHECK(at::equal(again.parameters.gradients(), plain.parameters.gradients()));
  CHECK(again.model.activation_bytes() < plain.model.activation_bytes());
}

TEST_CASE("dropout depends on the sample, not on the micro-batch it is in", "[runtime]") {
  auto options = options_of(plan::Family::gpt);
  options.dropout = 0.2;
  options.attention_dropout = 0.2;
  Setup whole(options), parts(options);
  const auto batch = whole.batch(4, 8);
  whole.model.train(batch, 1, {});
  for (int part = 0; part < 4; ++part)
    parts.model.train({batch.tokens.narrow(0, part * 16, 16),
                       batch.targets.narrow(0, part * 16, 16), 1, 8 + part},
                      0.25, {});
  CHECK(distance(parts.parameters.gradients(), whole.parameters.gradients()) < 2e-6);
  Setup other(options);
  auto next = batch;
  next.step = 2;
  other.model.train(next, 1, {});
  CHECK(distance(other.parameters.gradients(), whole.parameters.gradients()) > 1e-2);
  CHECK(at::equal(whole.model.evaluate(batch), whole.model.evaluate(next)));  // drops nothing
}

TEST_CASE("every parameter is told ready once, in the order of the buffers", "[runtime]") {
  const auto family = GENERATE(plan::Family::gpt, plan::Family::bloom);
  Setup setup(options_of(family));
  std::vector<std::size_t> order, expected;
  setup.model.train(setup.batch(1), 1, [&](std::size_t index) { order.push_back(index); });
  for (std::size_t i = 0; i < setup.parameters.size(); ++i) expected.push_back(i);
  CHECK(order == expected);
}

TEST_CASE("weight decay: matrices and embeddings, not biases and norms", "[runtime]") {
  for (const auto family : {plan::Family::gpt, plan::Family::bloom})
    for (const auto& spec : parameter_specs(tiny(family))) {
      INFO(spec.name);
      CHECK(spec.decay == (spec.shape.size() == 2));
      // BLOOM's embedding norm once landed in the other group: losses spiked after restarts.
      if (spec.name.starts_with("embedding_norm")) CHECK_FALSE(spec.decay);
    }
}

TEST_CASE("the number of parameters is the published formula's", "[runtime]") {
  const plan::Model gpt2{"", plan::Family::gpt, 12, 768, 12, 50257, 1024};
  std::int64_t count = 0;
  for (const auto& spec : parameter_specs(gpt2)) {
    std::int64_t elements = 1;
    for (const auto size : spec.shape) elements *= size;
    count += elements;
  }
  // GPT-2 small has 124,439,808; 47 rows of padding are added to its 50,257.
  CHECK(count == 124439808 + 47 * 768);
}

TEST_CASE("16-bit types follow fp32 as far as they can", "[runtime]") {
  const auto dtype = GENERATE(at::kBFloat16, at::kHalf);
  auto options = options_of(plan::Family::gpt);
  Setup wide(options);
  options.dtype = dtype;
  Setup half(options);
  const auto batch = wide.batch(2);
  const double expected = wide.model.train(batch, 1, {}).item<double>();
  const double loss = half.model.train(batch, 1, {}).item<double>();
  // One part in 2^8 (bf16) or 2^11 (fp16) per rounding.
  CHECK_THAT(loss, WithinAbs(expected, dtype == at::kHalf ? 0.01 : 0.1));
  const auto a = half.parameters.gradients(), b = wide.parameters.gradients();
  const double cosine = ((a * b).sum() / (a.norm() * b.norm())).item<double>();
  CHECK(cosine > (dtype == at::kHalf ? 0.9999 : 0.99));
}
