#pragma once

#include "core/plan/hardware/hardware.h"
#include "tests/test.h"

namespace orch::hardware::toy {

inline const std::string kGpus = R"(toy:
  memory: { value: 80 GiB, origin: o }
  usable_memory: { value: 79 GiB, origin: o }
  context_memory: { value: 1 GiB, origin: o }
  memory_bandwidth: { value: 2 TB/s, origin: o }
  peak:
    fp32: { value: 20 TFLOPs, origin: o }
    fp16: { value: 300 TFLOPs, origin: o }
  efficiency:
    gemm: { value: 0.7, origin: o }
    attention: { value: 0.3, origin: o }
    attention_unaligned: { value: 0.1, origin: o }
    memory: { value: 0.8, origin: o }
    layer_overhead: { value: 200 us, origin: o }
    step_overhead: { value: 0 s, origin: o }
    overlap: { value: 0.5, origin: o }
    allocator_slack: { value: 0.05, origin: o }
    tight: { value: 0.9, origin: o }
)";

// The line numbers matter: tests name them.
inline const std::string kCluster = R"(name: toy
doc: a toy
launch: slurm
partitions:
  - name: small
    gpu: toy
    gpus_per_node: 8
    nodes: 4
    intra_node:
      bandwidth: { value: 300 GB/s, origin: sheet }
      latency: { value: 5 us, origin: guess }
      efficiency: { value: 0.75, origin: guess }
    network:
      bandwidth: { value: 200 Gbit/s, origin: sheet }
      latency: { value: 20 us, origin: guess }
      efficiency: { value: 0.8, origin: guess }
    pcie:
      bandwidth: { value: 32 GB/s, origin: sheet }
      latency: { value: 10 us, origin: guess }
      efficiency: { value: 0.75, origin: guess }
    host:
      memory: { value: 512 GiB, origin: sheet }
      memory_bandwidth: { value: 400 GB/s, origin: sheet }
    slurm:
      partition: gpu_p5
      account: six@a100
      time: "20:00:00"
      cpus_per_gpu: 8
      signal_seconds: 600
      options: [--exclusive, "--mem=0"]
      environment: { NCCL_DEBUG: WARN }
      setup: |
        module purge
)";

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

inline GpuCatalog gpus() {
  auto read = parse_gpus(kGpus, "gpus.yaml");
  REQUIRE(read);
  return *read;
}

inline Result<plan::Cluster> cluster(const std::string& text) {
  return parse_cluster(text, "toy.yaml", gpus());
}

// The messages about the toy cluster after one change.
inline std::string complaint(const std::string& from, const std::string& to) {
  const auto read = cluster(replaced(kCluster, from, to));
  return read ? "" : text(read.error());
}

}  // namespace orch::hardware::toy
