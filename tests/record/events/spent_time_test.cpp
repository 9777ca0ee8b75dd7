#include "core/record/events/collect.h"
#include "tests/place.h"
#include "tests/test.h"

namespace orch::events {
namespace {

using record::Attempt;

// Attempts of a run, with times in seconds.
struct TimedAttempts : TestFolder {
  void add(double start, double end, const std::string& events) {
    const auto number = static_cast<int>(list.size()) + 1;
    folders.push_back(
        file(fs::path(std::to_string(number)) / "events.jsonl", events).parent_path());
    auto& attempt = list.emplace_back();
    attempt.number = number;
    attempt.start = start;
    attempt.end = end;
  }
  std::map<std::string, double> spent() const {
    std::map<std::string, double> out;
    for (const auto& item : spent_time(folders, list)) out[item.kind] = item.amount;
    return out;
  }

  std::vector<fs::path> folders;
  std::vector<Attempt> list;
};

std::string line(const char* event, double time, int step, double seconds = 0) {
  return fmt::format(R"({{"event":"{}","time":{},"step":{},"step_seconds":{}}})"
                     "\n",
                     event, time, step, seconds);
}

using Spent = std::map<std::string, double>;

TEST_CASE("the time of a run by what it was spent on", "[events][goodput]") {
  TimedAttempts run;
  // 20 s until the first step, four steps of 10 s, 5 s of saving after the second, 35 s to its end.
  run.add(1000, 1100,
          line("start", 1010, 0) + line("step", 1030, 1, 10) + line("step", 1040, 2, 10) +
              line("step", 1055, 3, 10) + line("checkpoint", 1060, 2) + line("step", 1065, 4, 10));
  CHECK(run.spent() == Spent{{"computing", 40}, {"restarts", 55}, {"saving", 5}, {"sum", 100}});
  // A minute in the queue, 20 s until step 3, which is made again, and 4; 7 s of other things
  // before step 5, 5 s until its checkpoint is complete, 8 s to the end.
  run.add(1160, 1230,
          line("step", 1190, 3, 10) + line("step", 1200, 4, 10) + line("evaluation", 1207, 4) +
              line("step", 1217, 5, 10) + line("checkpoint", 1222, 5) + line("end", 1223, 5));
  CHECK(run.spent() == Spent{{"computing", 50},
                             {"repeated", 20},
                             {"restarts", 83},
                             {"saving", 10},
                             {"queue", 60},
                             {"other", 7},
                             {"sum", 230}});
}

TEST_CASE("a run that lost nothing, or tells nothing, has no lost time", "[events][goodput]") {
  TimedAttempts smooth;
  smooth.add(1000, 1100, line("step", 1030, 1, 10) + line("step", 1040, 2, 10));
  CHECK(smooth.spent().empty());
  TimedAttempts silent;
  silent.add(1000, 1100, "");
  silent.add(1200, 1300, R"({"event":"step","step":4})");
  CHECK(silent.spent().empty());
  // An attempt that never got to a step only started.
  TimedAttempts late;
  late.add(1000, 1100, "");
  late.add(1100, 1130, line("step", 1120, 1, 10) + line("step", 1130, 2, 10));
  CHECK(late.spent() == Spent{{"computing", 20}, {"restarts", 110}, {"sum", 130}});
}

TEST_CASE("every tenth step only, without its duration", "[events][goodput]") {
  TimedAttempts run;
  run.add(1000, 1300, line("step", 1100, 10) + line("step", 1200, 20) + line("step", 1300, 30));
  run.add(1300, 1400, line("step", 1400, 30));
  // From the first line on; that of step 30 counts once.
  CHECK(run.spent() ==
        Spent{{"computing", 100}, {"repeated", 100}, {"restarts", 200}, {"sum", 400}});
}

TEST_CASE("every tenth step only: a save in between takes what is above the usual time",
          "[events][goodput]") {
  TimedAttempts run;
  run.add(1000, 1500,
          line("step", 1100, 10, 10) + line("step", 1200, 20, 10) + line("checkpoint", 1215, 25) +
              line("step", 1330, 30, 10) + line("step", 1440, 40, 10) +
              line("checkpoint", 1445, 30) + line("step", 1500, 50, 5));
  // Without a save ten steps took 100 and 60 s; with one 130 and 110.
  CHECK(run.spent() == Spent{{"computing", 10 + 100 + 80 + 80 + 60},
                             {"restarts", 90},
                             {"saving", 50 + 30},
                             {"sum", 500}});
}

TEST_CASE("clocks that differ make no time negative", "[events][goodput]") {
  TimedAttempts run;
  run.add(1000, 1050, line("step", 990, 1, 10) + line("step", 1000, 2, 10));
  run.add(1040, 1060, line("step", 1055, 3, 10));
  // The step that ended before its attempt counts nothing, the others ten seconds; 50 s after the
  // first attempt's last one, 5 s on either side of the second's. They overlap: nobody waited.
  CHECK(run.spent() == Spent{{"computing", 20}, {"restarts", 60}, {"sum", 80}});
}

}  // namespace
}  // namespace orch::events
