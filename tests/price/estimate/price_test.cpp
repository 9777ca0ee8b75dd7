#include "core/price/estimate/price.h"

#include "tests/test.h"

using namespace orch;
using estimate::Price;

namespace price_test {
namespace {

// Round numbers, so that every expectation can be computed by hand.
plan::Partition partition() {
  plan::Partition made;
  made.gpus_per_node = 8;
  made.nodes = 10;
  made.gpu.peaks["bf16"].value = 100e12;
  made.gpu.memory_bandwidth.value = 2e12;
  made.intra_node = {{200e9, ""}, {0, ""}, {0.5, ""}};  // 100 GB/s
  made.network = {{40e9, ""}, {1e-3, ""}, {0.5, ""}};   // 20 GB/s for collectives
  made.pcie = {{20e9, ""}, {0, ""}, {0.5, ""}};
  made.host_memory_bandwidth.value = 800e9;
  made.efficiency.gemm.value = 0.5;
  made.efficiency.experts.value = 1;
  made.efficiency.attention.value = 0.25;
  made.efficiency.attention_unaligned.value = 0.1;
  made.efficiency.memory.value = 0.5;
  made.efficiency.layer_overhead.value = 3e-4;
  made.efficiency.host.value = 0.5;
  return made;
}

orch_op op(std::uint32_t kind) {
  orch_op made{};
  made.kind = kind;
  return made;
}

orch_op collective(std::uint32_t kind, double bytes, std::int64_t size, std::int64_t stride) {
  auto made = op(ORCH_COLLECTIVE);
  made.collective = kind;
  made.bytes = bytes;
  made.group_size = size;
  made.group_stride = stride;
  return made;
}

}  // namespace

TEST_CASE("a matrix product takes its operations over the rate", "[estimate][price]") {
  const auto hardware = partition();
  const Price price(hardware, 32, "bf16");
  auto gemm = op(ORCH_GEMM);
  gemm.m = 1250, gemm.n = 1280, gemm.k = 625, gemm.batch = 25;
  CHECK(price.seconds(gemm) == Approx(1e-3));  // 50 GFLOP at 50 TFLOP/s
  gemm.kind = ORCH_ATTENTION;
  gemm.align = 128;
  CHECK(price.seconds(gemm) == Approx(2e-3));
  gemm.align = 100;  // 14400 / 144: not a multiple of 8
  CHECK(price.seconds(gemm) == Approx(5e-3));
}

// 16 experts of [64, 2048] x [2048, 1024]: 4.3 GFLOP would take 86 us at 50 TFLOP/s; 2 x 16 x
// (131,072 + 2,097,152 + 65,536) bytes take 73 us at 1 TB/s. With 32 rows 43 us of operations, and
// 2 x 16 x 2,195,456 bytes.
TEST_CASE("a small product takes as long as its matrices through the memory", "[estimate][price]") {
  const auto hardware = partition();
  const Price price(hardware, 32, "bf16");
  auto gemm = op(ORCH_GEMM);
  gemm.m = 64, gemm.n = 1024, gemm.k = 2048, gemm.batch = 16;
  CHECK(price.seconds(gemm) == Approx(85.899e-6).epsilon(1e-4));
  CHECK(price.rate(gemm) == "at 50 TFLOPs");
  gemm.m = 32;
  CHECK(price.seconds(gemm) == Approx(70.2546e-6).epsilon(1e-4));
  CHECK(price.rate(gemm) == "as long as its matrices take through the memory, 70.3 us");
}

TEST_CASE("columns that a product's last tile lacks take as long", "[estimate][price]") {
  auto hardware = partition();
  auto gemm = op(ORCH_GEMM);
  gemm.m = gemm.k = 1024, gemm.batch = 1;
  const auto seconds = [&](double columns) {
    gemm.n = columns;
    return Price(hardware, 32, "bf16").seconds(gemm);
  };
  CHECK(seconds(2900) == seconds(2944));  // 11,600 over four ranks: 23 tiles of 128
  CHECK(seconds(2945) == Approx(seconds(2944) * 24 / 23));
  CHECK(seconds(3072) == seconds(2945));
  hardware.gpu.tile.value = 1;
  CHECK(seconds(2900) == Approx(seconds(2944) * 2900 / 2944));
  gemm.n = 2900;
  CHECK(Price(hardware, 32, "bf16").rate(gemm) == "at 50 TFLOPs");
  hardware.gpu.tile.value = 256;
  CHECK(Price(hardware, 32, "bf16").rate(gemm) ==
        "at 50 TFLOPs, 2900 columns take as long as 3072");
}

TEST_CASE("products by groups reach a share of what one product does", "[estimate][price]") {
  auto hardware = partition();
  hardware.efficiency.experts.value = 0.8;
  auto gemm = op(ORCH_GEMM);
  gemm.m = 1250, gemm.n = 1280, gemm.k = 625, gemm.batch = 25;
  CHECK(Price(hardware, 32, "bf16").seconds(gemm) == Approx(1.25e-3));
  gemm.m *= 25, gemm.batch = 1;
  CHECK(Price(hardware, 32, "bf16").seconds(gemm) == Approx(1e-3));
}

// 2 x 2048^3 operations at 50 TFLOP/s in either format. Of eight such cubes 8^-0.75 = 0.21022 of
// the gain is lost: 8 x 17.18 GFLOP at 89.489 TFLOP/s.
TEST_CASE("products in 8 bits are faster where they are large and not left in 16",
          "[estimate][price]") {
  auto hardware = partition();
  hardware.gpu.peaks["fp8"].value = 200e12;
  const Price narrow(hardware, 32, "fp8"), wide(hardware, 32, "bf16");
  auto gemm = op(ORCH_GEMM);
  gemm.m = gemm.n = gemm.k = 2048, gemm.batch = 1;
  CHECK(narrow.seconds(gemm) == Approx(343.597e-6));
  CHECK(wide.seconds(gemm) == Approx(343.597e-6));
  gemm.m = gemm.n = gemm.k = 4096;
  CHECK(narrow.seconds(gemm) == Approx(1535.82e-6));
  CHECK(wide.seconds(gemm) == Approx(2748.78e-6));
  gemm.kernel = ORCH_WIDE;
  CHECK(narrow.seconds(gemm) == Approx(2748.78e-6));
  gemm.kind = ORCH_ATTENTION;
  gemm.align = 128;
  CHECK(narrow.seconds(gemm) == Approx(2 * 2748.78e-6));
}

// 32 x 2048 x 1024: what is read is 131,072 and 4,194,304 bytes in 16 bits and half of it in 8,
// what it gives 65,536.
TEST_CASE("a small product in 8 bits reads half as much", "[estimate][price]") {
  auto hardware = partition();
  hardware.gpu.peaks["fp8"].value = 200e12;
  auto gemm = op(ORCH_GEMM);
  gemm.m = 32, gemm.n = 1024, gemm.k = 2048, gemm.batch = 1;
  CHECK(Price(hardware, 32, "bf16").seconds(gemm) == Approx(4.390912e-6));
  gemm.m = 16;  // 65,536 + 4,194,304 and 32,768: in 8 bits its 67 MFLOP take 1.34 us
  CHECK(Price(hardware, 32, "fp8").seconds(gemm) == Approx(2.162688e-6));
}

TEST_CASE("the host launches a layer and its experts", "[estimate][price]") {
  auto hardware = partition();
  hardware.efficiency.host_floor.value = 1e-3;
  hardware.efficiency.expert_floor.value = 3e-3;
  const Price price(hardware, 32, "bf16");
  auto overhead = op(ORCH_OVERHEAD);
  CHECK(price.seconds(overhead) == Approx(3e-4));
  CHECK(price.launches(overhead) == Approx(1e-3));
  overhead.kernel = ORCH_OF_EXPERTS;
  CHECK(price.seconds(overhead) == 0);
  CHECK(price.launches(overhead) == Approx(3e-3));
  overhead.kernel = ORCH_IN_GRAPH;
  CHECK(price.seconds(overhead) == Approx(3e-4));
  CHECK(price.launches(overhead) == 0);
  overhead.kernel = ORCH_OF_KERNELS, overhead.calls = 100;
  CHECK(price.seconds(overhead) == Approx(100 * 5e-6));
  CHECK(price.launches(overhead) == 0);
}

TEST_CASE("bytes take their way's bandwidth", "[estimate][price]") {
  const auto hardware = partition();
  const Price price(hardware, 32, "bf16");
  auto bytes = op(ORCH_MEMORY);
  bytes.bytes = 1e9;
  CHECK(price.seconds(bytes) == Approx(1e-3));
  bytes.kind = ORCH_COPY;
  CHECK(price.seconds(bytes) == Approx(0.1));
  bytes.kind = ORCH_HOST;  // eight ranks share 400 GB/s
  CHECK(price.seconds(bytes) == Approx(0.02));
  CHECK(Price(hardware, 1, "bf16").seconds(bytes) == Approx(0.0025));  // alone on the node
  CHECK(price.seconds(op(ORCH_OVERHEAD)) == Approx(3e-4));
}

TEST_CASE("kernels that compute have a share of their own, where it is known",
          "[estimate][price]") {
  auto hardware = partition();
  auto bytes = op(ORCH_MEMORY);
  bytes.bytes = 1e9;
  bytes.kernel = ORCH_SOFTMAX;
  CHECK(Price(hardware, 32, "bf16").seconds(bytes) == Approx(1e-3));  // like any other
  hardware.efficiency.softmax = {0.1, "measured"};
  hardware.efficiency.element_wise = {0.25, "measured"};
  CHECK(Price(hardware, 32, "bf16").seconds(bytes) == Approx(5e-3));  // at 200 GB/s
  bytes.kernel = ORCH_ELEMENT_WISE;
  CHECK(Price(hardware, 32, "bf16").seconds(bytes) == Approx(2e-3));
  bytes.kernel = ORCH_CROSS_ENTROPY;  // unset
  CHECK(Price(hardware, 32, "bf16").seconds(bytes) == Approx(1e-3));
  bytes.kernel = ORCH_STREAMS;
  CHECK(Price(hardware, 32, "bf16").seconds(bytes) == Approx(1e-3));
}

TEST_CASE("more ranks than were measured share the cores", "[estimate][price]") {
  auto hardware = partition();
  hardware.measured_ranks = 2;
  hardware.intra_node.latency.value = 1e-3;
  auto bytes = op(ORCH_MEMORY);
  bytes.bytes = 1e9;
  auto gemm = op(ORCH_GEMM);
  gemm.m = 1250, gemm.n = 1280, gemm.k = 625, gemm.batch = 25;
  const Price one(hardware, 1, "bf16"), two(hardware, 2, "bf16"), six(hardware, 6, "bf16");
  for (const auto& each :
       {bytes, gemm, op(ORCH_OVERHEAD), collective(ORCH_ALL_REDUCE, 1e9, 2, 1)}) {
    CHECK(one.seconds(each) == Approx(two.seconds(each)));
    CHECK(six.seconds(each) == Approx(3 * two.seconds(each)));
  }
  CHECK(two.seconds(gemm) == Approx(1e-3));
  hardware.measured_ranks = 0;  // each has its own device
  CHECK(Price(hardware, 6, "bf16").seconds(gemm) == Approx(1e-3));
}

TEST_CASE("a ring inside a node uses its links", "[estimate][price]") {
  const auto hardware = partition();
  const Price price(hardware, 32, "bf16");
  // 2 * 7/8 * 1 GB at 100 GB/s.
  CHECK(price.seconds(collective(ORCH_ALL_REDUCE, 1e9, 8, 1)) == Approx(0.0175));
  CHECK(price.seconds(collective(ORCH_ALL_GATHER, 1e9, 8, 1)) == Approx(0.00875));
  CHECK(price.seconds(collective(ORCH_ALL_REDUCE, 1e9, 1, 1)) == 0);
}

TEST_CASE("rings that leave a node share its network", "[estimate][price]") {
  const auto hardware = partition();
  const Price price(hardware, 32, "bf16");
  // Tensor parallel 8 fills a node: each of its 8 data-parallel rings gets an eighth of 20 GB/s,
  // which together they drive 8^0.18 = 1.454 times better. 2 * 3/4 * 1 GB at 2.5 GB/s, and 2 *
  // log2(4) hops of 1 ms.
  CHECK(price.seconds(collective(ORCH_ALL_REDUCE, 1e9, 4, 8)) ==
        Approx(0.6 / 1.45397 + 0.004).epsilon(1e-5));
  // Data parallel over whole nodes is one ring with 20 GB/s: 2 * 31/32 GB, 2 * 5 hops.
  CHECK(price.seconds(collective(ORCH_ALL_REDUCE, 1e9, 32, 1)) == Approx(0.096875 + 0.010));
  // Stride 2: four ranks of a group in each node, two rings, 2^0.18 = 1.133.
  CHECK(price.seconds(collective(ORCH_ALL_REDUCE, 1e9, 16, 2)) ==
        Approx(2 * 15 / 16.0 / 10 / 1.13288 + 0.008).epsilon(1e-5));
  // Split into 10 calls, the hops count ten times.
  auto split = collective(ORCH_ALL_REDUCE, 1e9, 4, 8);
  split.calls = 10;
  CHECK(price.seconds(split) == Approx(0.6 / 1.45397 + 0.040).epsilon(1e-5));
}

// Sixteen ranks on two nodes: the eight of each share 40 GB/s x 0.5, for half of their bytes.
TEST_CASE("an all-to-all goes over the network eight times at once", "[estimate][price]") {
  const auto hardware = partition();
  CHECK(Price(hardware, 32, "bf16").seconds(collective(ORCH_ALL_TO_ALL, 1e9, 16, 1)) ==
        Approx(8 / 16.0 / (20 / 8.0) + 0.001 * 15 / 8));
  CHECK(Price(hardware, 8, "bf16").seconds(collective(ORCH_ALL_TO_ALL, 1e9, 8, 1)) ==
        Approx(7 / 8.0 / 100));
}

// Of 32 GPUs whose nodes of 8 are joined by one switch: no hop leaves it. Of two such domains, each
// has the cards of its four nodes, 4 * 40 GB/s, half of which a ring of all ranks reaches.
TEST_CASE("the fast links may join several nodes", "[estimate][price]") {
  auto hardware = partition();
  hardware.gpus_per_domain = 32;
  CHECK(Price(hardware, 32, "bf16").seconds(collective(ORCH_ALL_GATHER, 1e9, 32, 1)) ==
        Approx(31 / 32.0 / 100));
  CHECK(Price(hardware, 64, "bf16").seconds(collective(ORCH_ALL_GATHER, 1e9, 64, 1)) ==
        Approx(63 / 64.0 / 80 + 0.001));
  CHECK(Price(hardware, 64, "bf16").seconds(collective(ORCH_ALL_GATHER, 1e9, 8, 4)) ==
        Approx(7 / 8.0 / 100));
}

TEST_CASE("a send to the next stage gets its share of the line", "[estimate][price]") {
  const auto hardware = partition();
  // All eight GPUs of a node send to the next node: 1 GB at 40/8 GB/s and one hop.
  CHECK(Price(hardware, 32, "bf16").seconds(collective(ORCH_SEND, 1e9, 4, 8)) == Approx(0.201));
  // Everything on one node: 100 GB/s.
  CHECK(Price(hardware, 8, "bf16").seconds(collective(ORCH_SEND, 1e9, 4, 2)) == Approx(0.010));
}

}  // namespace price_test
