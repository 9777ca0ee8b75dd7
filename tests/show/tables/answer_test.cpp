#include "core/plan/family.h"
#include "core/plan/setting.h"
#include "core/show/tables/report.h"
#include "tests/show/tables/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::tables;
using test::answer_text;
using test::planned;

namespace {

plan::Planned sized(const std::string& strategy, double days) {
  auto out = planned(strategy, days);
  out.run.gpus = 16;
  out.run.tokens = 300e9;
  out.estimate.stack = strategy + "-2023";
  return out;
}

RankedAnswer of(std::vector<plan::Planned>& runs, const plan::Experiment& experiment = {}) {
  for (auto& run : runs) run.run.partition = runs.front().run.partition;
  return answer(test::result_of(experiment, runs));
}

}  // namespace

TEST_CASE("the answer says what is best, by how much, and what would change it",
          "[report][answer]") {
  plan::Experiment experiment;
  experiment.budget.gpu_hours = 4800;
  experiment.calendar.start = parse_date("2027-01-01");
  std::vector runs{sized("a", 100), sized("a", 101), sized("b", 200)};
  const auto found = of(runs, experiment);
  CHECK_THAT(found.best, ContainsSubstring("a (micro-batch ") &&
                             ContainsSubstring("on 16 GPUs is best: 300B tokens in 100 days "
                                               "(91–110), 2,400 GPU-hours (50 % of the budget), "
                                               "done 2027-04-11; b at its best, 200 days "
                                               "(182–220), takes 2.0x as long."));
  // 2 exp(-+0.85 hypot(ln 1.1, ln 1.1)) = 2 exp(-+0.114571) = 1.78 and 2.24.
  CHECK(
      found.sure ==
      "priced within the fitted rows of a-2023; 1 more run may be as fast; b would be first if it "
      "were 2.0x faster than estimated (the ratio is 1.78 to 2.24 in nine of ten cases).");
}

TEST_CASE("a tie between strategies is no victory", "[report][answer]") {
  std::vector runs{sized("a", 100), sized("b", 105)};
  const auto found = of(runs);
  CHECK_THAT(found.best, ContainsSubstring("b at its best, 105 days (95–116), may be as fast."));
  CHECK_THAT(found.sure, ContainsSubstring("some steps of both strategies would tell"));
}

TEST_CASE("doubts about an estimate are a part of the answer", "[report][answer]") {
  std::vector runs{sized("a", 100)};
  runs[0].estimate.remarks = {"extrapolated 4x in GPUs"};
  CHECK(of(runs).sure == "priced as a-2023, but extrapolated 4x in GPUs.");
  runs[0].estimate.stack.clear();
  CHECK(of(runs).sure == "priced from datasheets, not calibrated.");
  runs[0].estimate.fit = plan::MemoryFit::tight;
  runs[0].estimate.peak_memory = 78 * kGiB;
  runs[0].estimate.usable_memory = 79 * kGiB;
  CHECK_THAT(of(runs).sure, ContainsSubstring("its memory is tight (78.0 of 79.0 GiB)"));
}

TEST_CASE("a limit that is not at risk is not named", "[report][answer]") {
  plan::Experiment experiment;
  experiment.budget.gpu_hours = 10000;    // of 2,400
  experiment.budget.deadline_days = 105;  // of 91 to 110
  std::vector runs{sized("a", 100)};
  CHECK_THAT(of(runs, experiment).sure, ContainsSubstring("; it may break the limit of 105 days."));
  experiment.budget.gpu_hours = 1000;
  CHECK_THAT(of(runs, experiment).sure,
             ContainsSubstring(
                 "; it breaks the limit of 1,000 GPU-hours; it may break the limit of 105 days."));
}

TEST_CASE("where nothing fits, the answer says by how much", "[report][answer]") {
  std::vector runs{sized("a", 100), sized("b", 100)};
  for (auto& run : runs) run.estimate.fit = plan::MemoryFit::oom;
  runs[0].estimate.peak_memory = 100 * kGiB;
  runs[1].estimate.peak_memory = 90 * kGiB;
  runs[0].estimate.usable_memory = runs[1].estimate.usable_memory = 79 * kGiB;
  CHECK_THAT(of(runs).best, ContainsSubstring("nothing fits as it is: the closest, b ") &&
                                ContainsSubstring("needs 90.0 of 79.0 GiB."));
  CHECK(of(runs).sure.empty());
  std::vector<plan::Planned> none;
  CHECK(answer_text(test::result_of(plan::Experiment{}, none)).empty());
}

TEST_CASE("what would fit is named, and what is faster than anything listed", "[report][answer]") {
  std::vector runs{sized("a", 100), sized("b", 100)};
  for (auto& run : runs) run.estimate.fit = plan::MemoryFit::oom;
  const plan::Experiment experiment;
  auto result = test::result_of(experiment, runs);
  result.nearby = {{sized("b", 40), &runs[1], {"zero_stage = 1", "micro_batch = 2"}}};
  const auto found = answer(result);
  CHECK_THAT(found.best, ContainsSubstring("; b fits with zero_stage = 1 and micro_batch = 2: ") &&
                             ContainsSubstring(" in 40.0 days"));
  CHECK(found.sure == "priced within the fitted rows of b-2023.");
  for (auto& run : runs) run.estimate.fit = plan::MemoryFit::fits;
  CHECK(answer(result).nearby ==
        "b reaches 40 days instead of 100 with zero_stage = 1 and micro_batch = 2.");
  CHECK_THAT(answer_text(result), ContainsSubstring("\nNot listed: b reaches"));
}

TEST_CASE("a tie goes to what does not offload", "[report][answer]") {
  const plan::Param offload = plan::ChoiceSetting{"offload", "", {"none", "optimizer"}};
  const auto strategy =
      std::make_shared<const plan::Strategy>(plan::Strategy{"a", "a", "", "", {offload}});
  std::vector runs{sized("a", 100), sized("a", 101), sized("a", 300)};
  for (auto& run : runs)
    run.run.strategy = strategy, run.run.settings = {plan::Value(std::string("none"))};
  runs[0].run.settings = {plan::Value(std::string("optimizer"))};
  runs[1].run.gpus = 17;
  CHECK_THAT(of(runs).best, ContainsSubstring("on 17 GPUs is best"));
  CHECK_THAT(of(runs).sure, ContainsSubstring("offloads, and may be no faster"));
}

TEST_CASE("each size has an answer of its own", "[report][answer]") {
  std::vector runs{sized("a", 10), sized("a", 100)};
  runs[0].run.model = plan::sized("gpt", "small", 24, 2048, 16, 50257, 2048);
  runs[1].run.model = plan::sized("gpt", "large", 96, 2048, 16, 50257, 2048);
  const plan::Experiment experiment;
  auto result = test::result_of(experiment, runs);
  result.apart = true;
  const auto found = answer(result);
  CHECK_THAT(found.best, ContainsSubstring("the best of each size:\n  small: a (") &&
                             ContainsSubstring(";\n  large: a (") && ContainsSubstring("100 days"));
}
