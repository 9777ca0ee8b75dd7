#include "backends/megatron/partition.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <vector>

namespace orch::megatron {

static std::vector<std::int64_t> layers(const Partition& partition) {
  std::vector<std::int64_t> all;
  for (std::int64_t stage = 0; stage < partition.stages; ++stage)
    all.push_back(partition.layers_on(stage));
  return all;
}

TEST_CASE("78 layers on 12 stages are seven on each and one on the last, or nearly equal",
          "[megatron]") {
  const Partition portions{78, 12, false, false};
  std::vector<std::int64_t> expected(12, 7);
  expected.back() = 1;
  CHECK(layers(portions) == expected);
  CHECK(portions.loss() == Catch::Approx(84.0 / 78 - 1));
  for (std::size_t stage = 6; stage < 12; ++stage) expected[stage] = 6;
  CHECK(layers({78, 12, false}) == expected);
  CHECK(Partition{78, 12, false}.loss() == portions.loss());  // the largest stage is as large
}

TEST_CASE("counted embeddings take a layer's place on the first and last stage", "[megatron]") {
  std::vector<std::int64_t> on_24(24, 4), on_32(32, 2);
  on_24.front() = on_24.back() = 3;
  on_32.front() = on_32.back() = 1;
  CHECK(layers({94, 24, true}) == on_24);
  CHECK(layers({62, 32, true}) == on_32);
  CHECK(Partition{94, 24, true}.loss() == 0);
}

TEST_CASE("a stage may hold an embedding and no layer", "[megatron]") {
  CHECK(layers({2, 4, true}) == std::vector<std::int64_t>{0, 1, 1, 0});
  CHECK(layers({3, 1, true}) == std::vector<std::int64_t>{3});
}

TEST_CASE("every partition deals out every layer once", "[megatron]") {
  for (std::int64_t count = 1; count < 60; ++count)
    for (std::int64_t stages = 1; stages <= count + 2; ++stages)
      for (const bool balanced : {true, false}) {
        const bool with_ends = stages > count;
        if (with_ends && !balanced) continue;  // refused
        std::int64_t sum = 0;
        for (const auto n : layers({count, stages, with_ends, balanced})) sum += n;
        CHECK(sum == count);
      }
}

}  // namespace orch::megatron
