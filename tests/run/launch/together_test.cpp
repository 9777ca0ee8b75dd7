#include "core/run/launch/local/together.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/run/launch/local/local_machine.h"
#include "tests/place.h"
#include "tests/test.h"

namespace orch::launch {
namespace {

struct RunFolder : TestFolder {
  LocalRanks bash(const std::string& text, std::int64_t ranks = 2) const {
    LocalRanks program;
    program.argv = {"/bin/bash", "-c", text};
    program.ranks = ranks;
    program.folder = root();
    return program;
  }
  std::string read(const std::string& name) const {
    const auto text = read_file(root() / name);
    return text ? std::string(trim(*text)) : "";
  }
};

TEST_CASE("every rank knows its number, the others and where they meet", "[together]") {
  const RunFolder folder;
  REQUIRE(run_together(
      folder.bash("echo $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $OMP_NUM_THREADS > rank$RANK;"
                  "echo $MASTER_PORT > port$RANK",
                  3)));
  const auto threads = std::max<std::size_t>(1, usable_cores().size() / 3);
  for (const auto* rank : {"0", "1", "2"})
    CHECK(folder.read(std::string("rank") + rank) ==
          std::string(rank) + " " + rank + " 3 127.0.0.1 " + std::to_string(threads));
  CHECK_FALSE(folder.read("port0").empty());
  CHECK(folder.read("port0") == folder.read("port2"));
}

TEST_CASE("one that fails ends the others, and its words are told", "[together]") {
  const RunFolder folder;
  SystemClock clock;
  const double start = clock.steady();
  const auto status =
      run_together(folder.bash("[ $RANK = 1 ] && { echo no device >&2; exit 3; }; sleep 1000"));
  CHECK(clock.steady() - start < 500);
  REQUIRE_FALSE(status);
  CHECK_THAT(text(status.error()), ContainsSubstring("rank 1: exited with code 3"));
  CHECK_THAT(text(status.error()), ContainsSubstring("1: no device"));
  CHECK(descendants(::getpid()).empty());
}

TEST_CASE("those that never end are ended when the time is over", "[together]") {
  const RunFolder folder;
  auto program = folder.bash("sleep 100");
  program.timeout_seconds = 0.2;
  const auto status = run_together(program);
  REQUIRE_FALSE(status);
  CHECK_THAT(text(status.error()), ContainsSubstring("did not end within 0.2 s"));
}

TEST_CASE("an interruption ends them", "[together]") {
  const RunFolder folder;
  auto program = folder.bash("sleep 100");
  program.interrupted = [] { return true; };
  const auto status = run_together(program);
  REQUIRE_FALSE(status);
  CHECK_THAT(text(status.error()), ContainsSubstring("interrupted"));
}

TEST_CASE("a program that cannot be started says why", "[together]") {
  const RunFolder folder;
  auto program = folder.bash("");
  program.argv = {"/nonexistent/program"};
  const auto status = run_together(program);
  REQUIRE_FALSE(status);
  CHECK_THAT(text(status.error()), ContainsSubstring("No such file"));
}

}  // namespace
}  // namespace orch::launch
