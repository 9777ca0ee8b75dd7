#include "core/price/search/shapes.h"

#include "core/plan/family.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::search;

namespace {

MakeModel bloom() {
  return [](const RankShape& shape) {
    return plan::sized("bloom", "", shape.layers, shape.hidden, shape.heads, 250880, 2048);
  };
}

// L(12h^2 + 13h) + Vh + 4h: norms after the embedding and at the end.
double params(std::int64_t layers, std::int64_t hidden) {
  const auto l = static_cast<double>(layers), h = static_cast<double>(hidden);
  return l * (12 * h * h + 13 * h) + 250880 * h + 4 * h;
}

}  // namespace

TEST_CASE("shapes are all that come to the size", "[search]") {
  plan::Shapes wanted;
  wanted.params = 176e9;
  wanted.tolerance = 0.03;
  for (std::int64_t layers = 60; layers <= 110; ++layers) wanted.layers.push_back(layers);
  wanted.heads = {64, 96, 112, 128};
  std::vector<RankShape> expected;
  for (std::int64_t layers = 60; layers <= 110; ++layers)
    for (std::int64_t hidden = 128; hidden <= 20480; hidden += 128)
      for (const std::int64_t heads : {64, 96, 112, 128})
        if (hidden % heads == 0 && hidden / heads % 8 == 0 &&
            std::abs(params(layers, hidden) / 176e9 - 1) <= 0.03)
          expected.push_back({layers, hidden, heads});
  const auto shapes = shapes_of(wanted, bloom(), "search");
  REQUIRE(shapes);
  CHECK(*shapes == expected);
  // The model that was trained is one of them.
  CHECK(std::find(shapes->begin(), shapes->end(), RankShape{70, 14336, 112}) != shapes->end());
}

TEST_CASE("without layers and heads shapes are of usual proportions", "[search]") {
  plan::Shapes wanted;
  wanted.params = 176e9;
  const auto shapes = shapes_of(wanted, bloom(), "search");
  REQUIRE(shapes);
  for (const auto& [layers, hidden, heads] : *shapes) {
    CHECK(hidden >= 64 * layers);
    CHECK(hidden <= 256 * layers);
    CHECK(hidden % heads == 0);
    CHECK(hidden / heads % 16 == 0);
    CHECK(std::abs(params(layers, hidden) / 176e9 - 1) <= 0.02);
  }
  CHECK(std::find(shapes->begin(), shapes->end(), RankShape{70, 14336, 112}) != shapes->end());
}

TEST_CASE("a size that no shape has is an error with the nearest", "[search]") {
  plan::Shapes wanted;
  wanted.params = 176e9;
  wanted.tolerance = 1e-6;
  wanted.layers = {70};
  wanted.heads = {112};
  const auto none = shapes_of(wanted, bloom(), "x.lua: search");
  REQUIRE_FALSE(none);
  CHECK(none.error().front().place == "x.lua: search");
  CHECK_THAT(none.error().front().fix, ContainsSubstring("176,247,271,424"));  // 70 x 14336
  wanted.heads = {113};  // 128 times what 113 divides is far away
  wanted.tolerance = 0.001;
  CHECK_FALSE(shapes_of(wanted, bloom(), "search"));
  wanted.params = 1;  // below the smallest
  CHECK_FALSE(shapes_of(wanted, bloom(), "search"));
}

// Llama 3's three sizes have nearly the same proportions.
TEST_CASE("a model is scaled in its proportions", "[search]") {
  plan::Model llama = plan::sized("llama", "", 32, 4096, 32, 128256, 8192);
  llama.kv_heads = 8;
  llama.ffn_hidden = 14336;
  for (const double times : {0.1, 0.5, 1.2, 2.0, 8.9, 50.0}) {
    const auto other = scaled(llama, times);
    CAPTURE(times, other.layers, other.hidden, other.heads);
    CHECK(other.params() / llama.params() / times > 0.93);
    CHECK(other.params() / llama.params() / times < 1.07);
    if (times >= 0.5)  // smaller models consist mostly of embeddings
      CHECK(std::abs(std::log2(static_cast<double>(other.hidden) /
                               static_cast<double>(other.layers) / 128)) < 0.6);
    CHECK(other.hidden == other.heads * 128);
    CHECK(other.heads % other.kv_heads == 0);
    CHECK(other.layers % 2 == 0);
    CHECK(other.seq == 8192);
  }
  CHECK(scaled(llama, 1).params() == llama.params());
}
