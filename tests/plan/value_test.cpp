#include "core/plan/value.h"

#include "tests/test.h"

namespace orch::plan {
namespace {

TEST_CASE("values are shown as a message names them", "[plan][value]") {
  CHECK(show(Value()) == "nothing");
  CHECK(show(true) == "true");
  CHECK(show(std::int64_t{8}) == "8");
  CHECK(show(0.5) == "0.5");
  CHECK(show(std::string("powersgd")) == "'powersgd'");
}

TEST_CASE("a NaN is shown without its sign, which differs between machines", "[plan][value]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(show(std::copysign(nan, 1.0)) == "nan");
  CHECK(show(std::copysign(nan, -1.0)) == "nan");
  CHECK(show(-std::numeric_limits<double>::infinity()) == "-inf");
}

}  // namespace
}  // namespace orch::plan
