#include "backends/runtime/model/parameters.h"

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>

using namespace orch::train;

namespace {

std::vector<ParameterSpec> specs() {
  return {{"norm.weight", {10}, -1, WeightInit::ones, false},
          {"matrix", {100, 30}, 0, WeightInit::normal, true},
          {"out", {64, 64}, 1, WeightInit::scaled_normal, true}};
}

}  // namespace

TEST_CASE("parameters are slices of flat buffers, 64 elements apart", "[runtime]") {
  Parameters parameters(specs(), {});
  CHECK(parameters[1].offset == 64);
  CHECK(parameters[2].offset == 64 + 3008);  // 3000 rounded up to 64s
  CHECK(parameters.gradients().numel() == 64 + 3008 + 4096);
  parameters[1].gradient.fill_(1);
  CHECK(parameters.gradients().sum().item<double>() == 3000);
  CHECK_FALSE(parameters.has_masters());
}

TEST_CASE("16-bit weights have fp32 masters and gradients", "[runtime]") {
  Parameters parameters(specs(), {at::kBFloat16, true, at::kCPU});
  CHECK(parameters[1].weight.scalar_type() == at::kBFloat16);
  CHECK(parameters[1].master.scalar_type() == at::kFloat);
  CHECK(parameters[1].gradient.scalar_type() == at::kFloat);
  parameters.initialize(7, 0.02, 2);
  CHECK(at::equal(parameters[1].weight, parameters[1].master.to(at::kBFloat16)));
}

TEST_CASE("first values are normal, scaled where asked, and follow from seed and name",
          "[runtime]") {
  Parameters one(specs(), {}), two(specs(), {}), other(specs(), {});
  one.initialize(7, 0.02, 8);
  two.initialize(7, 0.02, 8);
  other.initialize(8, 0.02, 8);
  CHECK(at::equal(one.weights(), two.weights()));
  CHECK_FALSE(at::equal(one[1].weight, other[1].weight));
  CHECK(one[0].weight.eq(1).all().item<bool>());
  // 3,000 values: the standard error of the mean is 0.00037, of the deviation 0.00026.
  CHECK(std::abs(one[1].weight.mean().item<double>()) < 4 * 0.00037);
  CHECK(std::abs(one[1].weight.std().item<double>() - 0.02) < 4 * 0.00026);
  CHECK(std::abs(one[2].weight.std().item<double>() - 0.02 / 4) < 0.0003);  // 1/sqrt(2*8)
}
