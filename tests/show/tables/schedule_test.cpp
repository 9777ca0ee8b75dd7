#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "tests/show/tables/support.h"

using namespace orch;
using namespace orch::tables;

namespace {

plan::Planned ramp() {
  auto run = test::planned("a", 40);
  plan::TrainingStretch first{16, 2032, 1000, 2.048e6, 4, 2, 16, 4.4, 508, 90, 10 * 86400.0, 3840};
  plan::TrainingStretch full{2048, 2048, 3000, 6.144e6,      8,    4, 32,
                             512,  512,  100,  30 * 86400.0, 23040};
  run.estimate.schedule = {first, full};
  return run;
}

const plan::Calendar kDated{parse_date("2028-02-20"), 0.5, {}};  // a leap year

std::string schedule(const plan::Calendar& calendar) {
  return show::text(schedule_table(ramp().estimate, calendar), {});
}
nlohmann::json explained(const plan::Calendar& calendar) {
  const auto run = ramp();
  return nlohmann::json::parse(show::text_as("json", explain(run, calendar), {}));
}

}  // namespace

TEST_CASE("a schedule is told by day, or by date", "[report][schedule]") {
  CHECK(schedule({}) ==
        "Schedule\n"
        "phase    batch  nodes  tokens    step s  TFLOPs  days  from      to\n"
        "    1  16–2032      2  2.048M  4.40–508    90.0  10.0  day 0.0   day 10.0\n"
        "    2     2048      4  6.144M       512     100  30.0  day 10.0  day 40.0\n");
  CHECK(schedule(kDated) ==
        "Schedule\n"
        "phase    batch  nodes  tokens    step s  TFLOPs  days        from          to\n"
        "    1  16–2032      2  2.048M  4.40–508    90.0  10.0  2028-02-20  2028-03-11\n"
        "    2     2048      4  6.144M       512     100  30.0  2028-03-11  2028-05-10\n");
}

TEST_CASE("JSON has the schedule, and dates where there is a start", "[report][schedule]") {
  const auto all = explained(kDated);
  const auto& dated = all["runs"][0];
  CHECK(dated["start"] == "2028-02-20");
  CHECK(dated["ends"] == "2028-05-10");       // 80 days
  CHECK(dated["ends_low"] == "2028-05-02");   // 72.7
  CHECK(dated["ends_high"] == "2028-05-18");  // 88
  REQUIRE(all["schedule"].size() == 2);
  CHECK(all["schedule"][0]["to"] == "2028-03-11");
  CHECK(all["schedule"][1]["from"] == "2028-03-11");
  CHECK(all["schedule"][1]["nodes"] == 4);
  CHECK(all["schedule"][1]["gpu_hours"] == 23040);
  const auto plain = explained({});
  CHECK_FALSE(plain["runs"][0].contains("ends"));
  CHECK(plain["schedule"][0]["last_step_seconds"] == 508);
  CHECK(plain["schedule"][0]["from"].is_null());
}

// 10 days on 2 nodes begin at once; 4 nodes come on the 1st of April, at half the time: 60 days.
TEST_CASE("a stretch waits for its nodes", "[report][schedule]") {
  plan::Calendar calendar;
  calendar.start = parse_date("2028-02-20");
  calendar.windows = {{*parse_date("2028-02-20"), 2, 1}, {*parse_date("2028-04-01"), 4, 0.5}};
  const auto rows = explained(calendar)["schedule"];
  CHECK(rows[0]["from"] == "2028-02-20");
  CHECK(rows[0]["to"] == "2028-03-01");
  CHECK(rows[1]["from"] == "2028-04-01");
  CHECK(rows[1]["to"] == "2028-05-31");
}
