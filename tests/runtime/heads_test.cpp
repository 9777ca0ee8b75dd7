#include "backends/runtime/kernels/heads.h"

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "backends/runtime/model/parts.h"

using namespace orch::train;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

constexpr HeadShape kShape{4, 2, 8, 6};
constexpr std::int64_t kSamples = 3;

at::Tensor wave(at::IntArrayRef sizes, double pace) {
  std::int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return at::sin(at::arange(count, at::kDouble) * pace).to(at::kFloat).view(sizes);
}

at::Tensor some_qkv() { return wave({kSamples * kShape.seq, kShape.units() * kShape.dim}, 0.7); }

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace

TEST_CASE("heads lie group by group: its queries, its key, its value", "[runtime]") {
  // Every element contains the number of its unit in the product.
  const auto qkv = at::arange(kShape.units(), at::kFloat)
                       .view({1, -1, 1})
                       .expand({kShape.seq, -1, kShape.dim})
                       .reshape({kShape.seq, -1});
  const auto heads = ops::rotate_heads(qkv, kShape, {}, {});
  REQUIRE(heads.q.sizes() == at::IntArrayRef({1, 4, 6, 8}));
  REQUIRE(heads.k.sizes() == at::IntArrayRef({1, 2, 6, 8}));
  const auto unit = [](const at::Tensor& x, int head) { return x[0][head][5][7].item<int>(); };
  CHECK(std::vector{unit(heads.q, 0), unit(heads.q, 1), unit(heads.q, 2), unit(heads.q, 3)} ==
        std::vector{0, 1, 4, 5});
  CHECK(std::vector{unit(heads.k, 0), unit(heads.k, 1)} == std::vector{2, 6});
  CHECK(std::vector{unit(heads.v, 0), unit(heads.v, 1)} == std::vector{3, 7});
  auto bias = at::ones({qkv.size(1)});
  CHECK(at::equal(ops::rotate_heads_backward(heads, {}, kShape, {}, {}, {}, bias), qkv));
  for (const int number : {0, 3, 7})  // every token has it; the gradient is added
    CHECK(bias[number * kShape.dim].item<int>() == 1 + number * kShape.seq);
}

TEST_CASE("products of rotated queries and keys depend on the distance alone", "[runtime]") {
  const std::int64_t seq = 64, dim = 16;
  const RotaryOptions options = GENERATE(RotaryOptions(), RotaryOptions{500000, 8, 1, 4, 32});
  const auto table = make_rotary_table(options, seq, dim, at::kCPU);
  const auto row = wave({1, 3 * dim}, 0.9);  // the same at every position
  const auto heads =
      ops::rotate_heads(row.expand({seq, -1}).contiguous(), {1, 1, dim, seq}, table, {});
  const auto products = at::matmul(heads.q[0][0], heads.k[0][0].t());
  for (const int away : {0, 1, 5, 30}) {
    const auto same = at::diagonal(products, -away);
    CHECK(distance(same, same[0]) < 2e-5);
  }
  CHECK(distance(products[10][3], products[10][4]) > 1e-3);
  CHECK(at::equal(heads.q[0][0][0], row[0].narrow(0, 0, dim)));  // the first is not rotated
}

TEST_CASE("rotary angles by hand, plain and scaled as Llama 3.1's", "[runtime]") {
  // Heads of 8, theta 500000: 500000^(-i/4). Over the first context of 8192 tokens the last pair
  // turns 0.07 times (fully scaled), the third 1.84 times (partly scaled), the others more than 4
  // times.
  const auto plain = make_rotary_table({500000}, 2, 8, at::kCPU);
  const auto angle = [](const RotaryTable& table, int pair) {
    return std::atan2(table.sin[1][pair].item<double>(), table.cos[1][pair].item<double>());
  };
  const double expected[] = {1, 0.0376060309, 0.0014142136, 5.3182959e-05};
  for (int pair = 0; pair < 4; ++pair)
    CHECK_THAT(angle(plain, pair), WithinAbs(expected[pair], 1e-7));
  const auto scaled = make_rotary_table({500000, 8, 1, 4, 8192}, 2, 8, at::kCPU);
  CHECK_THAT(angle(scaled, 0), WithinAbs(1, 1e-7));
  CHECK_THAT(angle(scaled, 1), WithinAbs(0.0376060309, 1e-8));
  const double turns = 8192 * 0.0014142136 / (2 * M_PI), kept = (turns - 1) / 3;
  CHECK_THAT(angle(scaled, 2), WithinAbs(0.0014142136 * ((1 - kept) / 8 + kept), 1e-9));
  CHECK_THAT(angle(scaled, 3), WithinAbs(5.3182959e-05 / 8, 1e-10));
}

TEST_CASE("backward of rotated and normed heads is the slope of forward", "[runtime]") {
  const bool normed = GENERATE(false, true);
  const auto table = make_rotary_table({100}, kShape.seq, kShape.dim, at::kCPU);
  HeadNorms norms, gradients;
  if (normed) {
    norms = {wave({kShape.dim}, 0.3) + 1.5, wave({kShape.dim}, 0.5) + 1.2, 1e-6};
    gradients = {at::zeros({kShape.dim}), at::zeros({kShape.dim})};
  }
  const auto qkv = some_qkv();
  // The loss is the sum of all elements, each times a different number.
  const auto of = [&](const at::Tensor& given, const HeadNorms& with) {
    const auto heads = ops::rotate_heads(given, kShape, table, with);
    double sum = 0;
    for (const auto* each : {&heads.q, &heads.k, &heads.v})
      sum +=
          (each->to(at::kDouble) * wave(each->sizes(), 0.21).to(at::kDouble)).sum().item<double>();
    return sum;
  };
  const auto heads = ops::rotate_heads(qkv, kShape, table, norms);
  const auto dqkv = ops::rotate_heads_backward(
      {wave(heads.q.sizes(), 0.21), wave(heads.k.sizes(), 0.21), wave(heads.v.sizes(), 0.21)}, qkv,
      kShape, table, norms, gradients);
  const double step = 1e-2;
  for (const std::int64_t at : {0, 5, 17, 19, 33, 40, 63}) {  // elements of a token, of all kinds
    auto more = qkv.clone(), less = qkv.clone();
    more[7][at] += step;
    less[7][at] -= step;
    INFO(at);
    CHECK_THAT(dqkv[7][at].item<double>(),
               WithinAbs((of(more, norms) - of(less, norms)) / (2 * step), 1e-3));
  }
  if (!normed) return;
  for (const bool is_key : {false, true}) {
    auto more = norms, less = norms;
    auto& up = is_key ? more.k : more.q;
    auto& down = is_key ? less.k : less.q;
    up = up.clone();
    down = down.clone();
    up[3] += step;
    down[3] -= step;
    CHECK_THAT((is_key ? gradients.k : gradients.q)[3].item<double>(),
               WithinAbs((of(qkv, more) - of(qkv, less)) / (2 * step), 1e-3));
  }
}

TEST_CASE("ranks that cannot have whole groups of heads are told so", "[runtime]") {
  orch::plan::Model llama;
  llama.heads = 32;
  llama.kv_heads = 8;
  llama.ffn_hidden = 14336;
  CHECK_NOTHROW(require_equal_shares(llama, 8));
  CHECK_THROWS_WITH(require_equal_shares(llama, 16),
                    ContainsSubstring("8 kv_heads cannot be shared equally by 16 ranks"));
  llama.ffn_hidden = 14337;
  CHECK_THROWS_WITH(require_equal_shares(llama, 2), ContainsSubstring("14337 columns of the MLP"));
  llama.kv_heads = 5;
  CHECK_THROWS_WITH(require_equal_shares(llama, 1), ContainsSubstring("32 heads cannot share 5"));
}
