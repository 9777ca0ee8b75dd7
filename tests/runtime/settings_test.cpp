#include "backends/runtime/step/settings.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>

#include "core/plan/run_json.h"

using namespace orch;

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
  const plan::CommonSettings settings;
  CHECK(settings.dtype(*run) == "fp32");
  CHECK(plan::Flag{"overlap", ""}(*run));
  CHECK(plan::Integer{"powersgd_rank", ""}(*run) == 2);
  CHECK(plan::Real{"powersgd_rank", ""}(*run) == 2);
  const plan::Real bucket{"bucket_mb", "", 25}, unset{"unset", "", 25};
  CHECK(bucket(*run) == 0.5);
  CHECK(bucket.or_default(*run) == 0.5);
  CHECK(unset.or_default(*run) == 25);
  CHECK_THROWS_AS(unset(*run), std::out_of_range);
  CHECK_THROWS_AS((plan::Integer{"dtype", ""}(*run)), std::invalid_argument);
  CHECK_THROWS_WITH(settings.recompute(*run), "run.json: settings.recompute: is missing");
}
