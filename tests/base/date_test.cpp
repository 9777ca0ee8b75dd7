#include "core/base/date.h"

#include <catch2/catch_test_macros.hpp>

using namespace orch;

TEST_CASE("a date reads and prints as it is written", "[base][date]") {
  for (const auto* text : {"1970-01-01", "2026-12-01", "2024-02-29", "2000-02-29", "9999-12-31"}) {
    const auto date = parse_date(text);
    REQUIRE(date);
    CHECK(format_date(*date) == text);
  }
  CHECK(parse_date("1970-01-02")->time_since_epoch().count() == 1);
  // 2024 has a 29th of February, 2026 has none.
  CHECK((*parse_date("2024-03-01") - *parse_date("2024-02-28")).count() == 2);
  CHECK((*parse_date("2026-03-01") - *parse_date("2026-02-28")).count() == 1);
}

TEST_CASE("a day that no calendar has is no date", "[base][date]") {
  for (const auto* text :
       {"", "2026", "2026-2-3", "2026-02-30", "2026-02-29", "2100-02-29", "2026-13-01",
        "2026-00-10", "2026-01-00", "2026-04-31", "26-01-01", "2026/01/01", " 2026-01-01",
        "2026-01-01 ", "2026-01-01T00:00", "-026-01-01", "2026-+1-01", "tomorrow"})
    CHECK_FALSE(parse_date(text));
}
