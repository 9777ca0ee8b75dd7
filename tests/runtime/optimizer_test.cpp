#include "backends/runtime/step/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <bit>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "backends/runtime/kernels/adamw_kernel.h"

using namespace orch::train;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The matrix and the vector of optimizer_reference.py.
std::vector<ParameterSpec> two() {
  return {{"matrix", {3, 4}, -1, WeightInit::zeros, true},
          {"vector", {4}, -1, WeightInit::zeros, false}};
}

void fill_weights(Parameters& parameters) {
  for (auto& parameter : parameters) {
    auto flat = parameter.master.view({-1});
    for (std::int64_t i = 0; i < parameter.count; ++i) flat[i] = double((i * 7) % 11 - 5) / 8;
  }
  parameters.copy_masters_to_weights();
}

void fill_gradients(Parameters& parameters, std::int64_t step) {
  for (auto& parameter : parameters) {
    auto flat = parameter.gradient.view({-1});
    for (std::int64_t i = 0; i < parameter.count; ++i)
      flat[i] = double((i * 5 + step * 3) % 13 - 6) / 4;
  }
}

void check_values(const at::Tensor& actual, const std::vector<double>& expected, double tolerance) {
  const auto flat = actual.to(at::kDouble).view({-1});
  REQUIRE(flat.numel() == static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO(i);
    CHECK(std::abs(flat[static_cast<std::int64_t>(i)].item<double>() - expected[i]) <= tolerance);
  }
}

void five_steps(const std::string& optimizer, Parameters& parameters) {
  const auto made = make_optimizer(optimizer, parameters, {});
  fill_weights(parameters);
  for (std::int64_t step = 1; step <= 5; ++step) {
    fill_gradients(parameters, step);
    made->step(0.01, 0.5, step);
  }
}

const std::vector<double> kAdamwMatrix = {-0.612245857, 0.229224878,  -0.220496790, 0.622241498,
                                          0.125396988,  -0.352956352, 0.486214027,  -0.017672403,
                                          -0.483283925, 0.345798907,  -0.095519462, -0.641814367};
const std::vector<double> kAdamwVector = {-0.615311096, 0.230403360, -0.221658425, 0.625375311};
const std::vector<double> kAdafactorMatrix = {
    -0.625522537, 0.243783057,  -0.249701819, 0.622969585, 0.128925670,  -0.363884697,
    0.509846582,  -0.020881622, -0.482150341, 0.352471024, -0.104202930, -0.634053653};
const std::vector<double> kAdafactorVector = {-0.629716063, 0.239423622, -0.255731379, 0.626543952};

}  // namespace

// Expected: tests/runtime/optimizer_reference.py, which computes in float64 from the papers.
TEST_CASE("AdamW gives the values of its paper", "[runtime][optim]") {
  Parameters parameters(two(), {});
  five_steps("adamw", parameters);
  check_values(parameters[0].weight, kAdamwMatrix, 2e-7);
  check_values(parameters[1].weight, kAdamwVector, 2e-7);
}

TEST_CASE("Adafactor gives the values of its paper", "[runtime][optim]") {
  Parameters parameters(two(), {});
  five_steps("adafactor", parameters);
  check_values(parameters[0].weight, kAdafactorMatrix, 2e-7);
  check_values(parameters[1].weight, kAdafactorVector, 2e-7);
}

TEST_CASE("masters of 16-bit weights follow the same values, weights are their nearest",
          "[runtime][optim]") {
  for (const auto type : {at::kBFloat16, at::kHalf})
    for (const std::string name : {"adamw", "adafactor"}) {
      INFO(name << " " << at::toString(type));
      Parameters parameters(two(), {type, true, at::kCPU});
      five_steps(name, parameters);
      check_values(parameters[0].master, name == "adamw" ? kAdamwMatrix : kAdafactorMatrix, 2e-7);
      CHECK(at::equal(parameters.weights(), parameters.masters().to(type)));
    }
}

// Half way between two bf16 numbers: to the even one, up or down. A rate of zero leaves masters
// unchanged.
TEST_CASE("weights half way between two bf16 numbers are rounded to the even one",
          "[runtime][optim]") {
  ParameterOptions options;
  options.dtype = at::kBFloat16;
  Parameters parameters({{"a", {8, 5}, -1, WeightInit::zeros, false}}, options);
  const std::vector<std::pair<std::uint32_t, std::uint16_t>> cases = {
      {0x3f808000u, 0x3f80}, {0x3f818000u, 0x3f82}, {0x3f808001u, 0x3f81}, {0x3f807fffu, 0x3f80},
      {0xbf808000u, 0xbf80}, {0xbf818000u, 0xbf82}, {0x7f7f8000u, 0x7f80}};
  auto* masters = parameters.masters().data_ptr<float>();
  for (std::int64_t i = 0; i < 40; ++i)
    masters[i] = std::bit_cast<float>(cases[static_cast<std::size_t>(i) % cases.size()].first);
  make_optimizer("adamw", parameters, {})->step(0, 1, 1);
  const auto* weights = static_cast<const std::uint16_t*>(parameters.weights().data_ptr());
  for (std::int64_t i = 0; i < 40; ++i) {
    CAPTURE(i);
    CHECK(weights[i] == cases[static_cast<std::size_t>(i) % cases.size()].second);
  }
}

TEST_CASE("without masters the optimizers work in 16 bits", "[runtime][optim]") {
  for (const auto type : {at::kBFloat16, at::kHalf})
    for (const std::string name : {"adamw", "adafactor"}) {
      INFO(name << " " << at::toString(type));
      Parameters parameters(two(), {type, false, at::kCPU});
      five_steps(name, parameters);
      // Five roundings of weights below 1, and of moments: 8 bits in bf16, 11 in fp16.
      const double tolerance = type == at::kHalf ? 0.002 : 0.015;
      check_values(parameters[0].weight, name == "adamw" ? kAdamwMatrix : kAdafactorMatrix,
                   tolerance);
    }
}

// A constant gradient makes each step of AdamW as long as the learning rate.
TEST_CASE("masters keep small updates that bf16 would lose", "[runtime][optim]") {
  const std::vector<ParameterSpec> one = {{"x", {1}, -1, WeightInit::ones, false}};
  for (const bool masters : {true, false}) {
    Parameters parameters(one, {at::kBFloat16, masters, at::kCPU});
    parameters.initialize(1, 0.02, 1);
    const auto optimizer = make_optimizer("adamw", parameters, {});
    parameters[0].gradient.fill_(1);
    for (std::int64_t step = 1; step <= 100; ++step) optimizer->step(1e-4, 1, step);
    const double weight = parameters[0].weight.item<double>();
    if (masters) {
      CHECK(parameters[0].master.item<double>() == Catch::Approx(0.99).epsilon(1e-5));
      CHECK(weight == 0.98828125);  // the 8-bit number nearest to 0.99
    } else {
      CHECK(weight == 1);
    }
  }
}

TEST_CASE("matrices and embeddings decay, biases and norms do not", "[runtime][optim]") {
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes = {
      {"embedding.weight", {512, 8}},      {"position.weight", {16, 8}},
      {"embedding_norm.weight", {8}},      {"embedding_norm.bias", {8}},
      {"layers.0.qkv.weight", {24, 8}},    {"layers.0.qkv.bias", {24}},
      {"layers.0.norm1.weight", {8}},      {"layers.0.norm1.bias", {8}},
      {"layers.0.mlp.up.weight", {32, 8}}, {"layers.0.mlp.up.bias", {32}}};
  const std::set<std::string> decaying = {"embedding.weight", "position.weight",
                                          "layers.0.qkv.weight", "layers.0.mlp.up.weight"};
  std::vector<ParameterSpec> specs;
  for (const auto& [name, shape] : shapes)
    specs.push_back({name, shape, -1, WeightInit::ones, shape.size() > 1});
  for (const std::string name : {"adamw", "adafactor"}) {
    Parameters parameters(specs, {});
    parameters.initialize(1, 0.02, 1);
    make_optimizer(name, parameters, {.weight_decay = 0.5})->step(0.1, 1, 1);  // gradients are 0
    for (const auto& parameter : parameters) {
      INFO(name << " " << parameter.spec.name);
      const float expected = decaying.contains(parameter.spec.name) ? 0.95f : 1.0f;
      CHECK(parameter.weight.eq(expected).all().item<bool>());
    }
  }
}

TEST_CASE("what lies between parameters stays zero", "[runtime][optim]") {
  for (const std::string name : {"adamw", "adafactor"}) {
    Parameters parameters(two(), {});
    five_steps(name, parameters);
    CHECK(parameters.weights().narrow(0, 12, 52).eq(0).all().item<bool>());
  }
}

TEST_CASE("AdamW's result depends on neither threads nor ranges", "[runtime][optim]") {
  const std::vector<ParameterSpec> specs = {{"big", {300, 1001}, -1, WeightInit::normal, true}};
  const auto weights = [&](int threads) {
    at::set_num_threads(threads);
    Parameters parameters(specs, {});
    parameters.initialize(1, 0.02, 1);
    const auto optimizer = make_optimizer("adamw", parameters, {});
    for (std::int64_t step = 1; step <= 3; ++step) {
      parameters.gradients().copy_(parameters.weights()).mul_(0.5).sub_(0.01);
      optimizer->step(0.01, 1, step);
    }
    return parameters.weights();
  };
  const auto before = at::get_num_threads();
  const auto one = weights(1), two = weights(2), three = weights(3);
  at::set_num_threads(before);
  CHECK(at::equal(one, two));
  CHECK(at::equal(one, three));

  const auto factors = adamw_factors(0.01, 0.1, 0.9, 0.95, 1e-8, 1, 1);
  const auto run = [&](std::int64_t width) {
    auto w = one.clone(), g = one * 0.5, m = at::zeros_like(w), v = at::zeros_like(w);
    const AdamwBuffers buffers{w.data_ptr(), nullptr, g.data_ptr(), m.data_ptr(), v.data_ptr()};
    const auto kernel = adamw_kernel(at::kFloat, at::kFloat, at::kFloat);
    for (std::int64_t at = 0; at < 1000; at += width)
      kernel(buffers, at, std::min<std::int64_t>(1000, at + width), factors);
    return w;
  };
  CHECK(at::equal(run(1000), run(1)));
  CHECK(at::equal(run(1000), run(7)));
}

TEST_CASE("a gradient that is not finite spoils its own element alone", "[runtime][optim]") {
  for (const bool masters : {true, false}) {
    Parameters parameters(two(), {at::kBFloat16, masters, at::kCPU});
    const auto optimizer = make_optimizer("adamw", parameters, {});
    fill_weights(parameters);
    fill_gradients(parameters, 1);
    parameters[0].gradient.view({-1})[5] = kNan;
    parameters[0].gradient.view({-1})[6] = kInfinity;
    optimizer->step(0.01, 1, 1);
    const auto finite = at::isfinite(parameters[0].weight).view({-1});
    CHECK(at::isnan(parameters[0].weight).sum().item<int>() == 2);  // inf / sqrt(inf)
    CHECK(finite.sum().item<int>() == 10);
    CHECK_FALSE(finite[5].item<bool>());
    CHECK_FALSE(finite[6].item<bool>());
  }
}

// Rounding up a NaN with all bits set would make it zero.
TEST_CASE("every NaN of a master is one in bf16", "[runtime][optim]") {
  Parameters parameters(two(), {at::kBFloat16, true, at::kCPU});
  const auto optimizer = make_optimizer("adamw", parameters, {});
  parameters[1].master.data_ptr<float>()[2] = std::bit_cast<float>(0x7fffffffu);
  optimizer->step(0.01, 1, 1);
  CHECK(std::isnan(parameters[1].weight[2].item<double>()));
}

TEST_CASE("an optimizer tells its states and their size", "[runtime][optim]") {
  Parameters parameters(two(), {at::kBFloat16, true, at::kCPU});
  const auto adamw = make_optimizer("adamw", parameters, {});
  REQUIRE(adamw->states().size() == 4);
  CHECK(adamw->states()[0].kind == "exp_avg");
  CHECK(adamw->states()[1].kind == "exp_avg_sq");
  CHECK(adamw->states()[1].tensor.sizes() == at::IntArrayRef({3, 4}));
  CHECK(adamw->states()[2].parameter == 1);
  CHECK(adamw->state_bytes() == 128 * 2 * 4);  // two parameters of 64 with their padding

  const auto adafactor = make_optimizer("adafactor", parameters, {});
  REQUIRE(adafactor->states().size() == 3);
  CHECK(adafactor->states()[0].kind == "exp_avg_sq");
  CHECK(adafactor->states()[1].kind == "row");
  CHECK(adafactor->states()[1].tensor.numel() == 3);
  CHECK(adafactor->states()[2].kind == "column");
  CHECK(adafactor->states()[2].tensor.numel() == 4);
  CHECK(adafactor->state_bytes() == (3 + 4 + 4) * 4);
  CHECK_THROWS_AS(make_optimizer("sgd", parameters, {}), std::invalid_argument);
}

TEST_CASE("an optimizer goes on from states that were copied into it", "[runtime][optim]") {
  for (const std::string name : {"adamw", "adafactor"}) {
    Parameters whole(two(), {}), resumed(two(), {});
    const auto first = make_optimizer(name, whole, {});
    fill_weights(whole);
    fill_gradients(whole, 1);
    first->step(0.01, 1, 1);
    const auto second = make_optimizer(name, resumed, {});
    resumed.weights().copy_(whole.weights());
    auto from = first->states(), to = second->states();
    for (std::size_t i = 0; i < from.size(); ++i) to[i].tensor.copy_(from[i].tensor);
    fill_gradients(whole, 2);
    fill_gradients(resumed, 2);
    first->step(0.01, 1, 2);
    second->step(0.01, 1, 2);
    CHECK(at::equal(whole.weights(), resumed.weights()));
  }
}
