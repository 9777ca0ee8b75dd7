#include "core/base/units.h"

#include <catch2/catch_test_macros.hpp>

using namespace orch;

TEST_CASE("quantities are read in the unit that is expected", "[base][units]") {
  CHECK(parse_quantity("80 GiB", Unit::bytes) == 85899345920.0);
  CHECK(parse_quantity("80GB", Unit::bytes) == 80e9);
  CHECK(parse_quantity("1113 MiB", Unit::bytes) == 1113.0 * 1048576);
  CHECK(parse_quantity("2 TB/s", Unit::bytes_per_second) == 2e12);
  CHECK(parse_quantity("200 Gbit/s", Unit::bytes_per_second) == 25e9);
  CHECK(parse_quantity("312 TFLOPs", Unit::flops) == 312e12);
  CHECK(parse_quantity(" 5 us ", Unit::seconds) == 5 * 1e-6);
  CHECK(parse_quantity("6 h", Unit::seconds) == 21'600);
  CHECK(parse_quantity("10 min", Unit::seconds) == 600);
  CHECK(parse_quantity("6.5 kW", Unit::watts) == 6500);
  CHECK(parse_quantity("0.7", Unit::none) == 0.7);
}

TEST_CASE("what is not a quantity of the unit is refused", "[base][units]") {
  for (const char* bad :
       {"", "GB", "80", "80 GBs", "80 s", "nan GB", "inf GB", "1e999 GB", "80 GB 3"})
    CHECK_FALSE(parse_quantity(bad, Unit::bytes));
  CHECK_FALSE(parse_quantity("0.7 GB", Unit::none));
}

TEST_CASE("numbers are printed for people", "[base][units]") {
  CHECK(format_bytes(17157252600.0) == "17.2 GB");
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_gib(85899345920.0) == "80.0");
  CHECK(group_digits(953180700) == "953,180,700");
  CHECK(group_digits(999) == "999");
  CHECK(group_digits(-1000) == "-1,000");
  CHECK(format_tokens(300e9) == "300B");
  CHECK(format_tokens(1.5e12) == "1.5T");
  CHECK(format_seconds(0.0025) == "2.50 ms");
  CHECK(format_seconds(128.4) == "128.40 s");
  CHECK(format_seconds(105.82 * 86400) == "105.8 days");
  CHECK(format_number(1e9) == "1,000,000,000");
}
