#include "core/base/units.h"
#include "core/plan/hardware/hardware.h"
#include "core/plan/slurm.h"
#include "tests/test.h"

namespace orch::hardware {
namespace {

const fs::path kExperiments = fs::path(ORCH_SOURCE_DIR) / "experiments";

Catalog shipped() { return Catalog({kExperiments / "clusters"}, {kExperiments / "gpus.yaml"}); }

plan::Cluster cluster(const std::string& name) {
  auto catalog = shipped();
  const auto found = catalog.find(name);
  if (!found) FAIL(text(found.error()));
  return **found;
}

std::vector<plan::Constant> constants(const plan::Link& link) {
  return {link.bandwidth, link.latency, link.efficiency};
}

std::vector<plan::Constant> constants(const plan::Efficiency& e) {
  return {e.gemm,          e.attention, e.attention_unaligned, e.memory, e.layer_overhead,
          e.step_overhead, e.overlap,   e.allocator_slack,     e.tight,  e.time_spread,
          e.memory_spread};
}

bool says_its_kind(const std::string& origin) {
  return origin.starts_with("published: ") || origin.starts_with("datasheet: ") ||
         origin.starts_with("measured: ") || origin.starts_with("fitted: ") ||
         origin.starts_with("assumed: ");
}

TEST_CASE("the clusters that orch promises are there", "[hardware][shipped]") {
  CHECK(shipped().names() == std::vector<std::string>{"adastra", "dgx-a100", "dgx-b200", "dgx-h100",
                                                      "dgx-v100", "gb200-nvl72", "gh200", "h200",
                                                      "intel-pvc", "jean-zay", "local", "mi300x",
                                                      "perlmutter"});
}

TEST_CASE("every shipped cluster loads and is plausible", "[hardware][shipped]") {
  for (const auto& name : shipped().names()) {
    CAPTURE(name);
    const auto loaded = cluster(name);
    CHECK(loaded.name == name);
    CHECK_FALSE(loaded.doc.empty());
    for (const auto& partition : loaded.partitions) {
      CAPTURE(partition.name);
      const auto& gpu = partition.gpu;
      CHECK(partition.gpus_per_node <= 16);
      CHECK(gpu.usable_memory.value > 0.7 * gpu.memory.value);
      CHECK(gpu.peak("fp16").value + gpu.peak("bf16").value > 0);
      CHECK(partition.efficiency.attention_unaligned.value <= partition.efficiency.attention.value);
      CHECK(partition.efficiency.attention.value <= partition.efficiency.gemm.value);
      CHECK(partition.intra_node.latency.value <= partition.network.latency.value);
      CHECK(partition.host_memory.value > 0.5 * partition.gpu.memory.value);
      if (gpu.name != "cpu") CHECK((gpu.watts.value >= 150 && gpu.watts.value <= 1500));
    }
  }
}

TEST_CASE("every shipped number says what kind of number it is", "[hardware][shipped]") {
  for (const auto& name : shipped().names())
    for (const auto& partition : cluster(name).partitions) {
      const auto& gpu = partition.gpu;
      std::vector<plan::Constant> all{
          gpu.memory,           gpu.usable_memory,     gpu.context_memory,
          gpu.memory_bandwidth, partition.host_memory, partition.host_memory_bandwidth};
      for (const auto& [format, peak] : gpu.peaks) all.push_back(peak);
      for (const auto& link : {partition.intra_node, partition.network, partition.pcie})
        for (const auto& constant : constants(link)) all.push_back(constant);
      for (const auto& constant : constants(partition.efficiency)) {
        CHECK((constant.origin.starts_with("assumed: ") ||
               constant.origin.starts_with("measured: ")));
        all.push_back(constant);
      }
      const auto& operation = partition.operation;
      all.insert(all.end(), {operation.failures, operation.failure_count, operation.detection,
                             operation.start, operation.queue_wait, operation.checkpoint_bandwidth,
                             operation.snapshot_bandwidth, operation.pue});
      if (gpu.name != "cpu") all.push_back(gpu.watts);
      for (const auto& constant : all) {
        CAPTURE(name, partition.name, constant.value, constant.origin);
        CHECK(says_its_kind(constant.origin));
      }
    }
}

// A constant at its bound compensates for something that the formula lacks. No product of published
// runs reached 0.9 of a datasheet's peak over a step.
TEST_CASE("no fitted constant rests at its bound", "[hardware][shipped]") {
  const auto check = [](const auto& owner, const std::map<std::string, plan::Constant>& fitted) {
    for (const auto& [name, constant] : fitted) {
      CAPTURE(owner, name, constant.value, constant.origin);
      CHECK(constant.origin.find(", at its ") == std::string::npos);
    }
  };
  for (const auto& name : shipped().names())
    for (const auto& partition : cluster(name).partitions) {
      if (partition.calibration) check(name, partition.calibration->constants);
      for (const auto& on : partition.stacks) {
        check(on.stack->name, on.stack->constants);
        CAPTURE(name, on.stack->name);
        if (on.stack->seen.devices.contains(partition.gpu.name))
          CHECK(on.partition->efficiency.gemm.value < 0.9);
      }
    }
}

TEST_CASE("jobs of shipped SLURM partitions have a time and a signal before it",
          "[hardware][shipped]") {
  for (const auto& name : shipped().names()) {
    const auto loaded = cluster(name);
    for (const auto& partition : loaded.partitions) {
      CHECK(partition.slurm.account.empty());
      if (loaded.launch != "slurm") continue;
      CHECK(plan::parse_slurm_time(partition.slurm.time));
      CHECK(partition.slurm.signal_seconds == 600);
      CHECK(partition.slurm.cpus_per_gpu > 0);
    }
  }
}

struct Sheet {
  const char* gpu;
  double gib, gb_per_s, fp32, tf32, fp16, bf16, fp8;  // TFLOP/s
};

// By hand from the makers' datasheets; for two-die modules, half of the module.
TEST_CASE("the GPUs have the numbers of their datasheets", "[hardware][shipped]") {
  const auto gpus = load_gpus({kExperiments / "gpus.yaml"});
  if (!gpus) FAIL(text(gpus.error()));
  for (const auto& sheet : {
           Sheet{"v100-16g", 16, 900, 15.7, 0, 125, 0, 0},
           Sheet{"v100-32g", 32, 900, 15.7, 0, 125, 0, 0},
           Sheet{"a100-40g", 40, 1555, 19.5, 156, 312, 312, 0},
           Sheet{"a100-80g", 80, 2039, 19.5, 156, 312, 312, 0},
           Sheet{"a100-pcie-40g", 40, 1555, 19.5, 156, 312, 312, 0},
           Sheet{"a100-pcie-80g", 80, 1935, 19.5, 156, 312, 312, 0},
           Sheet{"h100-80g", 80, 3350, 67, 494, 989, 989, 1979},
           Sheet{"h100-96g", 96, 3350, 67, 494, 989, 989, 1979},
           Sheet{"h100-pcie", 80, 2000, 51, 756 / 2.0, 756, 756, 1513},
           Sheet{"h100-nvl", 94, 3900, 60, 835 / 2.0, 1671 / 2.0, 1671 / 2.0, 3341 / 2.0},
           Sheet{"h200", 141, 4800, 67, 494, 989, 989, 1979},
           Sheet{"gh200-96g", 96, 4000, 67, 494, 990, 990, 1979},
           Sheet{"gh200-144g", 144, 4900, 67, 494, 990, 990, 1979},
           Sheet{"b200", 180, 7700, 75, 1125, 2250, 2250, 4500},
           Sheet{"gb200", 186, 8000, 80, 1250, 2500, 2500, 5000},
           Sheet{"a10", 24, 600, 31.2, 62.5, 125, 125, 0},
           Sheet{"l40s", 48, 864, 91.6, 183, 362, 362, 733},
           Sheet{"rtx-4090", 24, 1008, 82.6, 82.6, 165.2, 165.2, 330.3},
           Sheet{"mi250x", 64, 3276.8 / 2, 95.7 / 2, 0, 383 / 2.0, 383 / 2.0, 0},
           Sheet{"mi300x", 192, 5300, 163.4, 653.7, 1307.4, 1307.4, 2614.9},
           Sheet{"pvc", 64, 3276.8 / 2, 52.4 / 2, 209, 838 / 2.0, 838 / 2.0, 0},
       }) {
    CAPTURE(sheet.gpu);
    REQUIRE(gpus->contains(sheet.gpu));
    const auto& gpu = gpus->find(sheet.gpu)->second.gpu;
    CHECK_THAT(gpu.memory.value, WithinRel(sheet.gib * kGiB, 1e-12));
    CHECK_THAT(gpu.memory_bandwidth.value, WithinRel(sheet.gb_per_s * 1e9, 1e-12));
    for (const auto& [format, tflops] :
         {std::pair("fp32", sheet.fp32), std::pair("tf32", sheet.tf32),
          std::pair("fp16", sheet.fp16), std::pair("bf16", sheet.bf16),
          std::pair("fp8", sheet.fp8)}) {
      CAPTURE(format);
      CHECK_THAT(gpu.peak(format).value, WithinRel(tflops * 1e12, 1e-12));
    }
  }
}

// The names that the driver uses.
TEST_CASE("a device's own name leads to its entry", "[hardware][shipped]") {
  const auto gpus = load_gpus({kExperiments / "gpus.yaml"});
  REQUIRE(gpus);
  struct Device {
    const char* name;
    double gib;
    const char* entry;
  };
  for (const auto& device :
       {Device{"Tesla V100-SXM2-32GB", 31.7, "v100-32g"},
        Device{"NVIDIA A100-SXM4-80GB", 79.2, "a100-80g"},
        Device{"NVIDIA A100 80GB PCIe", 79.2, "a100-pcie-80g"},
        Device{"NVIDIA A100-PCIE-40GB", 39.4, "a100-pcie-40g"}, Device{"NVIDIA A10", 22.5, "a10"},
        Device{"NVIDIA H100 80GB HBM3", 79.1, "h100-80g"},
        Device{"NVIDIA H100 PCIe", 79.1, "h100-pcie"}, Device{"NVIDIA H100 NVL", 93.1, "h100-nvl"},
        Device{"NVIDIA H200", 139.8, "h200"}, Device{"NVIDIA GH200 480GB", 94.5, "gh200-96g"},
        Device{"NVIDIA GB200", 184, "gb200"}, Device{"NVIDIA L40S", 44.4, "l40s"},
        Device{"NVIDIA GeForce RTX 4090", 23.6, "rtx-4090"},
        Device{"AMD Instinct MI300X", 191.5, "mi300x"}}) {
    CAPTURE(device.name);
    const auto* found = find_gpu(*gpus, device.name, device.gib * kGiB);
    REQUIRE(found);
    CHECK(found->gpu.name == device.entry);
  }
  CHECK(find_gpu(*gpus, "NVIDIA RTX A6000", 48 * kGiB) == nullptr);
}

TEST_CASE("the CUDA context is as large as was measured", "[hardware][shipped]") {
  const auto gpus = load_gpus({kExperiments / "gpus.yaml"});
  REQUIRE(gpus);
  constexpr double kMiB = 1024 * 1024;
  CHECK(gpus->find("v100-16g")->second.gpu.context_memory.value == 1113 * kMiB);
  CHECK(gpus->find("v100-32g")->second.gpu.context_memory.value == 1113 * kMiB);
  CHECK(gpus->find("a100-80g")->second.gpu.context_memory.value == 1573 * kMiB);
}

TEST_CASE("Jean Zay has the nodes, links and flags of its users", "[hardware][shipped]") {
  const auto jean_zay = cluster("jean-zay");
  const auto* a100 = jean_zay.find("a100-80g");
  REQUIRE(a100);
  CHECK(a100->gpus_per_node * a100->nodes == 416);
  CHECK(a100->slurm.partition == "gpu_p5");
  CHECK(a100->slurm.constraint == "a100");
  CHECK(a100->slurm.hint == "nomultithread");
  CHECK(a100->slurm.cpus_per_gpu * a100->gpus_per_node == 64);
  // All-reduce bus bandwidth as measured: 40.5 Gbit/s over 4 x 8 A100.
  CHECK_THAT(a100->network.bandwidth.value * a100->network.efficiency.value,
             WithinRel(40.5e9 / 8, 1e-9));
  for (const auto* name : {"v100-16g", "v100-32g"}) {
    const auto* v100 = jean_zay.find(name);
    REQUIRE(v100);
    CHECK(v100->gpus_per_node == 4);
    CHECK(v100->slurm.constraint == name);
    CHECK(v100->slurm.cpus_per_gpu * v100->gpus_per_node == 40);
    // 85 Gbit/s over 4 nodes, 990 Gbit/s inside one.
    CHECK_THAT(v100->network.bandwidth.value * v100->network.efficiency.value,
               WithinRel(85e9 / 8, 1e-9));
    CHECK_THAT(v100->intra_node.bandwidth.value * v100->intra_node.efficiency.value,
               WithinRel(990e9 / 8, 1e-9));
  }
}

struct ProductShape {
  const char* cluster;
  const char* partition;
  std::int64_t gpus_per_node;
  double intra_gb_per_s, network_gbit_per_s;
};

TEST_CASE("the other clusters have the shape of their datasheets", "[hardware][shipped]") {
  for (const auto& shape : {ProductShape{"perlmutter", "a100-80g", 4, 300, 4 * 200},
                            ProductShape{"adastra", "mi250x", 8, 200, 4 * 200},
                            ProductShape{"intel-pvc", "pvc", 12, 212, 8 * 200},
                            ProductShape{"dgx-v100", "v100-32g", 8, 150, 4 * 100},
                            ProductShape{"dgx-a100", "a100-80g", 8, 300, 8 * 200},
                            ProductShape{"dgx-h100", "h100-80g", 8, 450, 8 * 400},
                            ProductShape{"h200", "h200", 1, 450, 400},
                            ProductShape{"dgx-b200", "b200", 8, 900, 8 * 400},
                            ProductShape{"gh200", "gh200-96g", 4, 450, 4 * 200},
                            ProductShape{"mi300x", "mi300x", 8, 7 * 64, 8 * 400},
                            ProductShape{"local", "cpu", 4, 1, 1}}) {
    CAPTURE(shape.cluster);
    const auto loaded = cluster(shape.cluster);
    const auto* partition = loaded.find(shape.partition);
    REQUIRE(partition);
    CHECK(partition->gpus_per_node == shape.gpus_per_node);
    CHECK_THAT(partition->intra_node.bandwidth.value, WithinRel(shape.intra_gb_per_s * 1e9, 1e-12));
    CHECK_THAT(partition->network.bandwidth.value,
               WithinRel(shape.network_gbit_per_s * 1e9 / 8, 1e-12));
  }
}

TEST_CASE("only what is used directly is launched locally", "[hardware][shipped]") {
  for (const auto& name : shipped().names())
    CHECK((cluster(name).launch == "local") == (name == "local" || name == "h200"));
}

}  // namespace
}  // namespace orch::hardware
