#include "core/price/backend/words.h"

#include <catch2/catch_test_macros.hpp>

namespace orch::backend {

TEST_CASE("formulas group digits and show sizes in decimal units", "[backend]") {
  CHECK(say("2 B x ", 953180700.0, " params = ", PrintedBytes{1906361400}) ==
        "2 B x 953,180,700 params = 1.9 GB");
  CHECK(say(-1234, " ", 999, " ", 1000, " ", 0.375) == "-1,234 999 1,000 0.375");
  CHECK(say(250229772.07, " ", 9999.5, " ", 2e15) == "250,229,772 1e+04 2e+15");
  CHECK(say(PrintedBytes{12}, ", ", PrintedBytes{999960}) == "12 B, 1.0 MB");
  CHECK(say(PrintedPercent{1.0 / 13}) == "7.7 %");
}

TEST_CASE("nothing is said while nobody reads it", "[backend]") {
  {
    const words::UnreadTexts outer(true);
    CHECK(say("ranks: ", 8).empty());
    const words::UnreadTexts inner(false);
    CHECK(say("ranks: ", 8) == "ranks: 8");
  }
  CHECK(say("ranks: ", 8) == "ranks: 8");
}

}  // namespace orch::backend
