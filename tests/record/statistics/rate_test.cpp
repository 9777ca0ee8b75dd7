#include "core/record/statistics/rate.h"

#include "tests/test.h"

namespace orch::statistics {
namespace {

TEST_CASE("a rate of events has the quantiles of printed tables", "[statistics][rate]") {
  // Of chi-squared with 2 n degrees, twice a Gamma variable of shape n: 5 %, 50 % and 95 %.
  const struct {
    double count, low, middle, high;
  } table[] = {{1, 0.103, 1.386, 5.991},     {2, 0.711, 3.357, 9.488},
               {3, 1.635, 5.348, 12.592},    {5, 3.940, 9.342, 18.307},
               {10, 10.851, 19.337, 31.410}, {15, 18.493, 29.336, 43.773}};
  for (const auto& row : table) {
    CAPTURE(row.count);
    const GammaRate rate{row.count, 2};  // an exposure of 2 halves it, as the table is of twice
    CHECK(4 * rate.quantile(0.05) == Approx(row.low).margin(0.0006).epsilon(0));
    CHECK(4 * rate.quantile(0.50) == Approx(row.middle).margin(0.0006).epsilon(0));
    CHECK(4 * rate.quantile(0.95) == Approx(row.high).margin(0.0006).epsilon(0));
  }
}

TEST_CASE("events and exposure add to those of the prior", "[statistics][rate]") {
  // 3 failures in 150,000 hours, then 7 in 850,000: 10 in a million.
  const auto after = GammaRate{3, 150e3}.after(7, 850e3);
  CHECK(after.count == 10);
  CHECK(after.exposure == 1e6);
  CHECK(after.mean() == 1e-5);
  // Half of chi-squared with 20 degrees: 10.851 / 2 and 31.410 / 2, in a million hours.
  CHECK(after.quantile(0.05) == Approx(5.4255e-6).epsilon(1e-3));
  CHECK(after.quantile(0.95) == Approx(1.5705e-5).epsilon(1e-3));
  // Hours without a failure lower the rate.
  CHECK(GammaRate{3, 150e3}.after(0, 150e3).mean() == 1e-5);
}

}  // namespace
}  // namespace orch::statistics
