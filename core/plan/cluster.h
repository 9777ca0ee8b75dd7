#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/container.h"

namespace orch::plan {

// A number that describes the hardware, and its origin: a datasheet, a measurement, an assumption.
struct Constant {
  double value = 0;
  std::string origin;
};

// An accelerator.
struct Gpu {
  std::string name;
  std::int64_t released = 0;  // year of release; 0: unknown
  Constant memory;            // bytes
  Constant usable_memory;     // bytes a process can allocate
  Constant context_memory;    // bytes that the driver and its kernels take
  // Bytes that the communication library allocates per group of ranks. With three kinds of groups,
  // GPUs hold about 1 GB more than their context, tensors and fragmentation explain.
  Constant communicator_memory{200e6, "assumed: NCCL's channels and protocols"};
  Constant memory_bandwidth;  // bytes/s
  // Number of columns of a matrix product that are computed at once: an incomplete last tile takes
  // as long as a full one.
  Constant tile{128, "assumed: the usual tile of tensor cores"};
  Constant watts;  // of the board; empty origin: unknown
  // Dense FLOP/s by number format ("bf16"); a format that is missing is not supported.
  std::map<std::string, Constant, std::less<>> peaks;

  // The peak of a format; its value is 0 where the device does not support it.
  const Constant& peak(std::string_view dtype) const;
};

// A link between devices. Bandwidth is one direction: per GPU inside a node and over PCIe, per node
// on the network.
struct Link {
  Constant bandwidth;
  Constant latency;
  Constant efficiency;  // the share of bandwidth that large collectives reach
};

// How far real kernels stay below the datasheet. The values are fractions of the peak unless a unit
// is given.
struct Efficiency {
  Constant gemm;  // large dense matrix products
  // Grouped matrix products, as in experts, as a fraction of gemm.
  Constant experts{
      0.9,
      "measured: products by groups of 512 to 8,192 rows on an H200, 81 to 100 % of one product"};
  Constant attention;            // batched products of attention
  Constant attention_unaligned;  // the same with head_dim not a multiple of 8
  Constant memory;               // memory-bound kernels, as a fraction of memory_bandwidth
  // As a fraction of memory: norms and activation functions; masks and softmax; cross entropy.
  // Where the origin is empty, `memory` is used: the device computes faster than it reads.
  Constant element_wise;
  Constant softmax;
  Constant cross_entropy;
  Constant layer_overhead;  // seconds per layer and pass that cannot be hidden
  // Seconds per layer and pass that the host needs to launch its kernels: a faster device waits for
  // the host.
  Constant host_floor{0, ""};
  // The same for the additional kernels of a layer with experts: the router, the dispatch and its
  // wait, each expert's products.
  Constant expert_floor{
      3.2e-3,
      "assumed: as seen of Qwen3-30B-A3B on H100 and B200 in Megatron-Bridge, micro-batch 1"};
  // Seconds per micro-batch and pass of a pipeline stage: transfer of activations and its
  // synchronisation.
  Constant stage_overhead{5e-3, "assumed: launches, waits and checks of the engine"};
  Constant step_overhead;  // seconds per step
  // The share by which a step becomes longer for each doubling of the nodes, because all wait for
  // the slowest one.
  Constant straggling{0, ""};
  Constant overlap;  // the share of compute that communication can overlap
  // Efficiency of all-gathers and reduce-scatters, relative to that of all-reduces.
  Constant gathers{1, "assumed: as all-reduces"};
  // Efficiency of the optimizer on the CPU, as a fraction of the host's memory bandwidth.
  Constant host{0.5, "assumed: streaming loops over all cores"};
  Constant allocator_slack;  // fragmentation, as a fraction of allocated memory
  Constant tight;            // from this share of usable memory on, a run is "tight"
  // Standard deviations of log(measured / predicted) on rows outside the fit.
  Constant time_spread{0.15, "assumed: no measured rows"};
  Constant memory_spread{0.10, "assumed: no measured rows"};
};

// What it takes to run jobs on a partition for weeks: failures, waits, saving, price and power.
// An empty origin: unknown.
struct SiteOperation {
  // Failures that end a job, per GPU-hour; or, if that is given, the mean time between those of a
  // node.
  Constant failures{419.0 / (54 * 24 * 16384),
                    "published: Llama 3, 419 unexpected interruptions in 54 days on 16,384 GPUs"};
  Constant node_days_between_failures;
  // The number of observed failures that this knowledge is worth: the smaller, the wider the range.
  Constant failure_count{3, "assumed: sites differ by factors of two to three"};
  Constant detection{600, "assumed: a hang is noticed after collective_timeout, ten minutes"};
  // From the start of a job to its first step, without reading the checkpoint.
  Constant start{60, "assumed: imports, groups of ranks and the first slow steps"};
  Constant queue_wait{0, "assumed: the next job starts at once"};
  // Bytes/s to the shared file system: per node, and at most of all together.
  Constant checkpoint_bandwidth{1.2e9, "published: BLOOM saved 2.3 TB from 48 nodes in 40 s"};
  Constant file_system_bandwidth;
  // Bytes/s of a GPU that a save in the background takes from training.
  Constant snapshot_bandwidth{2.65e9, "measured: an H200 lost 12.1 s of training to 32.1 GB"};
  Constant price;  // per GPU-hour, in `currency`; or per node-hour, if that is given
  Constant node_price;
  std::string currency;
  // Of a GPU with its share of the node. Unknown: the board's, and a share of it when idle.
  Constant watts;
  Constant idle_watts;
  Constant pue{1, "assumed: the machine alone, without cooling"};
  Constant gco2_per_kwh;
};

// The options of a job on this partition; an empty one is not passed to SLURM.
struct SlurmSettings {
  std::string partition;
  std::string account;
  std::string qos;
  std::string constraint;
  std::string reservation;
  std::string hint;
  std::string gres;  // empty: gpu:<gpus per node>
  std::string time;  // HH:MM:SS or D-HH:MM:SS
  std::int64_t cpus_per_gpu = 0;
  std::int64_t signal_seconds = 0;          // before the time limit a job is told to save
  std::optional<std::int64_t> spare_nodes;  // extra nodes, for nodes that fail their check
  std::vector<std::string> options;         // further #SBATCH options, as "--name=value"
  std::map<std::string, std::string> environment;
  std::set<std::string> expanded;  // variables whose value has $NAMES that the node expands
  std::string setup;               // shell code of the site (modules and the like), verbatim
  Container container;

  bool operator==(const SlurmSettings&) const = default;
};

// The string options by the names that cluster files and experiments use.
struct SlurmWord {
  std::string_view name;
  std::string SlurmSettings::*at;
};
inline constexpr std::array<SlurmWord, 8> kSlurmWords{{{"partition", &SlurmSettings::partition},
                                                       {"account", &SlurmSettings::account},
                                                       {"qos", &SlurmSettings::qos},
                                                       {"constraint", &SlurmSettings::constraint},
                                                       {"reservation", &SlurmSettings::reservation},
                                                       {"hint", &SlurmSettings::hint},
                                                       {"gres", &SlurmSettings::gres},
                                                       {"time", &SlurmSettings::time}}};

struct Partition;
struct Stack;

// Until this day (exclusive, YYYY-MM-DD) steps on this machine took `time` times as long.
struct SoftwareEra {
  std::string until;
  Constant time;
};

// The range of sizes, and the settings, that measurements covered.
struct SeenRanges {
  struct Span {
    double low = 0, high = 0;  // both 0: unknown
  };
  std::int64_t rows = 0;
  Span gpus, params, tokens;        // tokens: per micro-batch
  Span tensor_nodes;                // number of nodes that a tensor-parallel group spanned
  Span micro_batches;               // per step
  std::vector<std::string> stacks;  // for a machine: the software that its rows ran
  struct Sizes {
    Span gpus, params;
  };
  std::map<std::string, Sizes> devices;  // for software: by the GPU that its rows ran on
  std::vector<std::string> machines;     // for software: where its rows ran, as "jean-zay/a100"
  using Settings =
      std::map<std::string, std::vector<std::string>>;  // by name, the values that occurred in rows
  Settings settings;
  // For a machine, by stack: the settings for which the stack's rows there had fewer values than
  // all rows of the machine.
  std::map<std::string, Settings> of_stack;
};
struct SeenField {
  std::string_view name;
  SeenRanges::Span SeenRanges::*at;
};
inline constexpr std::array<SeenField, 5> kSeenSpans{
    {{"gpus", &SeenRanges::gpus},
     {"params", &SeenRanges::params},
     {"tokens", &SeenRanges::tokens},
     {"tensor_nodes", &SeenRanges::tensor_nodes},
     {"micro_batches", &SeenRanges::micro_batches}}};

// The result of fitting a partition's constants to measured rows of any software.
struct Calibration {
  std::map<std::string, Constant> constants;  // by tunables()' names
  std::vector<SoftwareEra> eras;              // sorted; later days belong to none
  SeenRanges seen;
  std::shared_ptr<const Partition> partition;  // with the fitted constants

  // The factor for a day; 1 for an empty one.
  double era(std::string_view day) const;
};

// A partition with the constants that a software stack reaches on it.
struct StackOnPartition {
  std::shared_ptr<const Stack> stack;
  std::shared_ptr<const Partition> partition;
};

struct Partition {
  std::string name;
  Gpu gpu;
  std::int64_t gpus_per_node = 0;
  std::int64_t nodes = 0;
  std::int64_t gpus_per_domain =
      0;  // GPUs that intra_node's links join, if in several nodes; 0: one node
  // For ranks that share a node's cores: the number of ranks per node at which the constants were
  // measured; with more, each rank gets less. 0: each rank has its own device.
  std::int64_t measured_ranks = 0;
  Link intra_node;
  Link network;
  Link pcie;
  Constant host_memory;            // bytes per node
  Constant host_memory_bandwidth;  // bytes/s per node
  Efficiency efficiency;
  SiteOperation operation;
  SlurmSettings slurm;
  std::optional<Calibration> calibration;
  std::vector<StackOnPartition> stacks;  // the catalogue's stacks, with fitted factors
  // The rows behind the constants: those of the partition if it is calibrated, those of the stack
  // if `on` is set.
  SeenRanges seen;
  std::shared_ptr<const Stack> on;

  std::int64_t domain() const { return gpus_per_domain > 0 ? gpus_per_domain : gpus_per_node; }
  // The calibrated partition, or this one where there is no calibration.
  const Partition& as_measured() const { return calibration ? *calibration->partition : *this; }
  double era(std::string_view day) const { return calibration ? calibration->era(day) : 1; }

  double failures_per_gpu_hour() const;
  double price_per_gpu_hour() const;  // 0: unknown
  double busy_watts() const;          // of a GPU; 0: unknown
  double idle_watts() const;
};

// The machine on which a cluster's constants were measured, and when.
struct MeasuredConstants {
  std::string machine;  // "Neoverse-N1 x 2"
  std::string date;     // YYYY-MM-DD
};

struct Cluster {
  std::string name;
  std::string doc;
  std::string file;    // where it was read from
  std::string like;    // the cluster whose values fill what this file omits; empty: none
  std::string launch;  // "slurm", "local", or "auto": SLURM where it is reachable, else local
  std::optional<MeasuredConstants> measured;
  std::vector<Partition> partitions;

  const Partition* find(std::string_view partition) const;
  // True if its runs need job scripts.
  bool may_use_slurm() const { return launch != "local"; }
};

}  // namespace orch::plan
