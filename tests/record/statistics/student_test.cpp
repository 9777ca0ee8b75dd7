#include "core/record/statistics/interval.h"
#include "tests/test.h"

namespace orch::statistics {
namespace {

TEST_CASE("Student's t has the quantiles of the printed tables", "[statistics][student]") {
  const struct {
    double degrees, p90, p95, p975, p995;
  } table[] = {
      {1, 3.078, 6.314, 12.706, 63.657}, {2, 1.886, 2.920, 4.303, 9.925},
      {3, 1.638, 2.353, 3.182, 5.841},   {4, 1.533, 2.132, 2.776, 4.604},
      {5, 1.476, 2.015, 2.571, 4.032},   {10, 1.372, 1.812, 2.228, 3.169},
      {30, 1.310, 1.697, 2.042, 2.750},  {120, 1.289, 1.658, 1.980, 2.617},
      {1e6, 1.282, 1.645, 1.960, 2.576},
  };
  for (const auto& row : table) {
    CAPTURE(row.degrees);
    CHECK(student_t(0.9, row.degrees) == Approx(row.p90).margin(0.0006).epsilon(0));
    CHECK(student_t(0.95, row.degrees) == Approx(row.p95).margin(0.0006).epsilon(0));
    CHECK(student_t(0.975, row.degrees) == Approx(row.p975).margin(0.0006).epsilon(0));
    CHECK(student_t(0.995, row.degrees) == Approx(row.p995).margin(0.0006).epsilon(0));
  }
}

TEST_CASE("Student's t agrees with its closed forms", "[statistics][student]") {
  // One degree is Cauchy's distribution, tan(pi (p - 1/2)): tan(72 degrees) for 0.9.
  CHECK(student_t(0.9, 1) == Approx(3.0776835371752536));
  // Two degrees: (2p - 1) sqrt(2 / (4 p (1 - p))), for 0.975: 0.95 sqrt(2 / 0.0975).
  CHECK(student_t(0.975, 2) == Approx(4.302652729911275));
  CHECK(student_t(0.5, 7) == 0);
  CHECK(student_t(0.025, 4) == Approx(-student_t(0.975, 4)));
}

TEST_CASE("degrees of freedom need not be whole", "[statistics][student]") {
  const double between = student_t(0.975, 2.5);
  CHECK(between < student_t(0.975, 2));
  CHECK(between > student_t(0.975, 3));
}

}  // namespace
}  // namespace orch::statistics
