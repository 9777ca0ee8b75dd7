#include "core/base/flight.h"

#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "tests/place.h"
#include "tests/run/launch/local_fixture.h"
#include "tests/test.h"

using namespace orch;
namespace fs = std::filesystem;

namespace {

struct FlightFolder : TestFolder {
  std::string file(int rank) const { return (root() / flight::file_name(rank)).string(); }
};

}  // namespace

TEST_CASE("a recording tells what a rank did, also after SIGKILL", "[flight]") {
  const FlightFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    flight::Recorder recorder(folder.root().string(), 3);
    for (int step = 0; step <= 5; ++step) {
      recorder.step(step);
      recorder.end(recorder.begin("all_reduce", "data", 1000 + static_cast<unsigned>(step)));
    }
    recorder.begin("all_gather", "a group with a long name", 77);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));

  const auto recording = flight::read(folder.file(3));
  REQUIRE(recording);
  CHECK(recording->pid == child);
  CHECK(recording->rank == 3);
  CHECK(recording->step == 5);
  CHECK(recording->last == 7);
  REQUIRE(recording->collectives.size() == 7);
  CHECK(recording->collectives[0].bytes == 1000);
  CHECK(recording->collectives[5].kind == "all_reduce");
  CHECK(recording->collectives[5].end >= recording->collectives[5].start);
  CHECK(recording->collectives[6].kind == "all_gather");
  CHECK(recording->collectives[6].group == "a group with a ");
  CHECK(recording->collectives[6].end == 0);
  CHECK(recording->collectives[6].start > 1.7e9);
}

TEST_CASE("a recording keeps the last 256 collectives", "[flight]") {
  const FlightFolder folder;
  flight::Recorder recorder(folder.root().string(), 0);
  REQUIRE(recorder.is_open());
  for (int i = 0; i < 1000; ++i) recorder.end(recorder.begin("broadcast", "world", 1));
  recorder.end(1);  // overwritten long ago: the entry in its place is not changed
  const auto recording = flight::read(folder.file(0));
  REQUIRE(recording);
  CHECK(recording->last == 1000);
  REQUIRE(recording->collectives.size() == 256);
  CHECK(recording->collectives.front().sequence == 745);
  CHECK(recording->collectives.back().sequence == 1000);
}

TEST_CASE("what is read while it is written is whole", "[flight]") {
  const FlightFolder folder;
  flight::Recorder recorder(folder.root().string(), 0);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    // The bytes and the name contain the same number, so a mixture of two is detected.
    for (std::uint64_t i = 1; !stop; ++i) {
      recorder.end(recorder.begin(std::to_string(i), "world", i));
      if (i % 100 == 0) ::usleep(50);  // otherwise the ring is overwritten between two reads
    }
  });
  std::size_t seen = 0;
  std::size_t torn = 0;
  // The writer may need a while to begin.
  const bool enough = test::eventually([&] {
    const auto recording = flight::read(folder.file(0));
    if (!recording) return false;
    for (const auto& collective : recording->collectives) {
      ++seen;
      if (collective.kind != std::to_string(collective.bytes) ||
          collective.bytes != collective.sequence)
        ++torn;
    }
    return seen > 100'000;
  });
  stop = true;
  writer.join();
  CHECK(enough);
  CHECK(torn == 0);
}

TEST_CASE("rubbish is not a recording, and damaged slots are left out", "[flight]") {
  const FlightFolder folder;
  CHECK_FALSE(flight::read(folder.file(0)));
  CHECK_FALSE(flight::read(folder.root().string()));
  std::ofstream(folder.file(0)) << "";
  CHECK_FALSE(flight::read(folder.file(0)));
  { flight::Recorder recorder(folder.root().string(), 1); }
  const auto good = test::slurp(folder.file(1));
  std::ofstream(folder.file(0), std::ios::binary) << good.substr(0, good.size() / 2);
  CHECK_FALSE(flight::read(folder.file(0)));

  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    auto bad = good;
    for (std::size_t at = i % 2 ? 16 : 0; at < bad.size(); ++at)
      bad[at] = static_cast<char>(random());
    std::ofstream(folder.file(0), std::ios::binary) << bad;
    const auto recording = flight::read(folder.file(0));
    CHECK(recording.has_value() == (i % 2 == 1));  // valid as soon as its header is complete
    if (recording) CHECK(recording->collectives.empty());
  }
}

TEST_CASE("a recorder that cannot be opened records nothing and says why", "[flight]") {
  flight::Recorder recorder("/nowhere", 0);
  CHECK_FALSE(recorder.is_open());
  CHECK(recorder.error() == ENOENT);
  recorder.step(1);
  recorder.end(recorder.begin("all_reduce", "data", 1));
}
