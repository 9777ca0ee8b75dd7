#include "core/price/estimate/price.h"
#include "tests/test.h"

using namespace orch;
using estimate::Price;

namespace rings_test {
namespace {

// Nodes of 8 with 40 GB/s between them, half of which one ring of collectives reaches; a hop takes
// 1 ms there and 10 us inside.
plan::Partition partition() {
  plan::Partition made;
  made.gpus_per_node = 8;
  made.nodes = 10;
  made.gpu.peaks["fp32"].value = 20e12;
  made.gpu.peaks["tf32"].value = 40e12;
  made.gpu.peaks["bf16"].value = 100e12;
  made.gpu.memory_bandwidth.value = 2e12;
  made.efficiency.memory.value = 0.5;
  made.intra_node = {{200e9, ""}, {1e-5, ""}, {0.5, ""}};
  made.network = {{40e9, ""}, {1e-3, ""}, {0.5, ""}};
  made.host_memory_bandwidth.value = 400e9;
  made.efficiency.gemm.value = 0.5;
  made.efficiency.experts.value = 1;
  made.efficiency.host.value = 0.25;
  made.efficiency.stage_overhead.value = 5e-3;
  made.efficiency.layer_overhead.value = 3e-4;
  return made;
}

orch_op op(std::uint32_t kind) {
  orch_op made{};
  made.kind = kind;
  return made;
}

orch_op collective(std::uint32_t which, double bytes, std::int64_t size, std::int64_t stride) {
  auto made = op(ORCH_COLLECTIVE);
  made.collective = which, made.bytes = bytes, made.group_size = size, made.group_stride = stride;
  return made;
}

}  // namespace

TEST_CASE("a stage's hand-over has a cost of its own", "[estimate][price]") {
  const auto hardware = partition();
  const Price price(hardware, 32, "bf16");
  CHECK(price.seconds(op(ORCH_STAGE_OVERHEAD)) == 5e-3);
  CHECK(price.seconds(op(ORCH_OVERHEAD)) == 3e-4);
}

// Eight ranks share a quarter of 400 GB/s; one alone has it.
TEST_CASE("the host reaches a share of its memory's bandwidth", "[estimate][price]") {
  const auto hardware = partition();
  auto update = op(ORCH_HOST);
  update.bytes = 1e9;
  CHECK(Price(hardware, 32, "bf16").seconds(update) == Approx(0.08));
  CHECK(Price(hardware, 1, "bf16").seconds(update) == Approx(0.01));
  CHECK(Price(hardware, 32, "bf16").rate(update) == "8 ranks share 100.0 GB/s");
}

// 50 GFLOP at half of 100, 40 and 20 TFLOP/s.
TEST_CASE("each format has its own peak", "[estimate][price]") {
  const auto hardware = partition();
  auto gemm = op(ORCH_GEMM);
  gemm.m = 1250, gemm.n = 1280, gemm.k = 625, gemm.batch = 25;
  CHECK(Price(hardware, 32, "bf16").seconds(gemm) == Approx(1e-3));
  CHECK(Price(hardware, 32, "tf32").seconds(gemm) == Approx(2.5e-3));
  CHECK(Price(hardware, 32, "fp32").seconds(gemm) == Approx(5e-3));
}

// n rings together reach n^0.18 times what one does: 8^0.18 = 1.45397, 2^0.18 = 1.13288.
TEST_CASE("several rings drive the network better than one", "[estimate][price]") {
  auto hardware = partition();
  const Price price(hardware, 32, "bf16");
  const auto bytes_alone = [&](std::int64_t size, std::int64_t stride) {
    return price.seconds(collective(ORCH_ALL_REDUCE, 1e9, size, stride)) -
           price.seconds(collective(ORCH_ALL_REDUCE, 0, size, stride));
  };
  CHECK(bytes_alone(32, 1) == Approx(2 * 31 / 32.0 / 20));  // one ring
  CHECK(bytes_alone(16, 2) == Approx(2 * 15 / 16.0 / (20 * 1.13288 / 2)).epsilon(1e-4));
  CHECK(bytes_alone(4, 8) == Approx(2 * 3 / 4.0 / (20 * 1.45397 / 8)).epsilon(1e-4));
  CHECK(price.rate(collective(ORCH_ALL_REDUCE, 1e9, 4, 8)) ==
        "4 ranks, across nodes, 8 rings share the network at 3.6 GB/s");
  // 0.9 * 1.45397 would exceed the network: 40 / 8 GB/s each.
  hardware.network.efficiency.value = 0.9;
  CHECK(bytes_alone(4, 8) == Approx(2 * 3 / 4.0 / 5));
}

// A ring with some hops inside a node is no faster than these links.
TEST_CASE("a ring is as slow as its slowest hop", "[estimate][price]") {
  auto hardware = partition();
  hardware.intra_node.efficiency.value = 0.05;  // 10 GB/s
  const Price price(hardware, 32, "bf16");
  CHECK(price.seconds(collective(ORCH_ALL_GATHER, 1e9, 32, 1)) ==
        Approx(31 / 32.0 / 10 + 3 * 1e-3 + 28 * 1e-5));
}

// All-reduces go up and down a tree, 2 * ceil(log2 n) hops. Gathers and scatters go around the
// ring: each of n - 1 parts passes hops between nodes and, of 10 us, those inside them.
TEST_CASE("latency is that of the way the bytes take", "[estimate][price]") {
  const auto hardware = partition();
  const Price price(hardware, 64, "bf16");
  const auto hops = [&](std::uint32_t which, std::int64_t size, std::int64_t stride) {
    return price.seconds(collective(which, 0, size, stride)) / 1e-3;
  };
  CHECK(hops(ORCH_ALL_REDUCE, 32, 1) == Approx(10));
  CHECK(hops(ORCH_ALL_GATHER, 32, 1) == Approx(3 + 28 * 0.01));
  CHECK(hops(ORCH_REDUCE_SCATTER, 32, 1) == Approx(3 + 28 * 0.01));
  CHECK(hops(ORCH_ALL_GATHER, 4, 8) == Approx(3));  // each rank on a node of its own
  CHECK(hops(ORCH_ALL_GATHER, 16, 2) == Approx(3 + 12 * 0.01));
  CHECK(hops(ORCH_ALL_REDUCE, 5, 8) == Approx(6));  // three levels
  CHECK(hops(ORCH_BROADCAST, 5, 8) == Approx(3));
  CHECK(hops(ORCH_SEND, 5, 8) == Approx(1));
  // Inside a node every hop is one of 10 us.
  CHECK(hops(ORCH_ALL_GATHER, 8, 1) == Approx(7 * 0.01));
  CHECK(hops(ORCH_ALL_REDUCE, 8, 1) == Approx(6 * 0.01));
  auto split = collective(ORCH_ALL_GATHER, 0, 4, 8);
  split.calls = 10;
  CHECK(price.seconds(split) == Approx(30e-3));
  split.calls = 0.25;  // four blocks share a bucket
  CHECK(price.seconds(split) == Approx(0.75e-3));
}

}  // namespace rings_test
