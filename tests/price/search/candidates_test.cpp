#include "core/price/search/candidates.h"

#include <catch2/catch_test_macros.hpp>

using namespace orch;
using namespace orch::search;
using plan::Param;
using plan::ParamType;
using plan::Value;

namespace {

Param integer(std::string name, std::int64_t value, double min, double max) {
  Param param;
  param.name = std::move(name);
  param.default_value = value;
  param.min = min;
  param.max = max;
  return param;
}

std::vector<Value> values(std::initializer_list<std::int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

plan::Run laid_out(std::int64_t layers, std::int64_t pipeline, std::int64_t data) {
  plan::Run run;
  run.model.layers = layers;
  run.layout.pipeline_parallel = pipeline;
  run.layout.data_parallel = data;
  return run;
}

}  // namespace

TEST_CASE("divisors are all of them, ascending", "[search]") {
  CHECK(divisors(1) == std::vector<std::int64_t>{1});
  CHECK(divisors(13) == std::vector<std::int64_t>{1, 13});
  CHECK(divisors(36) == std::vector<std::int64_t>{1, 2, 3, 4, 6, 9, 12, 18, 36});
  std::vector<std::int64_t> slow;
  for (std::int64_t d = 1; d <= 5040; ++d)
    if (5040 % d == 0) slow.push_back(d);
  CHECK(divisors(5040) == slow);
}

TEST_CASE("a search opens layout and placement, not what runs", "[search]") {
  for (const char* field : {"tensor_parallel", "interleave", "offload", "stage", "sharding"})
    CHECK(is_layout(field));
  for (const char* field : {"engine", "dtype", "optimizer", "flash_attention", "gpus"})
    CHECK_FALSE(is_layout(field));
}

TEST_CASE("small ranges are tried whole, large ones around the default", "[search]") {
  CHECK(candidates(integer("stage", 1, 1, 3), Value()) == values({1, 2, 3}));
  CHECK(candidates(integer("stage", 1, 1, 3), Value(std::int64_t{3})) == values({3, 1, 2}));
  CHECK(candidates(integer("multiple", 128, 1, 65536), Value()) == values({128, 32, 64, 256, 512}));
  CHECK(candidates(integer("prefetch", 1, 0, 64), Value()) == values({1, 0, 2, 4}));
  // Counts of steps or bytes are not part of a layout.
  CHECK_FALSE(enumerable(integer("start", 10, 0, 1e9)));
  CHECK(candidates(integer("start", 10, 0, 1e9), Value()) == values({10}));
  Param real;
  real.type = ParamType::real;
  CHECK_FALSE(enumerable(real));
}

TEST_CASE("choices and flags begin with what the experiment says", "[search]") {
  Param choice;
  choice.type = ParamType::choice;
  choice.choices = {"full", "selective", "none"};
  choice.default_value = std::string("full");
  CHECK(candidates(choice, Value()) ==
        std::vector<Value>{std::string("full"), std::string("selective"), std::string("none")});
  CHECK(candidates(choice, Value(std::string("none"))).front() == Value(std::string("none")));
  Param flag;
  flag.type = ParamType::boolean;
  flag.default_value = true;
  CHECK(candidates(flag, Value()) == std::vector<Value>{true, false});
}

TEST_CASE("some parameters divide what the layout leaves", "[search]") {
  const auto interleave = integer("interleave", 1, 1, 1024);
  CHECK(candidates(interleave, laid_out(72, 6, 1)) == values({1, 2, 3, 4, 6, 12}));
  CHECK(candidates(interleave, laid_out(72, 1, 1)) == values({1}));   // no pipeline
  CHECK(candidates(interleave, laid_out(70, 12, 1)) == values({1}));  // uneven stages
  const auto group = integer("hybrid_shard_group", 0, 0, 65536);
  CHECK(candidates(group, laid_out(1, 1, 12)) == values({0, 2, 3, 4, 6, 12}));
}
