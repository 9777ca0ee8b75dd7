#include "backends/runtime/comm/comm.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/runtime/ranks.h"

using namespace orch;
using namespace orch::test;
using train::CommGroup;
using train::Reduce;
using train::World;

namespace {

// Small integers: exact in every type, so that sums can be compared with ==.
at::Tensor numbers(std::vector<std::int64_t> values, at::ScalarType type) {
  return at::tensor(values, at::kLong).to(type);
}

void expect_values(const at::Tensor& tensor, std::vector<std::int64_t> values, const char* what) {
  const auto got = tensor.to(at::kLong).view({-1});
  expect(at::equal(got, at::tensor(values, at::kLong)),
         fmt::format("{} in {}", what, at::toString(tensor.scalar_type())));
}

// Rank r has 1+r, 2+r, 10*r: summed over n ranks n+s, 2n+s, 10s with s = n(n-1)/2.
void try_reductions(CommGroup& group, at::ScalarType type) {
  const std::int64_t n = group.size(), r = group.rank(), s = n * (n - 1) / 2;
  auto tensor = numbers({1 + r, 2 + r, 10 * r}, type);
  group.all_reduce(tensor).wait();
  expect_values(tensor, {n + s, 2 * n + s, 10 * s}, "sum");
  tensor = numbers({r, -r, 7}, type);
  group.all_reduce(tensor, Reduce::max).wait();
  expect_values(tensor, {n - 1, 0, 7}, "max");

  std::vector<std::int64_t> in, out;  // element i of part p is 10p + i + r
  for (std::int64_t p = 0; p < n; ++p) in.insert(in.end(), {10 * p + r, 10 * p + 1 + r});
  auto part = numbers({0, 0}, type);
  group.reduce_scatter(part, numbers(in, type)).wait();
  expect_values(part, {10 * r * n + s, (10 * r + 1) * n + s}, "reduce_scatter");
}

void try_moves(CommGroup& group, at::ScalarType type) {
  const std::int64_t n = group.size(), r = group.rank();
  auto tensor = numbers({r, r + 1, 40}, type);
  group.broadcast(tensor, group.size() - 1).wait();
  expect_values(tensor, {n - 1, n, 40}, "broadcast");

  std::vector<std::int64_t> all;
  for (std::int64_t p = 0; p < n; ++p) all.insert(all.end(), {p, 3 * p});
  auto out = numbers(std::vector<std::int64_t>(2 * n), type).view({n, 2});
  group.all_gather(out, numbers({r, 3 * r}, type)).wait();
  expect_values(out, all, "all_gather");

  const int next = static_cast<int>((r + 1) % n), before = static_cast<int>((r + n - 1) % n);
  auto got = numbers({0, 0}, type);
  auto sent = group.send(numbers({r, 5}, type), next, 3);
  auto received = group.recv(got, before, 3);
  sent.wait();
  received.wait();
  expect_values(got, {before, 5}, "send and recv");
}

void try_all(World& world) {
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16, at::kLong}) {
    try_reductions(world.world(), type);
    try_moves(world.world(), type);
  }
  world.world().barrier();
}

}  // namespace

TEST_CASE("every collective gives the sums of a calculation by hand", "[comm]") {
  const int ranks = GENERATE(2, 3, 4);
  CAPTURE(ranks);
  CHECK(complaints(run_worlds(ranks, try_all)) == "");
}

TEST_CASE("delays before collectives change nothing", "[comm]") {
  RankOptions options;
  options.jitter_ms = 20;
  CHECK(complaints(run_worlds(3, try_all, options)) == "");
}

TEST_CASE("groups of some ranks work beside each other, in the order of their lists", "[comm]") {
  const auto outcomes = run_worlds(4, [](World& world) {
    auto* even = world.make_group("even", {0, 2});
    auto* odd = world.make_group("odd", {3, 1});
    auto* alone = world.make_group("alone", {2});
    expect((even != nullptr) == (world.rank() % 2 == 0), "only members get the group");
    expect((alone != nullptr) == (world.rank() == 2), "only rank 2 is alone");
    auto* mine = even ? even : odd;
    expect(!odd || odd->rank() == (world.rank() == 3 ? 0 : 1), "the list's order counts");
    try_reductions(*mine, at::kFloat);
    try_moves(*mine, at::kBFloat16);
    try_reductions(world.world(), at::kFloat);
    if (alone) try_reductions(*alone, at::kFloat);
    if (alone) expect(alone->traffic().calls == 0, "nothing is sent alone");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("many collectives may be under way at once", "[comm]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    std::vector<at::Tensor> tensors;
    std::vector<train::PendingCollective> pending;
    for (int i = 0; i < 50; ++i) {
      tensors.push_back(at::full({1000}, i + world.rank(), at::kFloat));
      pending.push_back(world.world().all_reduce(tensors.back()));
    }
    for (auto& one : pending) one.wait();
    for (int i = 0; i < 50; ++i) {
      expect(tensors[i].eq(2 * i + 1).all().item<bool>(), fmt::format("sum {}", i));
      expect(pending[i].is_done(), "is done after wait()");
    }
    const auto traffic = world.world().traffic();
    expect(traffic.calls == 50 && traffic.bytes == 50 * 4000, "50 calls of 4,000 bytes");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("a Pending that takes another one's place waits for both", "[comm]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    const auto one = at::ones({1 << 20}, at::kFloat), two = at::ones({1 << 20}, at::kFloat);
    auto pending = world.world().all_reduce(one);
    pending = world.world().all_reduce(two);
    expect(one.eq(2).all().item<bool>(), "the first is complete");
    pending.wait();
    expect(two.eq(2).all().item<bool>(), "the second, too");
    pending = world.world().all_reduce(one);
    pending.wait();
    expect(one.eq(4).all().item<bool>(), "and one after a wait()");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("a world of one needs nobody", "[comm]") {
  const auto outcomes = run_worlds(1, [](World& world) {
    try_reductions(world.world(), at::kFloat);
    world.world().barrier();
    world.announce_failure("nobody listens");
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("the environment says who a rank is", "[comm]") {
  const auto outcomes = run_ranks(1, [](const train::WorldOptions&) {
    ::setenv("RANK", "3", 1);
    ::setenv("WORLD_SIZE", "8", 1);
    ::setenv("LOCAL_RANK", "1", 1);
    ::setenv("MASTER_ADDR", "node7", 1);
    ::setenv("MASTER_PORT", "29501", 1);
    ::setenv("ORCH_TEST_JITTER_MS", "2.5", 1);
    const auto options = train::world_options_from_environment();
    expect(options.rank == 3 && options.size == 8 && options.local_rank == 1, "ranks");
    expect(options.address == "node7" && options.port == 29501, "address");
    expect(options.jitter_ms == 2.5, "jitter");
    ::setenv("RANK", "three", 1);
    train::world_options_from_environment();
  });
  CHECK(outcomes[0].said == "RANK=three in the environment: a number was expected\n");
}
