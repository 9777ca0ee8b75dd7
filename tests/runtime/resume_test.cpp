#include "backends/runtime/loop/resume.h"

#include <sched.h>
#include <sys/mount.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/place.h"
#include "tests/runtime/ranks.h"
#include "tests/train/checkpoint/made.h"

using namespace orch::test;
using namespace made;

namespace {

// For this thread only, as on a node with a separate disk.
bool see_instead(const fs::path& place, const fs::path& other) {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount(other.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

}  // namespace

TEST_CASE("ranks that see different checkpoints at the same path do not go on", "[runtime]") {
  const ::TestFolder place;
  const auto here = place.root() / "here", other = place.root() / "other";
  REQUIRE(checkpoint::write(here, at_step(4), simple(1), {}));
  REQUIRE(checkpoint::write(other, at_step(4), simple(2), {}));  // the same sizes
  const auto outcomes = run_worlds(2, [&](train::World& world) {
    if (world.rank() == 1 && !see_instead(here, other)) return say("may not mount");
    train::find_checkpoint(
        world, [&] { return checkpoint::open_latest(here); }, "");
  });
  if (outcomes[1].said.find("may not mount") != std::string::npos) SKIP("this user may not mount");
  CHECK_FALSE(outcomes[1].ok());
  CHECK_THAT(outcomes[1].said,
             Catch::Matchers::ContainsSubstring("is the run folder shared by all nodes?"));
  CHECK_THAT(outcomes[1].said, Catch::Matchers::ContainsSubstring("differs"));
}
