#include "core/price/measure/partition.h"

#include "core/plan/hardware/hardware.h"
#include "core/plan/hardware/write.h"
#include "tests/price/measure/recorded.h"
#include "tests/test.h"

namespace orch::measure {
namespace {

const fs::path kExperiments = fs::path(ORCH_SOURCE_DIR) / "experiments";

hardware::GpuCatalog gpus() {
  auto read = hardware::load_gpus({kExperiments / "gpus.yaml"});
  REQUIRE(read);
  return *read;
}

plan::Partition shipped() {
  const auto cluster = hardware::load_cluster(kExperiments / "clusters/local.yaml", gpus());
  REQUIRE(cluster);
  return cluster->partitions.front();
}

// 20 MB for 4 ms, 15 MB for 5 ms, 12 MB for 6 ms, 28 B for each of a million parameters in 7 ms.
plan::Partition made(const ChargedBytes& charged = {20e6, 15e6, 12e6, 28}) {
  const auto measured = parse_measurement(kRecorded, "orch-measure");
  REQUIRE(measured);
  return measured_partition(*measured, charged, shipped(), "measured on toy x 2, 2026-11-15");
}

TEST_CASE("products become a peak and shares of it", "[machine]") {
  const auto partition = made();
  CHECK(partition.gpu.peak("fp32").value == Approx(40e9));
  // The larger is slower, so no fixed cost: (40 + 20) / (40^2 + 20^2) s per GFLOP.
  CHECK(partition.efficiency.gemm.value == Approx(2000.0 / 60 / 40));
  CHECK(partition.efficiency.layer_overhead.value == Approx(20 * 2e-6));
  // 2 * 128 * 128 * 32 * 125 FLOP in 6.5536 ms: 20 GFLOP/s; unaligned: 10.
  CHECK(partition.efficiency.attention.value == Approx(0.5));
  CHECK(partition.efficiency.attention_unaligned.value == Approx(0.25));
  CHECK(partition.gpu.peak("bf16").value ==
        partition.gpu.peak("fp32").value);  // 16 bits are computed in fp32
}

TEST_CASE("a product's fixed cost belongs to the layer", "[machine]") {
  auto measured = parse_measurement(kRecorded, "orch-measure");
  REQUIRE(measured);
  measured->products[0].seconds = 100e-6 + 50e-6;
  measured->products[1].seconds = 100e-6 + 50e-3;  // 40 GFLOP/s
  const auto partition = measured_partition(*measured, {}, shipped(), "");
  CHECK(partition.efficiency.layer_overhead.value == Approx(20 * 2e-6 + 6 * 100e-6));
  CHECK(partition.efficiency.gemm.value == 1);  // no more than the fastest one measured
}

TEST_CASE("passes over memory become shares of the fastest", "[machine]") {
  const auto partition = made();
  CHECK(partition.gpu.memory_bandwidth.value == Approx(8e9));  // the copy
  CHECK(partition.efficiency.memory.value == Approx(0.5));     // 28 MB in 7 ms: 4 GB/s
  CHECK(partition.efficiency.element_wise.value == Approx(5e9 / 8e9));
  CHECK(partition.efficiency.softmax.value == Approx(3e9 / 8e9));
  CHECK(partition.efficiency.cross_entropy.value == Approx(2e9 / 8e9));
  CHECK(partition.host_memory_bandwidth.value == Approx(16e9));  // of two ranks
}

TEST_CASE("without a backend to ask, plain copies count", "[machine]") {
  const auto partition = made({});
  CHECK(partition.efficiency.memory.value == Approx(1));
  CHECK(partition.efficiency.element_wise.value == 0);
}

TEST_CASE("two ranks share the machine's memory with the others that it may hold", "[machine]") {
  const auto partition = made();
  CHECK(partition.measured_ranks == 2);
  CHECK(partition.host_memory.value == 16e9);
  CHECK(partition.gpu.memory.value == 4e9);  // four ranks
  CHECK(partition.gpu.usable_memory.value == 3e9);
  CHECK(partition.gpu.context_memory.value == 150e6);
  CHECK(partition.gpu.communicator_memory.value == 2e6);
  CHECK(partition.intra_node.latency.value == Approx(50e-6));
  CHECK(partition.intra_node.bandwidth.value == Approx(1e9));
}

TEST_CASE("every measured constant says where, when and how", "[machine]") {
  const auto partition = made();
  for (const auto* constant :
       {&partition.gpu.peak("fp32"), &partition.gpu.memory_bandwidth, &partition.efficiency.gemm,
        &partition.efficiency.softmax, &partition.intra_node.latency, &partition.host_memory})
    CHECK_THAT(constant->origin, StartsWith("measured on toy x 2, 2026-11-15: "));
  CHECK(partition.efficiency.overlap.origin == shipped().efficiency.overlap.origin);
}

TEST_CASE("what is written is read back with the same values and origins", "[machine]") {
  plan::Cluster cluster;
  cluster.name = "local";
  cluster.doc = "a \"quoted\" doc: with colon # and hash";
  cluster.launch = "local";
  cluster.measured = plan::MeasuredConstants{"toy \"x\" 2", "2026-11-15"};
  cluster.partitions = {made()};
  const auto text = hardware::cluster_text(cluster, "one line\nanother");
  const auto read = hardware::parse_cluster(text, "local.yaml", gpus());
  if (!read) FAIL(orch::text(read.error()) + "\n" + text);
  CHECK(read->doc == cluster.doc);
  CHECK(read->launch == "local");
  REQUIRE(read->measured);
  CHECK(read->measured->machine == cluster.measured->machine);
  CHECK(read->measured->date == "2026-11-15");
  REQUIRE(read->partitions.size() == 1);
  const auto &wrote = cluster.partitions[0], &got = read->partitions[0];
  CHECK(got.name == wrote.name);
  CHECK(got.gpu.name == "cpu");
  CHECK(got.gpus_per_node == wrote.gpus_per_node);
  CHECK(got.measured_ranks == 2);
  const auto before = hardware::named_constants(wrote), after = hardware::named_constants(got);
  REQUIRE(before.size() == after.size());
  REQUIRE(before.size() > 30);
  for (std::size_t i = 0; i < before.size(); ++i) {
    INFO(before[i].name);
    CHECK(after[i].name == before[i].name);
    CHECK(after[i].constant.value == Approx(before[i].constant.value).epsilon(1e-4));
    CHECK(after[i].constant.origin == before[i].constant.origin);
  }
}

TEST_CASE("a cluster's day of measurement must be a day", "[machine]") {
  plan::Cluster cluster;
  cluster.name = "local";
  cluster.launch = "local";
  cluster.measured = plan::MeasuredConstants{"toy", "yesterday"};
  cluster.partitions = {made()};
  const auto read =
      hardware::parse_cluster(hardware::cluster_text(cluster, ""), "local.yaml", gpus());
  REQUIRE_FALSE(read);
  CHECK(orch::text(read.error()).find("'yesterday' is not a date") != std::string::npos);
}

}  // namespace
}  // namespace orch::measure
