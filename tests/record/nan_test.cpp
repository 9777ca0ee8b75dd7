#include <catch2/catch_test_macros.hpp>

#include "core/record/record.h"

namespace orch::record {
namespace {

// Losses at every n-th step up to a last one.
Measurement with_losses(std::int64_t every, std::int64_t last, std::int64_t steps,
                        std::int64_t nan_steps) {
  Measurement out;
  for (auto step = every; step <= last; step += every) out.losses.push_back({step, 0, 4.5});
  out.steps = steps;
  out.nan_steps = nan_steps;
  return out;
}

TEST_CASE("a loss that stays NaN is lost, with the step from which on", "[record][nan]") {
  const auto run = with_losses(1, 50, 100, 50);
  CHECK(lost_loss(run));
  CHECK(nan_text(run) == "NaN in 50 of 100 steps, from step 51 on");
}

TEST_CASE("NaN that passes is told and nothing is lost", "[record][nan]") {
  const auto run = with_losses(1, 100, 100, 2);
  CHECK_FALSE(lost_loss(run));
  CHECK(nan_text(run) == "NaN in 2 of 100 steps");
  CHECK(nan_text(with_losses(1, 100, 100, 0)).empty());
}

TEST_CASE("steps after the last printed loss are no lost loss", "[record][nan]") {
  CHECK_FALSE(lost_loss(with_losses(10, 100, 104, 1)));
  CHECK(lost_loss(with_losses(10, 50, 100, 5)));
  CHECK(nan_text(with_losses(10, 50, 100, 5)) ==
        "NaN in 5 of 100 steps, and no number after step 50");
}

TEST_CASE("a run without any loss that is a number has lost it", "[record][nan]") {
  CHECK(lost_loss(with_losses(1, 0, 3, 3)));
  CHECK(nan_text(with_losses(1, 0, 3, 3)) == "NaN in 3 steps, from step 1 on");
}

}  // namespace
}  // namespace orch::record
