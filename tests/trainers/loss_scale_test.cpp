// fp16: the effects of the loss scale, also after a restart.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "tests/trainers/trainer.h"

using namespace orch::test;

namespace {

struct ScaledStep {
  double scale;
  bool skipped;
  bool operator==(const ScaledStep&) const = default;
};

std::map<int, ScaledStep> scaled_steps(const std::vector<TrainerAttempt>& attempts) {
  std::map<int, ScaledStep> all;
  for (const auto& attempt : attempts)
    for (const auto& event : attempt.events())
      if (event.at("event") == "step")
        all[event.at("step")] = {event.at("loss_scale"), event.at("skipped")};
  return all;
}

// After some skipped steps, in the middle of a window that ends with a larger scale.
int step_within_window(const std::map<int, ScaledStep>& steps) {
  for (const auto& [step, is] : steps)
    if (step > 2 && steps.contains(step + 2) && !steps.at(step - 1).skipped && !is.skipped &&
        steps.at(step - 1).scale == is.scale && steps.at(step + 2).scale > is.scale)
      return step;
  return 0;
}

}  // namespace

TEST_CASE("skipped steps and the window of the loss scale outlive a stop", "[train]") {
  auto json = small_run(1);
  json["settings"]["dtype"] = "fp16";
  json["training"]["loss_scale"] = 0x1p26;
  json["training"]["loss_scale_window"] = 3;
  json["training"]["decay_steps"] = 30;
  json["steps"] = 30;
  TrainerRun whole(json);
  const auto all = scaled_steps({whole.attempt()});
  REQUIRE(all.at(1).skipped);
  const int stop = step_within_window(all);
  REQUIRE(stop > 0);
  json["steps"] = stop;
  TrainerRun parts(json);
  const auto first = parts.attempt();
  json["steps"] = 30;
  parts.write(json);
  CHECK(scaled_steps({first, parts.attempt()}) == all);
  CHECK(parts.losses() == whole.losses());
  CHECK(parts.weights() == whole.weights());  // AdamW corrects by the number of updates
}

// Both train alike until the last step, which doubles the scale in one of them.
TEST_CASE("what PowerSGD owes grows with the loss scale", "[train]") {
  auto json = small_run(2);
  json["settings"]["dtype"] = "fp16";
  json["settings"]["compression"] = "powersgd";
  json["training"]["loss_scale"] = 1024;
  json["steps"] = 6;
  TrainerRun constant(json);
  json["training"]["loss_scale_window"] = 6;
  TrainerRun doubled(json);
  REQUIRE(constant.attempt().ok());
  REQUIRE(doubled.attempt().ok());
  CHECK(doubled.weights() == constant.weights());
  for (const auto* rank : {"0", "1"}) {
    const auto name = std::string("powersgd.error.") + rank + "/layers.1.mlp.up.weight";
    auto twice = constant.saved(name);
    CHECK(std::any_of(twice.begin(), twice.end(), [](float error) { return error != 0; }));
    for (auto& error : twice) error *= 2;
    CHECK(doubled.saved(name) == twice);
  }
}
