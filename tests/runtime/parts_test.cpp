// Embedding, norms, products, attention and head of one rank, or of two that share each layer,
// compared with autograd on another implementation, with every combination of options.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>

#include "backends/runtime/model/stage.h"
#include "core/plan/family.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/reference.h"

using namespace orch;
using namespace orch::test;
using namespace orch::train;

namespace {

constexpr std::int64_t kVocab = 128;  // 100 words, padded
constexpr std::int64_t kSamples = 3, kFirst = 5, kStep = 7;

struct PartsCase {
  std::string name;
  plan::Model config;
  at::ScalarType dtype;
  double dropout;
  Recompute recompute;
  bool sequence;

  std::string full_name() const {
    return fmt::format("{} {} dropout {} recompute {}{}", name, at::toString(dtype), dropout,
                       static_cast<int>(recompute), sequence ? ", sequence parallel" : "");
  }
};

struct NamedModel {
  std::string name;
  plan::Model config;
};

std::vector<NamedModel> models() {
  std::vector<NamedModel> all = {{"gpt", plan::sized("gpt", "", 2, 32, 4, 100, 16)},
                                 {"bloom", plan::sized("bloom", "", 2, 32, 4, 100, 16)}};
  for (const std::int64_t kv_heads : {4, 2})
    for (const bool qk_norm : {false, true})
      for (const bool qkv_bias : {false, true}) {
        auto llama = some_llama();
        llama.kv_heads = kv_heads;
        llama.qk_norm = qk_norm;
        llama.qkv_bias = qkv_bias;
        llama.tied = qk_norm;
        if (kv_heads == 2) {
          llama.rope_theta = 1000, llama.rope_factor = 4;
          llama.rope_low = 1, llama.rope_high = 3, llama.rope_original = 8;
        }
        all.push_back({fmt::format("llama kv_heads {}{}{}", kv_heads, qk_norm ? " qk_norm" : "",
                                   qkv_bias ? " qkv_bias" : ""),
                       llama});
      }
  return all;
}

std::vector<PartsCase> cases(bool shared) {
  std::vector<PartsCase> all;
  for (const auto& [name, config] : models())
    for (const auto dtype : {at::kFloat, at::kBFloat16})
      for (const double dropout : {0.0, 0.2})
        for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full})
          for (const bool sequence : {false, true})
            if ((shared || !sequence) && (dropout == 0 || !config.rms_norm))
              all.push_back({name, config, dtype, dropout, recompute, sequence});
  return all;
}

// The same values on all ranks: biases and norms differ from their special initial values.
void set_weights(Parameters& parameters, std::int64_t layers) {
  parameters.initialize(5, 0.2, layers);
  for (auto& parameter : parameters)
    if (parameter.spec.shape.size() == 1)
      parameter.master.add_(
          0.1 * at::sin(at::arange(parameter.offsets[0], parameter.offsets[0] + parameter.count,
                                   at::kFloat)));
  parameters.copy_masters_to_weights();
}

// The part of autograd's gradient for this rank's slice.
at::Tensor slice_of(const at::Tensor& whole, const Parameter& parameter) {
  const auto dim = parameter.spec.split_dim;
  if (dim < 0) return whole;
  const auto at = static_cast<std::size_t>(dim);
  return whole.narrow(dim, parameter.offsets[at], parameter.shape[at]);
}

double distance(const at::Tensor& got, const at::Tensor& wanted) {
  return (got - wanted).norm().item<double>() / (wanted.norm().item<double>() + 1e-12);
}

void compare(CommGroup& group, const PartsCase& each) {
  ModelOptions options;
  options.config = each.config;
  options.dtype = each.dtype;
  options.dropout = each.dropout;
  options.recompute = each.recompute;
  options.seed = 11;
  options.axis = TensorAxis(group, each.sequence, nullptr);
  const auto specs = parameter_specs(options.config, LayerSpan::whole(options.config), kVocab);
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
         fmt::format("{}: a loss of {}, not {}", each.full_name(), loss, wanted));
  for (auto& parameter : mine) {
    // The engine adds the rows and heads of other ranks.
    if (parameter.spec.is_partial || (each.sequence && parameter.spec.split_dim < 0))
      group.all_reduce(parameter.gradient).wait();
    const auto off =
        distance(parameter.gradient,
                 slice_of(reference.weights().at(parameter.spec.name).grad(), parameter));
    expect(off < (exact ? 5e-6 : 0.05), fmt::format("{}: the gradient of {} is off by {}",
                                                    each.full_name(), parameter.spec.name, off));
  }
}

// For each layer four tensors as wide as the model, and the rank's share of the others.
std::int64_t put_off_numbers(const plan::Model& model, std::int64_t ranks) {
  const auto heads = model.heads + 2 * model.kv_heads + model.heads;
  const auto mlp = (model.swiglu ? 3 : 2) * model.ffn_hidden;
  return model.layers * kSamples * model.seq *
         (4 * model.hidden + (heads * model.head_dim + mlp) / ranks);
}

void put_off(CommGroup& group, const NamedModel& each, bool sequence) {
  ModelOptions options;
  options.config = each.config;
  options.axis = TensorAxis(group, sequence, nullptr);
  const auto layout =
      lay_out(parameter_specs(options.config, LayerSpan::whole(options.config), kVocab),
              {group.rank(), group.size()});
  Parameters once(layout, {}), later(layout, {});
  set_weights(once, options.config.layers);
  set_weights(later, options.config.layers);
  const auto [tokens, targets] = some_tokens(options.config, kSamples, 3);
  const MicroBatch batch{tokens, targets, kStep, kFirst, tokens.numel()};
  Stage(options, once, nullptr).train(batch, 0.5, {});

  Stage model(options, later, nullptr);
  Stage::Saved saved;
  std::vector<WeightProduct> products;
  model.forward(batch, {}, saved);
  model.backward(batch, {}, 0.5, saved, {Ready(), &products});
  std::int64_t numbers = 0;
  for (const auto& product : products) numbers += product.dy.numel() + product.x.numel();
  const auto wanted = put_off_numbers(options.config, group.size());
  const auto name = fmt::format("{}{}", each.name, sequence ? ", sequence parallel" : "");
  expect(numbers == wanted, fmt::format("{}: {} numbers are kept, not {}", name, numbers, wanted));
  expect(!at::equal(once.gradients(), later.gradients()), name + ": nothing was put off");
  model.add_put_off(products, {});
  expect(at::equal(once.gradients(), later.gradients()), name + ": other gradients");
}

}  // namespace

TEST_CASE("products that are put off keep a rank's widths, and give the same bits",
          "[runtime][parts]") {
  for (const int ranks : {1, 2}) {
    const auto outcomes = run_worlds(ranks, [](World& world) {
      for (const auto& each : models())
        for (const bool sequence : {false, true})
          if (world.size() > 1 || !sequence) put_off(world.world(), each, sequence);
    });
    CHECK(complaints(outcomes) == "");
  }
}

TEST_CASE("every part is what autograd makes of it, on one rank and on two", "[runtime][parts]") {
  for (const int ranks : {1, 2}) {
    const auto outcomes = run_worlds(ranks, [](World& world) {
      for (const auto& each : cases(world.size() > 1)) compare(world.world(), each);
    });
    CHECK(complaints(outcomes) == "");
  }
}
