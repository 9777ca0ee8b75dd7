#include "tests/show/tables/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::tables;
using test::planned;

namespace {

plan::Experiment until(const char* deadline, double availability = 1) {
  plan::Experiment made;
  made.calendar = {parse_date("2026-12-01"), availability, {}};
  made.budget.deadline = parse_date(deadline);
  return made;
}

std::string dates(const plan::Experiment& experiment, const plan::Planned& run) {
  return dates_text(test::result_of(experiment, {run}));
}

}  // namespace

// 103 days from 2026-12-01: 31 + 31 + 28 reach 2027-03-01, 13 more the 14th. A factor of 1.1 is
// 93.6 to 113.3 days: the 4th and the 24th of March.
TEST_CASE("a run ends on a day, with a range, before or after the deadline", "[report][budget]") {
  const auto run = planned("a", 103);
  CHECK(dates(until("2027-06-01"), run) ==
        "the fastest begins 2026-12-01 and ends 2027-03-14 (2027-03-04 to 2027-03-24), 79 days "
        "before the deadline");
  CHECK_THAT(dates(until("2027-03-24"), run), EndsWith(", 10 days before the deadline"));
  CHECK_THAT(dates(until("2027-03-23"), run), EndsWith(", 9 days before the deadline: at risk"));
  CHECK_THAT(dates(until("2027-03-14"), run), EndsWith(", on the day of the deadline: at risk"));
  CHECK_THAT(dates(until("2027-03-13"), run), EndsWith(", 1 day after the deadline: at risk"));
  CHECK_THAT(dates(until("2027-03-03"), run), EndsWith(", 11 days after the deadline"));
  CHECK_THAT(dates(until("2027-03-03"), planned("a", 1e9)), EndsWith(", long after the deadline"));
  auto oom = run;
  oom.estimate.fit = plan::MemoryFit::oom;
  CHECK(dates(until("2027-06-01"), oom).empty());
  CHECK(dates({}, run).empty());
}

TEST_CASE("availability stretches the calendar and not the GPU-hours", "[report][budget]") {
  auto experiment = until("2027-06-01", 0.5);  // 206 days: to the 25th of June
  const auto run = planned("a", 103);
  CHECK_THAT(dates(experiment, run),
             ContainsSubstring("ends 2027-06-25 (") &&
                 ContainsSubstring(") at 50 % availability, 24 days after"));
  CHECK_FALSE(keeps(run, experiment));
  experiment.budget = {};
  experiment.budget.gpu_hours = 24 * 114;
  CHECK(standing(run, experiment) == RunStanding::kept);
  experiment.budget.deadline_days = 150;
  CHECK(standing(run, experiment) == RunStanding::broken);
}

// 36 steps of 100 s on 8 GPUs are an hour, 8 GPU-hours; the cost of the whole training does not
// count.
TEST_CASE("a job of some steps is judged by its steps", "[report][budget]") {
  auto run = planned("a", 100);
  run.run.gpus = 8;
  run.run.steps = 36;
  run.estimate.step_seconds = 100;
  plan::Experiment experiment;
  experiment.budget.gpu_hours = 10;
  CHECK(keeps(run, experiment));
  CHECK(standing(run, experiment) == RunStanding::kept);
  const auto verdict = budget_verdict(test::result_of(experiment, {run}));
  CHECK_FALSE(verdict.over);
  CHECK_THAT(verdict.text,
             ContainsSubstring("the cheapest takes 8 GPU-hours (80 %) and 0.0 days for 36 steps"));
  experiment.budget.gpu_hours = 7;
  CHECK_FALSE(keeps(run, experiment));
}

// 100 days, 91 to 110; 2400 GPU-hours, 2182 to 2640.
TEST_CASE("a run whose range straddles a limit is at risk", "[report][budget]") {
  const auto run = planned("a", 100);
  plan::Experiment experiment;
  CHECK(standing(run, experiment) == RunStanding::kept);
  const auto with = [&](double gpu_hours, double days) {
    experiment.budget.gpu_hours = gpu_hours;
    experiment.budget.deadline_days = days;
    return standing(run, experiment);
  };
  CHECK(with(2641, 0) == RunStanding::kept);
  CHECK(with(2639, 0) == RunStanding::at_risk);
  CHECK(with(2183, 0) == RunStanding::at_risk);
  CHECK(with(2181, 0) == RunStanding::broken);
  CHECK(with(0, 111) == RunStanding::kept);
  CHECK(with(0, 109) == RunStanding::at_risk);
  CHECK(with(0, 90) == RunStanding::broken);
  CHECK(with(2641, 109) == RunStanding::at_risk);
}

TEST_CASE("the verdict counts what is kept and what is at risk", "[report][budget]") {
  plan::Experiment experiment;
  experiment.budget.gpu_hours = 24 * 105;
  const std::vector<plan::Planned> runs{planned("a", 50), planned("a", 100), planned("a", 110),
                                        planned("a", 200)};
  const auto verdict = budget_verdict(test::result_of(experiment, runs));
  CHECK_FALSE(verdict.over);
  CHECK(verdict.text ==
        "budget of 2,520 GPU-hours: kept by 2 of 4 runs that fit, 1 of them at risk (a limit lies "
        "within "
        "the 90 % range); 1 more may keep it, at the low end of the range; the cheapest takes "
        "1,200 GPU-hours (48 %) and 50.0 days");
  // Beyond the limit by its estimate, though not over its whole range.
  CHECK(budget_verdict(test::result_of(experiment, {planned("a", 110)})).over);
  CHECK_THAT(budget_verdict(test::result_of(until("2027-06-01"), runs)).text,
             ContainsSubstring("budget of a deadline on 2027-06-01: kept by 3 of 4"));
}
