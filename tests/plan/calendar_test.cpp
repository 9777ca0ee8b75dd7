#include "core/plan/calendar.h"

#include "core/plan/check.h"
#include "tests/plan/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::plan;

namespace {

std::string ends(const char* start, double days, double availability = 1) {
  const auto date = Calendar{parse_date(start), availability, {}}.end({{days, 1}});
  return date ? format_date(*date) : "never";
}

}  // namespace

TEST_CASE("a training ends on the day it runs into", "[plan][calendar]") {
  CHECK(ends("2026-12-01", 0.2) == "2026-12-01");
  CHECK(ends("2026-12-01", 1) == "2026-12-02");
  CHECK(ends("2026-12-01", 31.5) == "2027-01-01");
  CHECK(ends("2027-02-27", 2) == "2027-03-01");
  CHECK(ends("2028-02-27", 2) == "2028-02-29");  // a leap year
  CHECK(ends("2028-01-01", 366) == "2029-01-01");
}

TEST_CASE("time lost to failures stretches the calendar", "[plan][calendar]") {
  CHECK(ends("2026-12-01", 90, 0.9) == "2027-03-11");  // 100 days: 31 + 31 + 28, and 10
  CHECK(ends("2026-12-01", 90) == "2027-03-01");
}

TEST_CASE("without a start, or beyond all calendars, there is no end", "[plan][calendar]") {
  CHECK_FALSE(Calendar{}.end({{1, 1}}));
  CHECK(ends("2026-12-01", 1e18) == "never");
  CHECK(ends("2026-12-01", std::numeric_limits<double>::infinity()) == "never");
  CHECK(ends("9999-12-30", 1.5) == "9999-12-31");
  CHECK(ends("9999-12-30", 2) == "never");
}

namespace {

// 18 nodes from the 1st of January (day 0), 48 from the 15th of February (day 45) for four fifths
// of the time, an unlimited number from the 1st of June (day 151) on.
Calendar slowed_machine() {
  Calendar calendar;
  calendar.start = parse_date("2027-01-01");
  calendar.windows = {{*parse_date("2027-01-01"), 18, 1},
                      {*parse_date("2027-02-15"), 48, 0.8},
                      {*parse_date("2027-06-01"), {}, 0.5}};
  return calendar;
}

std::string ends(const Calendar& calendar, const std::vector<Portion>& portions) {
  const auto date = calendar.end(portions);
  return date ? format_date(*date) : "never";
}

}  // namespace

TEST_CASE("a training waits for its nodes", "[plan][calendar]") {
  CHECK(slowed_machine().calendar_days({{30, 18}}) == 30);
  CHECK(slowed_machine().calendar_days({{30, 48}}) == 45 + 30 / 0.8);  // 82.5
  CHECK(ends(slowed_machine(), {{30, 48}}) == "2027-03-24");  // 45 to the 15th of February, 37.5 on
  // 106 days of the second window are 84.8 of training; 15.2 more take 30.4 at half the time.
  CHECK(slowed_machine().calendar_days({{100, 48}}) == 151 + (100 - 106 * 0.8) / 0.5);
  CHECK(ends(slowed_machine(), {{100, 48}}) == "2027-07-01");
  CHECK(slowed_machine().calendar_days({{10, 64}}) == 151 + 10 / 0.5);
}

TEST_CASE("a training that needs few nodes goes on over the change", "[plan][calendar]") {
  CHECK(slowed_machine().calendar_days({{50, 18}}) == 45 + (50 - 45) / 0.8);
  auto closed = slowed_machine();  // from the 15th of February to the 1st of June
  closed.windows[1].nodes = 0;
  CHECK(closed.calendar_days({{50, 18}}) == 151 + (50 - 45) / 0.5);
}

TEST_CASE("portions follow each other, each on its own nodes", "[plan][calendar]") {
  const auto spans = slowed_machine().spans({{20, 18}, {8, 48}});
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].from == 0);
  CHECK(spans[0].to == 20);
  CHECK(spans[1].from == 45);
  CHECK(spans[1].to == 55);
}

TEST_CASE("before the first window nothing runs, and too many nodes never come",
          "[plan][calendar]") {
  auto calendar = slowed_machine();
  calendar.start = parse_date("2026-12-22");  // ten days earlier
  CHECK(calendar.calendar_days({{1, 18}}) == 11);
  CHECK(calendar.spans({{1, 18}}).front().from == 10);
  calendar.windows.pop_back();
  CHECK(ends(calendar, {{1, 49}}) == "never");
  CHECK(calendar.most_nodes() == 48);
  // A window that ends before the start has no effect.
  auto late = calendar;
  late.windows = {{*parse_date("2027-01-01"), 64, 1}, {*parse_date("2027-02-01"), 2, 1}};
  late.start = parse_date("2027-03-01");
  CHECK(late.most_nodes() == 2);
  CHECK(!slowed_machine().most_nodes());
}

TEST_CASE("a deadline before the start is the experiment's mistake", "[plan][calendar]") {
  auto experiment = test::experiment();
  CHECK(check_dates(experiment));
  experiment.budget.deadline = parse_date("2027-06-01");
  CHECK_FALSE(check_dates(experiment));  // the start is not given
  experiment.calendar.start = parse_date("2027-06-01");
  CHECK(check_dates(experiment));
  experiment.calendar.start = parse_date("2027-06-02");
  const auto late = check_dates(experiment);
  REQUIRE_FALSE(late);
  CHECK(text(late.error()) ==
        "toy.lua: budget.deadline: 2027-06-01 is before the start on 2027-06-02\n"
        "  move the deadline, or the start (start = \"YYYY-MM-DD\", --start)");
}
