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

namespace orch::plan {

// A number of the hardware and where it comes from: a datasheet, a measurement, an assumption.
struct Constant {
  double value = 0;
  std::string origin;
};

// An accelerator.
struct Gpu {
  std::string name;
  std::int64_t released = 0;  // the year in which it came out; 0: not known
  Constant memory;            // bytes
  Constant usable_memory;     // bytes a process can allocate
  Constant context_memory;    // bytes the driver and its kernels take
  // Bytes that the library of collectives takes for each group of ranks. With three kinds of
  // groups, GPUs hold about 1 GB more than their context, tensors and fragments explain.
  Constant communicator_memory{200e6, "assumed: NCCL's channels and protocols"};
  Constant memory_bandwidth;  // bytes/s
  // Columns of a matrix product that are computed at once: those of the last tile that are not
  // there take as long.
  Constant tile{128, "assumed: the usual tile of tensor cores"};
  // Dense FLOP/s by number format ("bf16"); one that is not there is not supported.
  std::map<std::string, Constant, std::less<>> peaks;

  // The peak of a format; its value is 0 where the device lacks it.
  const Constant& peak(std::string_view dtype) const;
};

// A path for bytes. Bandwidth is one direction: per GPU inside a node and over PCIe, per node on
// the network.
struct Link {
  Constant bandwidth;
  Constant latency;
  Constant efficiency;  // the share of bandwidth that large collectives reach
};

// How far real kernels stay below the datasheet. Fractions of peak unless a unit is named.
struct Efficiency {
  Constant gemm;  // large dense matrix products
  // Of what those reach, products by groups of rows, as of experts.
  Constant experts{
      0.9,
      "measured: products by groups of 512 to 8,192 rows on an H200, 81 to 100 % of one product"};
  Constant attention;            // batched products of attention
  Constant attention_unaligned;  // the same with head_dim not a multiple of 8
  Constant memory;               // memory-bound kernels, of memory_bandwidth
  // Of those: norms and activation functions; masks and softmax; cross entropy. Without an origin:
  // as memory, for devices that compute faster than they read.
  Constant element_wise;
  Constant softmax;
  Constant cross_entropy;
  Constant layer_overhead;  // seconds per layer and pass that nothing hides
  // Seconds per layer and pass in which the host launches its kernels: a device that is sooner done
  // waits for it.
  Constant host_floor{0, ""};
  // The same of what a layer's experts need beside: the router, the dispatch and its wait, each
  // expert's products.
  Constant expert_floor{
      3.2e-3,
      "assumed: as seen of Qwen3-30B-A3B on H100 and B200 in Megatron-Bridge, micro-batch 1"};
  // Seconds per micro-batch and pass of a pipeline stage: hand-over and its synchronisation.
  Constant stage_overhead{5e-3, "assumed: launches, waits and checks of the engine"};
  Constant step_overhead;  // seconds per step
  // The share that a step takes longer for each doubling of the nodes, each of which waits for the
  // slowest.
  Constant straggling{0, ""};
  Constant overlap;  // the share of compute under which communication can hide
  // What gathers and scatters reach of a link, where all-reduces reach its efficiency.
  Constant gathers{1, "assumed: as all-reduces"};
  // The optimizer on the CPU, of the host's memory bandwidth.
  Constant host{0.5, "assumed: streaming loops over all cores"};
  Constant allocator_slack;  // fragmentation, of what is allocated
  Constant tight;            // from this share of usable memory on, a run is "tight"
  // Standard deviations of log(measured / predicted) on rows that were not fitted.
  Constant time_spread{0.15, "assumed: no measured rows"};
  Constant memory_spread{0.10, "assumed: no measured rows"};
};

// What a job needs to say to SLURM on this partition; empty means "do not say it".
struct Slurm {
  std::string partition;
  std::string account;
  std::string qos;
  std::string constraint;
  std::string reservation;
  std::string hint;
  std::string gres;  // empty: gpu:<gpus per node>
  std::string time;  // HH:MM:SS or D-HH:MM:SS
  std::int64_t cpus_per_gpu = 0;
  std::int64_t signal_seconds = 0;          // how long before the limit a job is told to save
  std::optional<std::int64_t> spare_nodes;  // held beside the run, for nodes that fail their check
  std::vector<std::string> options;         // further #SBATCH words, verbatim, each "--name=value"
  std::map<std::string, std::string> environment;
  std::set<std::string> expanded;  // of those, the ones whose $NAMES the node fills in
  std::string setup;               // shell text of the site (modules and the like), verbatim

  bool operator==(const Slurm&) const = default;
};

// Its words by the names that cluster files and experiments have for them.
struct SlurmWord {
  std::string_view name;
  std::string Slurm::*at;
};
inline constexpr std::array<SlurmWord, 8> kSlurmWords{{{"partition", &Slurm::partition},
                                                       {"account", &Slurm::account},
                                                       {"qos", &Slurm::qos},
                                                       {"constraint", &Slurm::constraint},
                                                       {"reservation", &Slurm::reservation},
                                                       {"hint", &Slurm::hint},
                                                       {"gres", &Slurm::gres},
                                                       {"time", &Slurm::time}}};

struct Partition;
struct Stack;

// Until this day (exclusive, YYYY-MM-DD) the same machine took so many times as long.
struct Era {
  std::string until;
  Constant time;
};

// Between which sizes something was measured, and with which settings.
struct Seen {
  struct Span {
    double low = 0, high = 0;  // both 0: not known
  };
  std::int64_t rows = 0;
  Span gpus, params, tokens;        // tokens: of a micro-batch
  Span tensor_nodes;                // over how many nodes a tensor-parallel group lay
  Span micro_batches;               // of a step
  std::vector<std::string> stacks;  // of a machine: the software that its rows ran
  struct Sizes {
    Span gpus, params;
  };
  std::map<std::string, Sizes> devices;  // of software: by the GPU that rows ran on
  std::vector<std::string> machines;     // of software: that rows ran on, as "jean-zay/a100"
  using Settings =
      std::map<std::string, std::vector<std::string>>;  // by name, the values that rows had
  Settings settings;
  // Of a machine: by stack, the settings in which its rows there had less than all rows of the
  // machine.
  std::map<std::string, Settings> of_stack;
};
struct SeenSpan {
  std::string_view name;
  Seen::Span Seen::*at;
};
inline constexpr std::array<SeenSpan, 5> kSeenSpans{{{"gpus", &Seen::gpus},
                                                     {"params", &Seen::params},
                                                     {"tokens", &Seen::tokens},
                                                     {"tensor_nodes", &Seen::tensor_nodes},
                                                     {"micro_batches", &Seen::micro_batches}}};

// What a fit to measured rows says of a partition, whatever software ran them.
struct Calibration {
  std::map<std::string, Constant> constants;  // by the names of tunables()
  std::vector<Era> eras;                      // in order; later days are in none
  Seen seen;
  std::shared_ptr<const Partition> partition;  // with the constants in their places

  // The factor of a day; 1 for an empty one.
  double era(std::string_view day) const;
};

// A partition as some software finds it.
struct OnStack {
  std::shared_ptr<const Stack> stack;
  std::shared_ptr<const Partition> partition;
};

struct Partition {
  std::string name;
  Gpu gpu;
  std::int64_t gpus_per_node = 0;
  std::int64_t nodes = 0;
  std::int64_t gpus_per_domain =
      0;  // that intra_node's links join, where those of several nodes are; 0: of one
  // Where ranks share a node's cores: the constants are those of a rank among so many; with more,
  // each gets less. 0: a rank has a device of its own.
  std::int64_t measured_ranks = 0;
  Link intra_node;
  Link network;
  Link pcie;
  Constant host_memory;            // bytes per node
  Constant host_memory_bandwidth;  // bytes/s per node
  Efficiency efficiency;
  Slurm slurm;
  std::optional<Calibration> calibration;
  std::vector<OnStack> stacks;  // of the catalogue, with what was fitted
  // Of a partition as calibrated: what it was measured with. As a stack finds it: the stack.
  Seen seen;
  std::shared_ptr<const Stack> on;

  std::int64_t domain() const { return gpus_per_domain > 0 ? gpus_per_domain : gpus_per_node; }
  // This partition as calibrated, or itself.
  const Partition& as_measured() const { return calibration ? *calibration->partition : *this; }
  double era(std::string_view day) const { return calibration ? calibration->era(day) : 1; }
};

// The machine on which a cluster's constants were measured, and when.
struct Measured {
  std::string machine;  // "Neoverse-N1 x 2"
  std::string date;     // YYYY-MM-DD
};

struct Cluster {
  std::string name;
  std::string doc;
  std::string file;    // where it was read from
  std::string like;    // the cluster that it takes from what its file does not say; empty: none
  std::string launch;  // "slurm", "local", or "auto": SLURM where it is reachable, else local
  std::optional<Measured> measured;
  std::vector<Partition> partitions;

  const Partition* find(std::string_view partition) const;
  // Whether its runs need job scripts.
  bool may_use_slurm() const { return launch != "local"; }
};

}  // namespace orch::plan
