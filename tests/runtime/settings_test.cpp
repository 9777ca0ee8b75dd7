#include "backends/runtime/step/settings.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>

#include "core/plan/run_json.h"

using namespace orch;
using namespace orch::train;

TEST_CASE("a trainer reads its settings from run.json", "[runtime][settings]") {
  const auto run = plan::parse_run(R"({
    "version": 1, "experiment": "x", "strategy": "accumulated", "backend": "ddp",
    "model": {"family": "gpt", "layers": 1, "hidden": 8, "heads": 1, "vocab": 8, "seq": 8},
    "gpu": "cpu", "gpus": 1, "tokens": 64,
    "settings": {"dtype": "fp32", "overlap": true, "powersgd_rank": 2, "bucket_mb": 0.5,
                 "unset": null}
  })",
                                   "run.json");
  REQUIRE(run);
  const Settings settings(*run);
  CHECK(settings.text("dtype") == "fp32");
  CHECK(settings.flag("overlap"));
  CHECK(settings.integer("powersgd_rank") == 2);
  CHECK(settings.real("powersgd_rank") == 2);
  CHECK(settings.real("bucket_mb") == 0.5);
  CHECK_THROWS_AS(settings.text("unset"), std::out_of_range);
  CHECK_THROWS_AS(settings.integer("dtype"), std::invalid_argument);
  CHECK_THROWS_WITH(settings.flag("none"), "run.json: settings.none: is missing");
}
