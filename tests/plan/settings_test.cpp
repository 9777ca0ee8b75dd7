#include "core/plan/settings.h"

#include <catch2/catch_test_macros.hpp>

using namespace orch::plan;

TEST_CASE("settings that are set in a copy stay as they were elsewhere", "[plan][settings]") {
  const Settings first{std::int64_t{8}, std::string("none"), true};
  auto copy = first;
  copy.set(1, std::string("powersgd"));
  copy.set(0, std::int64_t{4});
  copy.set(0, std::int64_t{2});
  CHECK(copy == Settings{std::int64_t{2}, std::string("powersgd"), true});
  CHECK(first == Settings{std::int64_t{8}, std::string("none"), true});
  copy.set(0, std::int64_t{8});
  copy.set(1, std::string("none"));
  CHECK(copy == first);
  copy.push_back(0.5);
  CHECK(copy.size() == 4);
  CHECK(copy[3] == Value(0.5));
  CHECK_FALSE(copy == first);
  CHECK(Settings().size() == 0);
}

TEST_CASE("shared settings are the same values in the memory of others", "[plan][settings]") {
  const Settings first{std::int64_t{8}, std::string("none"), true, 1.5};
  const Settings near{std::int64_t{8}, std::string("none"), false, 1.5};
  const Settings far{std::int64_t{1}, std::string("all"), false, 1.5};
  const auto shared = near.shared_with(first);
  CHECK(shared == near);
  CHECK(&shared[1] == &first[1]);
  CHECK(&shared.shared_with(shared)[1] == &first[1]);
  CHECK(far.shared_with(first) == far);
  CHECK(first.shared_with(near.shared_with(first)) == first);
  CHECK(first.shared_with({}) == first);
  CHECK(Settings().shared_with(first) == Settings());
}
