#include "core/train/pipeline/partition.h"

#include "tests/test.h"

namespace orch::pipeline {

static std::vector<std::int64_t> layers(const StagePartition& partition) {
  std::vector<std::int64_t> all;
  for (std::int64_t stage = 0; stage < partition.stages; ++stage)
    all.push_back(partition.layers_on(stage));
  return all;
}

TEST_CASE("78 layers on 12 stages are seven on each and one on the last, or nearly equal",
          "[megatron]") {
  const StagePartition portions{78, 12, false, false};
  std::vector<std::int64_t> expected(12, 7);
  expected.back() = 1;
  CHECK(layers(portions) == expected);
  CHECK(portions.loss() == Catch::Approx(84.0 / 78 - 1));
  for (std::size_t stage = 6; stage < 12; ++stage) expected[stage] = 6;
  CHECK(layers({78, 12, false}) == expected);
  CHECK(StagePartition{78, 12, false}.loss() == portions.loss());  // the largest stage is as large
}

TEST_CASE("counted embeddings take a layer's place on the first and last stage", "[megatron]") {
  std::vector<std::int64_t> on_24(24, 4), on_32(32, 2);
  on_24.front() = on_24.back() = 3;
  on_32.front() = on_32.back() = 1;
  CHECK(layers({94, 24, true}) == on_24);
  CHECK(layers({62, 32, true}) == on_32);
  CHECK(StagePartition{94, 24, true}.loss() == 0);
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

// 61 = 32 + 29: three chunks have one layer, among them the first and the last; 15 stages have four
// or three.
TEST_CASE("layers that do not divide over chunks make the first and the last one small",
          "[megatron]") {
  const auto chunks = uneven_chunks({61, 16, false}, 2);
  CHECK(std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0}) == 61);
  CHECK(chunks.front() == 1);
  CHECK(chunks.back() == 1);
  std::vector<std::int64_t> on(16, 0);
  for (std::size_t i = 0; i < chunks.size(); ++i) on[i % 16] += chunks[i];
  CHECK(on == std::vector<std::int64_t>{3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3, 3});
  // Embedding and head take a layer's place: 7 items on four chunks of two stages.
  CHECK(uneven_chunks({5, 2, true}, 2) == std::vector<std::int64_t>{1, 2, 2, 0});
  for (std::int64_t layers = 4; layers < 70; ++layers)
    for (std::int64_t stages = 2; stages <= layers / 2; ++stages)
      for (std::int64_t v = 2; v <= layers / stages; ++v) {
        const auto all = uneven_chunks({layers, stages, false}, v);
        const auto [low, high] = std::minmax_element(all.begin(), all.end());
        CHECK(std::accumulate(all.begin(), all.end(), std::int64_t{0}) == layers);
        CHECK(*high - *low <= 1);
        CHECK(all.back() == *low);
      }
}

}  // namespace orch::pipeline
