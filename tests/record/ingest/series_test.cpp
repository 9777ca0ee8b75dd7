#include "core/record/ingest/series.h"

#include "core/record/ingest/rules.h"
#include "tests/test.h"

namespace orch::ingest {

TEST_CASE("steps are all kept up to the limit, then every second", "[ingest][series]") {
  LoggedStepTimes times;
  for (std::int64_t i = 1; i < static_cast<std::int64_t>(kMostSteps); ++i)
    times.add({i, 1.0, false});
  CHECK(times.steps().size() == kMostSteps - 1);
  CHECK(times.stride() == 1);
  for (auto i = static_cast<std::int64_t>(kMostSteps); i <= 1'000'000; ++i)
    times.add({i, 1.0, false});
  CHECK(times.seen() == 1'000'000);
  CHECK(times.steps().size() < kMostSteps);
  CHECK(times.steps().size() >= kMostSteps / 2 - 1);
  const auto stride = static_cast<std::int64_t>(times.stride());
  CHECK((stride & (stride - 1)) == 0);
  for (std::size_t i = 0; i < times.steps().size(); ++i)
    REQUIRE(times.steps()[i].step == 1 + static_cast<std::int64_t>(i) * stride);
}

TEST_CASE("the slowest steps are kept, whatever is thinned", "[ingest][series]") {
  LoggedStepTimes times;
  for (std::int64_t i = 1; i <= 500'000; ++i)
    times.add({i, i % 10'007 == 0 ? 100.0 + static_cast<double>(i) / 1e6 : 1.0, false});
  // The steps have 49 multiples of 10,007. The last twenty of them are the slowest.
  REQUIRE(times.slowest().size() == kMostSlow);
  for (const auto& slow : times.slowest()) {
    CHECK(slow.step % 10'007 == 0);
    CHECK(slow.step >= 30 * 10'007);
  }
}

TEST_CASE("steps that are done again replace those before", "[ingest][series]") {
  LoggedStepTimes times;
  for (std::int64_t i = 1; i <= 10; ++i) times.add({i, static_cast<double>(i), false});
  times.drop_from(8);
  CHECK(times.steps().back().step == 7);
  CHECK(times.slowest().size() == 7);
  CHECK(times.kept(7)->seconds == 7.0);
  CHECK_FALSE(times.kept(8));
}

TEST_CASE("a loss curve keeps its extremes in 2,000 points", "[ingest][series]") {
  LossCurve curve;
  for (std::int64_t i = 1; i <= 1'000'000; ++i) {
    double loss = 3 + std::sin(static_cast<double>(i) / 1000);
    if (i == 123'457) loss = 50;
    if (i == 654'321) loss = -1;
    curve.add({i, 0, loss});
  }
  curve.add({1'000'001, 0, std::numeric_limits<double>::quiet_NaN()});
  curve.add({1'000'002, 0, std::numeric_limits<double>::infinity()});
  const auto points = curve.points();
  CHECK(points.size() <= 2000);
  CHECK(points.size() > 900);
  CHECK(points.front().step == 1);
  CHECK(points.back().step == 1'000'000);
  CHECK(std::is_sorted(points.begin(), points.end(),
                       [](const auto& a, const auto& b) { return a.step < b.step; }));
  const auto has = [&](std::int64_t step, double loss) {
    return std::any_of(points.begin(), points.end(),
                       [&](const auto& point) { return point.step == step && point.loss == loss; });
  };
  CHECK(has(123'457, 50));
  CHECK(has(654'321, -1));
}

TEST_CASE("a short loss curve is kept as it is", "[ingest][series]") {
  LossCurve curve;
  for (std::int64_t i = 1; i <= 900; ++i) curve.add({i, 0, static_cast<double>(i * 7919 % 101)});
  REQUIRE(curve.points().size() == 900);
  CHECK(curve.points()[449].loss == 450 * 7919 % 101);
  curve.drop_from(450);
  CHECK(curve.points().size() == 449);
  CHECK(curve.last()->step == 449);
}

TEST_CASE("literals are found where a search for each finds them", "[ingest][literals]") {
  const std::vector<std::string> words{"he", "she", "hers", "his", "iteration", "time (ms)", "er"};
  Literals literals;
  for (std::size_t i = 0; i < words.size(); ++i)
    literals.add(words[i], static_cast<std::uint32_t>(i));
  const std::string line = "ushers said: this iteration's time (ms) | hehe she";
  std::vector<std::pair<std::uint32_t, std::size_t>> found, expected;
  literals.scan(line, [&](std::uint32_t id, std::size_t begin) { found.emplace_back(id, begin); });
  for (std::size_t i = 0; i < words.size(); ++i)
    for (auto at = line.find(words[i]); at != std::string::npos; at = line.find(words[i], at + 1))
      expected.emplace_back(i, at);
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  CHECK(found == expected);
}

}  // namespace orch::ingest
