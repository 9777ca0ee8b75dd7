// Work on host memory: threads, and an optimizer with its states there.
#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <mutex>
#include <stdexcept>

#include "backends/runtime/host/memory.h"
#include "backends/runtime/host/pool.h"
#include "backends/runtime/host/worker.h"
#include "backends/runtime/step/optimizer.h"
#include "backends/runtime/step/staging.h"

using namespace orch::train;

TEST_CASE("threads share a range, each element once", "[runtime][host]") {
  for (const int threads : {0, 1, 3, 8}) {
    HostPool pool(threads);
    for (int turn = 0; turn < 300; ++turn) {
      const auto count = turn % 3 == 0 ? 1 + turn % 7 : 1001;  // late ones come into the next round
      std::vector<std::atomic<int>> taken(static_cast<std::size_t>(count));
      pool.run(count, [&](std::int64_t i) { ++taken[static_cast<std::size_t>(i)]; });
      REQUIRE(
          std::all_of(taken.begin(), taken.end(), [](const auto& times) { return times == 1; }));
    }
    std::atomic<int> calls = 0;
    pool.run(0, [&](std::int64_t) { ++calls; });
    CHECK(calls == 0);
  }
}

TEST_CASE("nobody waits for a thread that is put aside", "[runtime][host]") {
  HostPool pool(2);
  std::atomic<int> others = 0;  // one thread stays at the first until the other is done
  pool.run(100, [&](std::int64_t i) {
    if (i > 0) ++others;
    while (i == 0 && others < 99) std::this_thread::yield();
  });
  CHECK(others == 99);
}

TEST_CASE("what a thread of the pool throws reaches the caller, when all others are done",
          "[runtime][host]") {
  HostPool pool(4);
  for (const std::int64_t bad : {0, 1, 57, 99}) {
    std::atomic<int> done = 0;
    CHECK_THROWS_WITH(pool.run(100,
                               [&](std::int64_t i) {
                                 if (i == bad) throw std::runtime_error("a page is bad");
                                 ++done;
                               }),
                      "a page is bad");
    CHECK(done == 99);
    CHECK_NOTHROW(pool.run(100, [&](std::int64_t) { ++done; }));
    CHECK(done == 199);
  }
}

TEST_CASE("jobs are done in order, and a failure reaches who waits", "[runtime][host]") {
  std::string done;
  Worker worker;
  CHECK(worker.is_done(0));
  worker.post([&] { done += 'a'; });
  const auto second = worker.post([&] { done += 'b'; });
  worker.wait(second);
  CHECK(done == "ab");
  const auto failed = worker.post([] { throw std::runtime_error("a page is bad"); });
  const auto behind = worker.post([&] { done += 'c'; });
  CHECK_THROWS_WITH(worker.wait(failed), "a page is bad");
  CHECK_THROWS_WITH(worker.wait(behind), "a page is bad");
  CHECK_FALSE(worker.is_done(behind));
  const auto later = worker.post([&] { throw std::logic_error("of the first one"); });
  CHECK_THROWS_WITH(worker.wait(later), "a page is bad");
  CHECK_FALSE(worker.is_done(later));
  CHECK(done == "ab");
}

TEST_CASE("host memory has its size and is zero", "[runtime][host]") {
  for (const std::int64_t count : {0, 1, 1000003}) {
    const auto zeros = host_zeros(count, at::kBFloat16);
    CHECK(zeros.numel() == count);
    CHECK(zeros.eq(0).all().item<bool>());
  }
}

// More slices than the ring has room for, in one range and over several; padding between
// parameters.
TEST_CASE("AdamW of states on the host is AdamW to the bit", "[runtime][host]") {
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const std::int64_t large = 5 * Staging::kMost + 77, first = 4 * Staging::kMost + 512;
  const std::vector<ParameterSpec> specs = {{"a", {1, large}, -1, WeightInit::normal, true},
                                            {"b", {1001}, -1, WeightInit::ones, false},
                                            {"c", {7, 13}, -1, WeightInit::normal, true}};
  at::Tensor wanted;
  for (const std::size_t on_host : {std::size_t{0}, std::size_t{2}, kAllOfThem}) {
    ParameterOptions options;
    options.dtype = dtype;
    const auto all = lay_out(specs).elements;
    options.owned = {{0, first}, {first, first + 1024}, {first + 1024, all}};
    options.on_host = on_host;
    Parameters parameters(specs, options);
    parameters.initialize(3, 0.02, 2);
    const auto adamw = make_optimizer("adamw", parameters, {});
    for (int step = 1; step <= 2; ++step) {
      parameters.gradients().copy_(at::arange(all, at::kFloat).mul_(0.1 * step).sin_());
      adamw->step(1e-2, 0.5, step);
      adamw->finish(2);  // first in forward's order
      CHECK(adamw->is_finished(2));
      adamw->finish();
    }
    if (!wanted.defined()) wanted = parameters.weights().clone();
    CHECK(at::equal(parameters.weights(), wanted));
  }
}
