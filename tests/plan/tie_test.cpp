#include "core/plan/tie.h"

#include "tests/test.h"

namespace orch::plan {
namespace {

const int kHere = 0, kThere = 0;
constexpr std::size_t kMegatron = 1, kFsdp = 3;

bool near(double a, double b) { return std::abs(a - b) < 1e-6; }

TEST_CASE("layouts in one stack share their errors, different software those of the machine",
          "[plan][tie]") {
  const double wide = std::log(1.2);  // 0.1823216
  const Timing a{100, wide, &kHere, kMegatron};
  // 0.35 * hypot(0.1823216, 0.1823216) = 0.0902449; with 0.85 it is 0.2191661.
  const auto same = times_as_long({110, wide, &kHere, kMegatron}, a);
  CHECK(same.on_one_machine);
  CHECK(near(same.value, 1.1));
  CHECK(near(same.low, 1.1 * std::exp(-0.0902449)));
  CHECK_FALSE(may_be_equal({110, wide, &kHere, kMegatron}, a));
  CHECK(may_be_equal({109, wide, &kHere, kMegatron}, a));
  CHECK(may_be_equal({124, wide, &kHere, kFsdp}, a));
  CHECK_FALSE(may_be_equal({125, wide, &kHere, kFsdp}, a));
}

TEST_CASE("elsewhere, or in software that nobody measured, the ranges decide", "[plan][tie]") {
  const double wide = std::log(1.2);
  const Timing a{100, wide, &kHere, kMegatron};  // 83.3 to 120
  for (const auto& [machine, stack] :
       {std::pair<const void*, std::size_t>{&kThere, kMegatron}, {&kHere, 0}, {nullptr, 0}}) {
    CHECK(may_be_equal({143, wide, machine, stack}, a));  // from 119.2
    CHECK_FALSE(may_be_equal({145, wide, machine, stack}, a));
    CHECK_FALSE(times_as_long({143, wide, machine, stack}, a).on_one_machine);
  }
}

TEST_CASE("a timing is of an estimate", "[plan][tie]") {
  Estimate estimate;
  estimate.days_to_train = 10;
  estimate.step_seconds = 1;
  estimate.step_low = 0.8;
  estimate.step_high = 1.25;
  CHECK(near(timing_of(estimate, nullptr).spread, std::log(1.25)));
  estimate.step_high = 2.5;  // widened by other software: not noise within this stack
  CHECK(near(timing_of(estimate, nullptr).spread, std::log(1.25)));
  CHECK(timing_of(estimate, nullptr).stack == 0);
  estimate.stack = "megatron";
  CHECK(timing_of(estimate, nullptr).stack != 0);
}

}  // namespace
}  // namespace orch::plan
