#include "core/plan/calendar.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "core/plan/check.h"
#include "tests/plan/support.h"

using namespace orch;
using namespace orch::plan;

namespace {

std::string ends(const char* start, double days, double availability = 1) {
  const auto date = Calendar{parse_date(start), availability}.end(days);
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
  CHECK_FALSE(Calendar{}.end(1));
  CHECK(ends("2026-12-01", 1e18) == "never");
  CHECK(ends("2026-12-01", std::numeric_limits<double>::infinity()) == "never");
  CHECK(ends("9999-12-30", 1.5) == "9999-12-31");
  CHECK(ends("9999-12-30", 2) == "never");
}

TEST_CASE("a deadline before the start is the experiment's mistake", "[plan][calendar]") {
  auto experiment = test::experiment();
  CHECK(check_dates(experiment));
  experiment.budget.deadline = parse_date("2027-06-01");
  CHECK_FALSE(check_dates(experiment));  // nobody said when it begins
  experiment.calendar.start = parse_date("2027-06-01");
  CHECK(check_dates(experiment));
  experiment.calendar.start = parse_date("2027-06-02");
  const auto late = check_dates(experiment);
  REQUIRE_FALSE(late);
  CHECK(text(late.error()) ==
        "toy.lua: budget.deadline: 2027-06-01 is before the start on 2027-06-02\n"
        "  move the deadline, or the start (start = \"YYYY-MM-DD\", --start)");
}
