#include "backends/runtime/kernels/ops.h"

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>

#include "backends/runtime/model/attention.h"

using namespace orch::train;
using Catch::Matchers::WithinAbs;

TEST_CASE("dropout keeps its share, scaled, and the same elements every time", "[runtime]") {
  const auto x = at::ones({1000, 100});
  const auto y = ops::dropout(x, {0.25, 7, 0});
  const double kept = y.ne(0).to(at::kDouble).mean().item<double>();
  CHECK_THAT(kept, WithinAbs(0.75, 4 * std::sqrt(0.25 * 0.75 / 100000)));
  CHECK_THAT(y.max().item<double>(), WithinAbs(1 / 0.75, 1e-6));
  CHECK(at::equal(y, ops::dropout(x, {0.25, 7, 0})));
  CHECK_FALSE(at::equal(y, ops::dropout(x, {0.25, 8, 0})));
  // A part of the batch gets the same mask as in the whole.
  CHECK(at::equal(y.narrow(0, 10, 5),
                  ops::dropout(x.narrow(0, 10, 5).contiguous(), {0.25, 7, 1000})));
}

TEST_CASE("cross entropy by hand", "[runtime]") {
  // Three logits, ln(1), ln(2), ln(5), and a padding column that must not count.
  auto logits = at::zeros({1, 4});
  logits[0][1] = std::log(2.0);
  logits[0][2] = std::log(5.0);
  logits[0][3] = 100;
  const auto losses = ops::cross_entropy(logits, at::tensor({2}, at::kLong), 3, 10);
  CHECK_THAT(losses[0].item<double>(), WithinAbs(-std::log(5.0 / 8), 1e-6));
  CHECK_THAT(logits[0][0].item<double>(), WithinAbs(10 * 1.0 / 8, 1e-5));
  CHECK_THAT(logits[0][1].item<double>(), WithinAbs(10 * 2.0 / 8, 1e-5));
  CHECK_THAT(logits[0][2].item<double>(), WithinAbs(10 * (5.0 / 8 - 1), 1e-5));
  CHECK(logits[0][3].item<double>() == 0);
}

TEST_CASE("large logits do not overflow", "[runtime]") {
  auto logits = at::tensor({1e4f, 1e4f, -1e4f, 0.0f}).view({1, 4});
  const auto losses = ops::cross_entropy(logits, at::tensor({0}, at::kLong), 4, 1);
  CHECK_THAT(losses[0].item<double>(), WithinAbs(std::log(2.0), 1e-5));
  CHECK_THAT(logits[0][0].item<double>(), WithinAbs(-0.5, 1e-6));
}

TEST_CASE("tokens that occur twice add to one row of the embedding", "[runtime]") {
  auto gradient = at::zeros({3, 2});
  ops::add_embedding_gradient(gradient,
                              at::tensor({1.f, 2.f, 10.f, 20.f, 100.f, 200.f}).view({3, 2}),
                              at::tensor({2, 0, 2}, at::kLong));
  CHECK(at::equal(gradient, at::tensor({10.f, 20.f, 0.f, 0.f, 101.f, 202.f}).view({3, 2})));
}

TEST_CASE("ALiBi slopes are the paper's, for heads that are no power of two as well", "[runtime]") {
  // 8 heads: 1/2, 1/4, ..., 1/256 (Press et al. 2022, section 3). 12: 8 of those, and the first,
  // third, ... of 16 heads: 2^-0.5, 2^-1.5, ...
  const auto eight = alibi_slopes(8), twelve = alibi_slopes(12);
  for (int i = 0; i < 8; ++i) {
    CHECK(eight[i].item<float>() == std::exp2(-static_cast<float>(i + 1)));
    CHECK(twelve[i].item<float>() == std::exp2(-static_cast<float>(i + 1)));
  }
  for (int i = 0; i < 4; ++i)
    CHECK_THAT(twelve[8 + i].item<double>(), WithinAbs(std::exp2(-0.5 - i), 1e-7));
}

TEST_CASE("an RMS norm by hand, forward and backward", "[runtime]") {
  // The root of the mean square of 1 and 7 is 5.
  const auto x = at::tensor({1.f, 7.f}).view({1, 2});
  const NormWeights weights{NormKind::rms, at::tensor({10.f, 5.f}), {}, 0};
  const auto normed = ops::norm(x, weights);
  CHECK_THAT(normed.y[0][0].item<double>(), WithinAbs(2, 1e-5));
  CHECK_THAT(normed.y[0][1].item<double>(), WithinAbs(7, 1e-5));
  // Along x nothing changes: y is the same for 2x. Of a gradient (3, 1) of y, 30 and 5 reach x's
  // direction: (30, 5) - (0.2, 1.4) (0.2 * 30 + 1.4 * 5) / 2 = (28.7, -4.1), a fifth of that.
  auto gradient = at::ones({2}), sums = at::ones({2});
  const auto dx = ops::norm_backward(at::tensor({3.f, 1.f}).view({1, 2}), x, normed, weights,
                                     gradient, {}, {}, sums);
  CHECK(at::equal(sums, 1 + dx[0]));  // of one row
  CHECK_THAT(dx[0][0].item<double>(), WithinAbs(28.7 / 5, 1e-5));
  CHECK_THAT(dx[0][1].item<double>(), WithinAbs(-4.1 / 5, 1e-5));
  CHECK_THAT(gradient[0].item<double>(), WithinAbs(1 + 3 * 0.2, 1e-6));  // added
  CHECK_THAT(gradient[1].item<double>(), WithinAbs(1 + 1 * 1.4, 1e-6));
}

TEST_CASE("SwiGLU takes a gate and a factor from neighbouring columns", "[runtime]") {
  const auto gate = std::log(3.0);  // its sigmoid is 3/4
  const auto before = at::tensor({gate, 8.0, 0.0, 5.0}).to(at::kFloat).view({1, 4});
  const auto after = ops::activate(before, Activation::swiglu);
  REQUIRE(after.sizes() == at::IntArrayRef({1, 2}));
  CHECK_THAT(after[0][0].item<double>(), WithinAbs(gate * 0.75 * 8, 1e-5));
  CHECK(after[0][1].item<double>() == 0);
  const auto dx =
      ops::activation_backward(at::tensor({1.f, 1.f}).view({1, 2}), before, Activation::swiglu, {});
  CHECK_THAT(dx[0][0].item<double>(), WithinAbs(8 * 0.75 * (1 + gate * 0.25), 1e-5));
  CHECK_THAT(dx[0][1].item<double>(), WithinAbs(gate * 0.75, 1e-6));
  CHECK_THAT(dx[0][2].item<double>(), WithinAbs(5 * 0.5, 1e-6));
  CHECK(dx[0][3].item<double>() == 0);
}
