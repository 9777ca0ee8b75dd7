#include "backends/ddp/reducer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>
#include <numeric>
#include <random>

#include "tests/runtime/gradients.h"
#include "tests/runtime/ranks.h"

using namespace orch;
using namespace orch::ddp;
using namespace orch::test;
using train::Parameters;
using train::World;

namespace {

const std::vector<std::vector<std::int64_t>> kReducedShapes = {
    {100}, {40, 30}, {7}, {64, 64}, {3, 5, 11}};

CompressingOptions small_buckets() {
  CompressingOptions options;
  options.buckets.first_bytes = 400;
  options.buckets.bytes = 6000;
  return options;
}

void set_all_gradients(Parameters& parameters, int rank, std::int64_t step) {
  for (auto& parameter : parameters) parameter.gradient.copy_(gradient_of(parameter, rank, step));
}

void expect_means(Parameters& parameters, int ranks, std::int64_t step, double tolerance) {
  for (auto& parameter : parameters) {
    const auto error = difference(parameter.gradient, mean_of(parameter, ranks, step));
    expect(error <= tolerance, fmt::format("{} differs by {}", parameter.spec.name, error));
  }
}

// Gradients become ready in an order that differs between ranks and steps.
void reduce_in_disorder(CompressingReducer& reducer, Parameters& parameters, int rank,
                        std::int64_t step) {
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(static_cast<unsigned>(100 * rank + step));
  std::shuffle(order.begin(), order.end(), random);
  reducer.begin(step, true);
  for (const auto i : order) reducer.ready(i);
  reducer.finish();
}

}  // namespace

TEST_CASE("buckets close when they are full, the first one early", "[ddp]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto parameters = parameters_of(kReducedShapes);
    CompressingReducer reducer(parameters, world.world(), small_buckets());
    // In elements, each parameter at a multiple of 64: 100 (128) fill the first bucket's 400 bytes;
    // 1200 (1216) and 7 (64) are less than 6000 bytes, with 4096 more; 165 (192) are left over.
    const auto buckets =
        train::buckets_of({{parameters.begin(), parameters.end()}, parameters.gradients().numel()},
                          4, small_buckets().buckets);
    const auto elements = [&](std::size_t i) {
      return buckets[i].range.end - buckets[i].range.begin;
    };
    expect(buckets.size() == 3, "three buckets");
    expect(elements(0) == 128, "the first has 128 elements");
    expect(elements(1) == 1216 + 64 + 4096, "the second 5376");
    expect(elements(2) == 192, "the third 192");
    set_all_gradients(parameters, world.rank(), 1);
    reduce_in_disorder(reducer, parameters, world.rank(), 1);
    expect(world.world().traffic().calls == 3, "one collective each");
    expect(world.world().traffic().bytes == 4 * (128 + 5376 + 192), "all bytes are counted");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("gradients become their mean, whatever order they get ready in", "[ddp]") {
  const int ranks = GENERATE(2, 3, 4);
  const bool overlap = GENERATE(true, false), view = GENERATE(true, false);
  CAPTURE(ranks, overlap, view);
  RankOptions slow;
  slow.jitter_ms = 3;
  const auto outcomes = run_worlds(
      ranks,
      [=](World& world) {
        auto parameters = parameters_of(kReducedShapes);
        auto options = small_buckets();
        options.overlap = overlap;
        options.bucket_view = view;
        CompressingReducer reducer(parameters, world.world(), options);
        for (std::int64_t step = 1; step <= 10; ++step) {
          set_all_gradients(parameters, world.rank(), step);
          reduce_in_disorder(reducer, parameters, world.rank(), step);
          expect_means(parameters, world.size(), step, 2e-7);
        }
        expect((reducer.buffer_bytes() > 0) == !view, "only copies need memory");
      },
      slow);
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("all ranks have the same bits", "[ddp]") {
  const auto outcomes = run_worlds(4, [](World& world) {
    auto parameters = parameters_of(kReducedShapes);
    CompressingReducer reducer(parameters, world.world(), small_buckets());
    set_all_gradients(parameters, world.rank(), 1);
    reduce_in_disorder(reducer, parameters, world.rank(), 1);
    auto other = parameters.gradients().clone();
    world.world().broadcast(other, 0).wait();
    expect(at::equal(other, parameters.gradients()), "rank 0's bits");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("micro-batches without synchronisation send nothing", "[ddp]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto parameters = parameters_of(kReducedShapes);
    CompressingReducer reducer(parameters, world.world(), small_buckets());
    for (int micro = 0; micro < 3; ++micro) {
      reducer.begin(1, micro == 2);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].gradient.add_(gradient_of(parameters[i], world.rank(), 5), 1.0 / 3);
        reducer.ready(i);
      }
      const auto calls = world.world().traffic().calls;
      expect(calls == (micro < 2 ? 0u : 3u), fmt::format("{} calls", calls));
    }
    reducer.finish();
    expect_means(parameters, 2, 5, 1e-6);
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("parameters that are not used do not hold the others up", "[ddp]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto parameters = parameters_of(kReducedShapes);
    CompressingReducer reducer(parameters, world.world(), small_buckets());
    for (std::int64_t step = 1; step <= 3; ++step) {
      parameters.gradients().zero_();
      reducer.begin(step, true);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (i == 1 && world.rank() == 0) continue;  // only by rank 0
        if (i == 3) continue;                       // by no rank
        parameters[i].gradient.fill_(2);
        reducer.ready(i);
      }
      reducer.finish();
      expect(parameters[0].gradient.eq(2).all().item<bool>(), "used by all");
      expect(parameters[1].gradient.eq(1).all().item<bool>(), "used by one of two");
      expect(parameters[3].gradient.eq(0).all().item<bool>(), "not used");
    }
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("16-bit compression halves the bytes and rounds once or twice", "[ddp]") {
  const bool bf16 = GENERATE(true, false);
  const auto outcomes = run_worlds(2, [=](World& world) {
    auto parameters = parameters_of(kReducedShapes);
    auto options = small_buckets();
    options.compression = parse_compression(bf16 ? "bf16" : "fp16");
    CompressingReducer reducer(parameters, world.world(), options);
    set_all_gradients(parameters, world.rank(), 1);
    reduce_in_disorder(reducer, parameters, world.rank(), 1);
    // Each rank's half and the sum are rounded, by at most 2^-9 (bf16) or 2^-12 of their size.
    expect_means(parameters, 2, 1, 2 * (bf16 ? 0x1p-8 : 0x1p-11));
    expect(world.world().traffic().bytes == 2 * (128 + 5376 + 192), "two bytes per element");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("an overflow of fp16 is there for the gradient's norm to see", "[ddp]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto parameters = parameters_of({{10}, {10}});
    CompressingOptions options;
    options.compression = Compression::fp16;
    CompressingReducer reducer(parameters, world.world(), options);
    parameters[0].gradient.fill_(60000);                          // the sum alone would not fit
    parameters[1].gradient.fill_(world.rank() == 1 ? 2e5 : 1.0);  // 1e5 does not fit
    reduce_in_disorder(reducer, parameters, world.rank(), 1);
    expect(parameters[0].gradient.eq(60000).all().item<bool>(), "a mean in range survives");
    expect(parameters[1].gradient.isinf().all().item<bool>(), "infinity on every rank");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("gradients that cannot be right are refused", "[ddp]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto parameters = parameters_of(kReducedShapes);
    CompressingReducer reducer(parameters, world.world(), small_buckets());
    reducer.begin(1, true);
    reducer.ready(4);
    reducer.ready(4);
  });
  for (const auto& outcome : outcomes)
    CHECK(outcome.said == "the gradient of p4 was declared complete twice\n");
  CHECK_THROWS_AS(parse_compression("zip"), std::invalid_argument);
}

TEST_CASE("a rank alone reduces nothing", "[ddp]") {
  const auto outcomes = run_worlds(1, [](World& world) {
    auto parameters = parameters_of(kReducedShapes);
    CompressingOptions options;
    options.compression = Compression::powersgd;
    options.powersgd.start = 0;
    CompressingReducer reducer(parameters, world.world(), options);
    set_all_gradients(parameters, 0, 1);
    const auto before = parameters.gradients().clone();
    reduce_in_disorder(reducer, parameters, 0, 1);
    expect(at::equal(before, parameters.gradients()), "the same gradients");
    expect(reducer.states().empty() && world.world().traffic().bytes == 0,
           "nothing kept, nothing sent");
  });
  CHECK(complaints(outcomes) == "");
}
