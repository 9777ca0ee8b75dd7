#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "backends/runtime/step/optimizer.h"

using namespace orch::train;

namespace {

double norm_of(const at::Tensor& flat) { return std::sqrt(sum_of_squares(flat).item<double>()); }

}  // namespace

TEST_CASE("the norm of 3, 4 and zeros is 5 in every type", "[runtime][optim]") {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    auto flat = at::zeros({1000}, type);
    flat[1] = 3;
    flat[998] = -4;
    CHECK(norm_of(flat) == 5);
  }
  CHECK(sum_of_squares(at::zeros({8})).scalar_type() == at::kDouble);
  CHECK(norm_of(at::zeros({0})) == 0);
}

// The sum of the first n squares is n (n + 1) (2n + 1) / 6: here 333,338,333,350,000, which fp32
// would round at every step.
TEST_CASE("the norm is summed in double", "[runtime][optim]") {
  const auto flat = at::arange(1, 100'001, at::kFloat);
  CHECK(norm_of(flat) == std::sqrt(333'338'333'350'000.0));
  CHECK(norm_of(at::full({4}, 1e30, at::kFloat)) == Catch::Approx(2e30));  // squares overflow fp32
}

TEST_CASE("the norm does not depend on the number of threads", "[runtime][optim]") {
  const auto flat = at::arange(1'000'003, at::kFloat).sin_();
  const auto before = at::get_num_threads();
  at::set_num_threads(1);
  const double one = norm_of(flat);
  at::set_num_threads(3);
  const double three = norm_of(flat);
  at::set_num_threads(before);
  CHECK(one == three);
}

TEST_CASE("one element that is not finite makes the norm not finite", "[runtime][optim]") {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf})
    for (const double bad :
         {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::quiet_NaN()}) {
      auto flat = at::ones({70'001}, type);
      flat[70'000] = bad;
      CHECK_FALSE(std::isfinite(norm_of(flat)));
    }
}

TEST_CASE("gradients are clipped where their norm is above the limit", "[runtime][optim]") {
  CHECK(clip_coefficient(0.5, 1) == 1);
  CHECK(clip_coefficient(4, 1) == 1 / (4 + 1e-6));
  CHECK(clip_coefficient(4, 2) == 2 / (4 + 1e-6));
  CHECK(clip_coefficient(4, 0) == 1);  // disabled
  CHECK(clip_coefficient(0, 1) == 1);
}
