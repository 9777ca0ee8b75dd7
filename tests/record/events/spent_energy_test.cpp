#include "core/record/events/collect.h"
#include "tests/place.h"
#include "tests/test.h"

namespace orch::events {
namespace {

using record::Attempt;

// Attempts of a run, with times in seconds.
struct MeteredAttempts : TestFolder {
  void add(double start, double end, const std::string& events) {
    const auto number = std::to_string(list.size() + 1);
    folders.push_back(file(fs::path(number) / "events.jsonl", events).parent_path());
    list.emplace_back().start = start;
    list.back().end = end;
  }
  std::optional<double> joules() const {
    const auto energy = spent_kwh(folders, list);
    return energy ? std::optional(*energy * 3.6e6) : std::nullopt;
  }

  std::vector<fs::path> folders;
  std::vector<Attempt> list;
};

std::string counted(const char* event, double joules) {
  return fmt::format(R"({{"event":"{}","time":1010,"step":3,"joules":{}}})"
                     "\n",
                     event, joules);
}

std::string look(double time, double watts, int gpus) {
  return fmt::format(R"({{"event":"gpus","time":{},"use":1,"watts":{},"gpus":{}}})"
                     "\n",
                     time, watts, gpus);
}

TEST_CASE("energy is the sum of what the attempts counted", "[events][energy]") {
  MeteredAttempts run;
  run.add(1000, 1100, counted("step", 500) + look(1050, 9, 9) + counted("step", 700));
  CHECK(run.joules() == Approx(700));
  run.add(1200, 1300, counted("step", 100) + counted("end", 130));
  CHECK(run.joules() == Approx(830));
}

// Each look is of the time since the one before; the last one lasts to the end.
TEST_CASE("without counters it is that of the power in between", "[events][energy]") {
  MeteredAttempts run;
  run.add(1000, 1100, look(1010, 200, 8) + look(1020, 500, 8) + look(1040, 600, 8));
  CHECK(run.joules() == Approx(8 * (10 * 200 + 10 * 500 + 80 * 600)));
  // One that ended at once has no look; of one that took longer the energy is missing.
  run.add(1200, 1230, "");
  CHECK(run.joules() == Approx(8 * (10 * 200 + 10 * 500 + 80 * 600)));
  run.add(1300, 1400, R"({"event":"step","time":1350,"step":3})");
  CHECK_FALSE(run.joules());
}

TEST_CASE("looks that do not say of how many GPUs they are do not count", "[events][energy]") {
  MeteredAttempts run;
  run.add(1000, 1100, R"({"event":"gpus","time":1010,"use":1,"watts":300})");
  CHECK_FALSE(run.joules());
  MeteredAttempts none;
  CHECK_FALSE(none.joules());
}

}  // namespace
}  // namespace orch::events
