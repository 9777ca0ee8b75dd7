#include <fcntl.h>
#include <sys/stat.h>

#include "core/record/events/collect.h"
#include "tests/place.h"
#include "tests/record/events/lines.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::events;

namespace {

std::optional<record::TrainingProgress> progress_of(const std::string& events) {
  const TestFolder place;
  place.file("events.jsonl", events);
  return read_progress(place.root(), 0);
}

}  // namespace

TEST_CASE("progress is the last step, and the median after the first three", "[collect][events]") {
  std::string events = R"({"event":"start","time":1000,"ranks":16})"
                       "\n";
  for (int i = 1; i <= 9; ++i)
    events +=
        step(i, R"(,"time":)" + std::to_string(1000 + i) + R"(,"loss":)" + std::to_string(10 - i) +
                    R"(,"step_seconds":)" + std::to_string(i <= 3 ? 100 : i) + R"(,"tokens":)" +
                    std::to_string(1000 * i) + R"(,"tokens_per_second":)" + std::to_string(10 * i) +
                    R"(,"peak_memory_bytes":)" + std::to_string(i == 5 ? 9e9 : 8e9) +
                    R"(,"new_key":[{}])");
  const auto progress = progress_of(events);
  REQUIRE(progress);
  CHECK(progress->measured.steps == 9);
  CHECK(progress->measured.last_loss == 1);
  CHECK(progress->measured.step_seconds->value == 6.5);  // of 4 … 9
  CHECK(progress->measured.tokens_per_second == 65);
  CHECK(progress->measured.peak_memory_bytes == 9e9);
}

TEST_CASE("with six steps or fewer none is dropped", "[collect][events]") {
  std::string events;
  for (int i = 1; i <= 6; ++i) events += step(i, R"(,"step_seconds":)" + std::to_string(i));
  CHECK(progress_of(events)->measured.step_seconds->value == 3.5);
  CHECK(progress_of(events + step(7, R"(,"step_seconds":7)"))->measured.step_seconds->value == 5.5);
}

TEST_CASE("before the first step there is no progress", "[collect][events]") {
  CHECK_FALSE(progress_of(""));
  CHECK_FALSE(progress_of(R"({"event":"start","time":1})"
                          "\n"));
  CHECK_FALSE(progress_of(R"({"event":"step"})"
                          "\n"));
  CHECK_FALSE(progress_of(R"({"event":"step","step":-1})"
                          "\n"));
  CHECK_FALSE(progress_of(R"({"event":"step","step":1e300})"
                          "\n"));
  CHECK_FALSE(progress_of(R"({"event":"checkpoint","step":7})"
                          "\n"));
  CHECK_FALSE(progress_of(R"({"step":7})"
                          "\n"));
  const TestFolder place;
  CHECK_FALSE(read_progress(place.root(), 0));
  CHECK_FALSE(read_progress(place.root() / "nowhere", 0));
}

TEST_CASE("times and tokens tell what a line does not", "[collect][events]") {
  // Every tenth step only.
  std::string events;
  for (int i = 1; i <= 5; ++i)
    events += step(10 * i, R"(,"time":)" + std::to_string(1000 + 20 * i) + R"(,"tokens":)" +
                               std::to_string(4000 * i));
  const auto progress = progress_of(events);
  REQUIRE(progress);
  CHECK(progress->measured.step_seconds->value == Approx(2));
  CHECK(progress->measured.tokens_per_second == Approx(200));
  // A clock that goes back, and steps repeated after a rollback, give no rates.
  const auto odd = progress_of(step(10, R"(,"time":1000,"tokens":50)") +
                               step(9, R"(,"time":1010,"tokens":40)") + step(11, R"(,"time":900)"));
  REQUIRE(odd);
  CHECK(odd->measured.steps == 11);
  CHECK_FALSE(odd->measured.step_seconds);
  CHECK_FALSE(odd->measured.tokens_per_second);
}

TEST_CASE("an end tells the last step too", "[collect][events]") {
  const auto progress =
      progress_of(step(490, R"(,"time":5,"loss":2)") + R"({"event":"end","time":9,"step":500})"
                                                       "\n");
  REQUIRE(progress);
  CHECK(progress->measured.steps == 500);
  CHECK(progress->measured.last_loss == 2);
}

TEST_CASE("a loss that is not a number is none, and its line still counts", "[collect][events]") {
  for (const std::string loss :
       {"NaN", "nan", "-nan", "Infinity", "-Infinity", "inf", "1e999", "null", "\"NaN\"", "{}"}) {
    const auto progress =
        progress_of(step(1, R"(,"loss":1)") +
                    step(12, R"(,"note":"a \"NaN\" \\","loss":)" + loss + R"(,"tokens":7)"));
    INFO(loss);
    REQUIRE(progress);
    CHECK(progress->measured.steps == 12);
    CHECK_FALSE(progress->measured.last_loss);
  }
}

TEST_CASE("absurd numbers and rubbish between the lines are survived", "[collect][events]") {
  const std::string rubbish = std::string("\0\xff\x1b[2J{", 7) + "\n{\"event\":\n[[[[\n\n7\n" +
                              std::string(300'000, '[') + "\n" +
                              R"({"event":{},"step":3})"
                              "\n";
  const auto progress = progress_of(
      rubbish + step(3, R"(,"loss":1e308,"step_seconds":-5,"tokens":-1e308,"time":1e308)") +
      rubbish + step(4, R"(,"step_seconds":1e308,"tokens_per_second":0,"tokens":1e308)") + rubbish +
      step(5, R"(,"loss":18446744073709551616)") + R"({"event":"step","step":6,"loss":3)");
  REQUIRE(progress);
  CHECK(progress->measured.steps == 5);  // the last line is half
  CHECK(progress->measured.last_loss == Approx(1.8446744073709552e19));
  CHECK(progress->measured.step_seconds->value == 1e308);
  CHECK_FALSE(progress->measured.tokens_per_second);
}

TEST_CASE("a last line without its end counts if it is whole", "[collect][events]") {
  CHECK(progress_of(step(1, "") + R"({"event":"step","step":2})")->measured.steps == 2);
  CHECK(progress_of(step(1, "") + R"({"event":"step","step":2)")->measured.steps == 1);
}

TEST_CASE("of a long file only the end is read", "[collect][events]") {
  const TestFolder place;
  const auto file = place.file("events.jsonl", step(1, R"(,"step_seconds":50)"));
  fs::resize_file(file, std::uintmax_t{10} << 30);  // sparse: zeros
  {
    std::ofstream more(file, std::ios::app);
    more << "\n";
    for (int i = 0; i < 7; ++i) more << step(1000 + i, R"(,"step_seconds":2)");
  }
  auto progress = read_progress(place.root(), 0);
  REQUIRE(progress);
  CHECK(progress->measured.steps == 1006);
  CHECK(progress->measured.step_seconds->value ==
        2);  // none is dropped: they are not the first of the attempt
  // Other events after the last step, more than are usually read.
  {
    std::ofstream more(file, std::ios::app);
    for (int i = 0; i < 20'000; ++i)
      more << R"({"event":"note","text":"more of the same"})"
              "\n";
  }
  progress = read_progress(place.root(), 0);
  REQUIRE(progress);
  CHECK(progress->measured.steps == 1006);
  // And more than are ever read.
  {
    std::ofstream more(file, std::ios::app);
    more << std::string(5 << 20, 'x') << "\n";
  }
  CHECK_FALSE(read_progress(place.root(), 0));
}

TEST_CASE("the age is that of the file by its own clock", "[collect][events]") {
  const TestFolder place;
  const auto file = place.file("events.jsonl", step(1, ""));
  const double now = file_system_now(place.root());
  CHECK(now > 1.7e9);
  timespec times[2] = {{0, UTIME_OMIT}, {static_cast<time_t>(now) - 100, 0}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  CHECK(read_progress(place.root(), now)->age == Approx(100).margin(1.5));
  CHECK(read_progress(place.root(), now - 1000)->age == 0);  // written in the future
}

TEST_CASE("the file system's time leaves nothing behind, and falls back to ours",
          "[collect][events]") {
  const TestFolder place;
  const double before = static_cast<double>(::time(nullptr));
  CHECK(file_system_now(place.root()) >= before - 1);
  CHECK(fs::is_empty(place.root()));
  CHECK(file_system_now(place.root() / "nowhere") >= before);
}

TEST_CASE("what is not a plain file has no progress", "[collect][events]") {
  const TestFolder place;
  const auto path = place.root() / "events.jsonl";
  fs::create_directory(path);
  CHECK_FALSE(read_progress(place.root(), 0));
  fs::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);  // must not wait for a writer
  CHECK_FALSE(read_progress(place.root(), 0));
}
