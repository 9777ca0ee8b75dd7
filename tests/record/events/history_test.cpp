#include "core/record/events/collect.h"
#include "core/record/thinned.h"
#include "tests/place.h"
#include "tests/test.h"

namespace orch::events {
namespace {

// Attempts of a run, removed after the test.
struct Attempts : TestFolder {
  void add(const std::string& events) {
    const auto number = std::to_string(list.size() + 1);
    list.push_back(file(fs::path(number) / "events.jsonl", events).parent_path());
  }

  std::vector<fs::path> list;
};

std::string step(int number, double seconds, double loss) {
  return fmt::format(
      R"({{"event":"step","time":{},"step":{},"loss":{},"step_seconds":{},"tokens":{},)"
      R"("tokens_per_second":{},"peak_memory_bytes":{}}})"
      "\n",
      1000 + number, number, loss, seconds, number * 100, 100 / seconds, 1000 + number);
}

TEST_CASE("all attempts of a run are one history, and the later one of a repeated step counts") {
  Attempts attempts;
  std::string first = R"({"event":"start","time":1000,"torch":"1.13"})"
                      "\n";
  for (int i = 1; i <= 8; ++i) first += step(i, i == 1 ? 9 : 2, 10 - i);
  attempts.add(first);
  std::string second;
  for (int i = 6; i <= 12; ++i) second += step(i, i == 6 ? 9 : 4, 20 - i);
  attempts.add(second);

  const auto history = read_history(attempts.list);
  const auto& measured = history.measured;
  CHECK(measured.steps == 12);
  CHECK(measured.restarts == 1);
  CHECK(measured.resumes == std::vector<std::int64_t>{6});
  CHECK(measured.repeated_steps == 3);  // 6, 7 and 8
  REQUIRE(measured.losses.size() == 12);
  CHECK(measured.losses[5].loss == 14);  // that of the second attempt's step 6
  CHECK(measured.losses[5].tokens == 600);
  CHECK(measured.last_loss == 8.0);
  CHECK(measured.peak_memory_bytes == 1012.0);
  REQUIRE(measured.step_times.size() == 12);
  CHECK(measured.step_times[4].value == 2);
  CHECK(measured.step_times[5].value == 9);
  REQUIRE(measured.peaks.size() == 12);  // each step takes a byte more
  CHECK(measured.peaks[5].step == 6);
  CHECK(measured.peaks[5].value == 1006);
  // Steps 2 to 5 take 2 s, 7 to 12 take 4 s: the median of ten is 4.
  REQUIRE(measured.step_seconds);
  CHECK(measured.step_seconds->value == Catch::Approx(4));
  CHECK(measured.window.warmup == 2);
  CHECK(history.origin.versions ==
        std::vector<std::pair<std::string, std::string>>{{"torch", "1.13"}});
}

TEST_CASE("what GPUs did is of the step before, and of the attempt that counts") {
  Attempts attempts;
  const auto gpus = [](const std::string& rest) {
    return R"({"event":"gpus","time":9)" + rest + "}\n";
  };
  attempts.add(gpus(R"(,"use":0.1,"watts":90)") + step(1, 2, 9) +
               gpus(R"(,"use":0.95,"watts":600.5)") + step(2, 2, 8) +
               gpus(R"(,"use":0.5,"watts":null)"));
  attempts.add(step(2, 2, 8) + gpus(R"(,"use":1,"watts":640)"));
  const auto measured = read_history(attempts.list).measured;
  const auto pairs = [](const std::vector<record::StepPoint>& points) {
    std::vector<std::pair<std::int64_t, double>> out;
    for (const auto& point : points) out.emplace_back(point.step, point.value);
    return out;
  };
  CHECK(pairs(measured.gpu_use) == std::vector<std::pair<std::int64_t, double>>{{1, 0.95}, {2, 1}});
  CHECK(pairs(measured.gpu_watts) ==
        std::vector<std::pair<std::int64_t, double>>{{1, 600.5}, {2, 640}});
  CHECK(measured.steps == 2);
}

TEST_CASE("power and use are means over the time, whatever is kept of the looks") {
  Attempts attempts;
  std::string events = step(1, 2, 9);
  // 1,000 looks ten seconds apart at 400 W, every tenth of them at 100 W; then one of 1,000 s.
  for (int i = 1; i <= 1000; ++i)
    events += fmt::format(R"({{"event":"gpus","time":{},"use":0.5,"watts":{}}})"
                          "\n",
                          10 * i, i % 10 == 0 ? 100 : 400) +
              step(i + 1, 2, 9);
  events += R"({"event":"gpus","time":11000,"use":1,"watts":null})"
            "\n";
  attempts.add(events);
  const auto measured = read_history(attempts.list).measured;
  CHECK(measured.gpu_watts.size() < 1000);
  CHECK(measured.stated.at("gpu_watts") == Catch::Approx(0.9 * 400 + 0.1 * 100));
  CHECK(measured.stated.at("gpu_use") == Catch::Approx((10'000 * 0.5 + 1000 * 1.0) / 11'000));
}

TEST_CASE("a trainer that writes every tenth step is timed by its clock") {
  Attempts attempts;
  std::string events;
  for (int i = 10; i <= 60; i += 10)
    events += fmt::format(R"({{"event":"step","time":{},"step":{},"loss":1}})"
                          "\n",
                          i * 3, i);
  attempts.add(events + R"({"event":"step","time":)");
  const auto history = read_history(attempts.list);
  REQUIRE(history.measured.step_seconds);
  CHECK(history.measured.step_seconds->value == Catch::Approx(3));
  CHECK(history.measured.steps == 60);
}

TEST_CASE("nothing is known of a run without events") {
  Attempts attempts;
  attempts.add("");
  attempts.list.emplace_back("/nowhere/at/all");
  const auto history = read_history(attempts.list);
  CHECK_FALSE(history.measured.step_seconds);
  CHECK(history.measured.losses.empty());
  CHECK(read_history({}).measured.steps == 0);
}

TEST_CASE("a thinned curve keeps its extremes and its end") {
  std::vector<record::LossPoint> points;
  for (int i = 1; i <= 100'000; ++i)
    points.push_back({i, 0, i == 77'777 ? 50.0 : 10.0 / std::sqrt(i)});
  const auto thin = record::thinned(points, &record::LossPoint::loss, 1000);
  CHECK(thin.size() <= 1001);
  CHECK(thin.front().step == 1);
  CHECK(thin.back().step == 100'000);
  CHECK(std::any_of(thin.begin(), thin.end(), [](auto& p) { return p.step == 77'777; }));
  CHECK(std::is_sorted(thin.begin(), thin.end(), [](auto& a, auto& b) { return a.step < b.step; }));
  CHECK(record::thinned(std::vector<record::LossPoint>(), &record::LossPoint::loss, 10).empty());
}

TEST_CASE("ranks that are slow at the end are named, those that recovered are not") {
  const auto slow = [](int step, int rank, double busy, bool over) {
    return fmt::format(
        R"({{"event":"slow_rank","time":{},"step":{},"rank":{},"host":"n{}","busy_seconds":{},)"
        R"("typical_seconds":0.5,"since":2,"over":{}}})"
        "\n",
        1000 + step, step, rank, rank / 2, busy, over);
  };
  Attempts attempts;
  attempts.add(step(5, 2, 3) + slow(5, 3, 0.6, false) + slow(5, 1, 0.7, false) + step(6, 2, 3) +
               slow(6, 1, 0.5, true) + slow(6, 3, 0.65, false) + step(7, 2, 3));
  const auto& odd = read_history(attempts.list).measured.odd_nodes;
  REQUIRE(odd.size() == 1);
  CHECK(odd[0].name == "rank 3 on n1");
  CHECK(odd[0].value == 0.65);
  CHECK(odd[0].typical == 0.5);
  CHECK(odd[0].what == "seconds of computing per step since step 2");
  const auto progress = read_progress(attempts.list.front(), 0);
  REQUIRE(progress);
  CHECK(progress->measured.odd_nodes.size() == 1);
}

}  // namespace
}  // namespace orch::events
