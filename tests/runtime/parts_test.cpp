// Embedding, norms, products, attention and head of one rank or of two that share each layer, against
// autograd on another implementation, in every combination of what they can do.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>

#include "backends/runtime/model/stage.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/reference.h"

using namespace orch;
using namespace orch::test;
using namespace orch::train;

namespace {

constexpr std::int64_t kVocab = 128;  // 100 words, padded
constexpr std::int64_t kSamples = 3, kFirst = 5, kStep = 7;

struct Case {
  plan::Family family;
  at::ScalarType dtype;
  double dropout;
  Recompute recompute;
  bool sequence;

  std::string name() const {
    return fmt::format("{} {} dropout {} recompute {}{}", family == plan::Family::gpt ? "gpt" : "bloom",
                       at::toString(dtype), dropout, static_cast<int>(recompute),
                       sequence ? ", sequence parallel" : "");
  }
};

std::vector<Case> cases(bool shared) {
  std::vector<Case> all;
  for (const auto family : {plan::Family::gpt, plan::Family::bloom})
    for (const auto dtype : {at::kFloat, at::kBFloat16})
      for (const double dropout : {0.0, 0.2})
        for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full})
          for (const bool sequence : {false, true})
            if (shared || !sequence) all.push_back({family, dtype, dropout, recompute, sequence});
  return all;
}

// The same values whoever has them: biases and norms that are not at their special first values.
void set_weights(Parameters& parameters, std::int64_t layers) {
  parameters.initialize(5, 0.2, layers);
  for (auto& parameter : parameters)
    if (parameter.spec.shape.size() == 1)
      parameter.master.add_(
          0.1 * at::sin(at::arange(parameter.offsets[0], parameter.offsets[0] + parameter.count, at::kFloat)));
  parameters.copy_masters_to_weights();
}

// What autograd has of this rank's slice.
at::Tensor slice_of(const at::Tensor& whole, const Parameter& parameter) {
  const auto dim = parameter.spec.split_dim;
  if (dim < 0) return whole;
  const auto at = static_cast<std::size_t>(dim);
  return whole.narrow(dim, parameter.offsets[at], parameter.shape[at]);
}

double distance(const at::Tensor& got, const at::Tensor& wanted) {
  return (got - wanted).norm().item<double>() / (wanted.norm().item<double>() + 1e-12);
}

void compare(Group& group, const Case& each) {
  ModelOptions options;
  options.config = {"", each.family, 2, 32, 4, 100, 16};
  options.dtype = each.dtype;
  options.dropout = each.dropout;
  options.recompute = each.recompute;
  options.seed = 11;
  options.axis = TensorAxis(group, each.sequence, nullptr);
  const auto specs = parameter_specs(options.config, Span::whole(options.config), kVocab);
  Parameters whole(specs, {each.dtype}),
      mine(lay_out(specs, {group.rank(), group.size()}), {each.dtype});
  set_weights(whole, options.config.layers);
  set_weights(mine, options.config.layers);
  Stage model(options, mine, nullptr);
  Reference reference(options.config, whole);
  if (each.dropout > 0)
    reference.drop = [&](const at::Tensor& x, std::int64_t layer, int site) {
      const Dropout dropout{each.dropout, dropout_key(11, kStep, layer, site),
                            kFirst * options.config.seq * options.config.hidden};
      return x * ops::dropout(at::ones(x.sizes()), dropout);
    };
  const auto [tokens, targets] = some_tokens(options.config, kSamples, 3);
  const MicroBatch batch{tokens, targets, kStep, kFirst, tokens.numel()};
  const double wanted = reference.loss(tokens, targets, 0.5);
  const double loss = model.train(batch, 0.5, {}).item<double>();
  const bool exact = each.dtype == at::kFloat;
  expect(std::abs(loss - wanted) < (exact ? 1e-5 : 0.03),
         fmt::format("{}: a loss of {}, not {}", each.name(), loss, wanted));
  for (auto& parameter : mine) {
    // Rows of other ranks are added by the engine.
    if (each.sequence && parameter.spec.split_dim < 0) group.all_reduce(parameter.gradient).wait();
    const auto off = distance(parameter.gradient,
                              slice_of(reference.weights().at(parameter.spec.name).grad(), parameter));
    expect(off < (exact ? 5e-6 : 0.05),
           fmt::format("{}: the gradient of {} is off by {}", each.name(), parameter.spec.name, off));
  }
}

}  // namespace

TEST_CASE("every part is what autograd makes of it, on one rank and on two", "[runtime][parts]") {
  for (const int ranks : {1, 2}) {
    const auto outcomes = run_worlds(ranks, [](World& world) {
      for (const auto& each : cases(world.size() > 1)) compare(world.world(), each);
    });
    CHECK(complaints(outcomes) == "");
  }
}
