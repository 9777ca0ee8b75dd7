#include "core/price/estimate/price.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/base/units.h"
#include "core/plan/number_format.h"

namespace orch::estimate {

namespace {

// Several rings together use a node's network cards better than one: eight of them moved 59 Gbit/s
// where one all-reduce over all GPUs was measured at 40.5 (A100 nodes of Jean Zay).
constexpr double kTogether = 0.18;

// A kernel on a GPU that moves next to nothing takes this long from its start to the next one's.
constexpr double kKernel = 5e-6;

// The factor by which a rank's work on the cores is slower than measured, because ranks share them.
double crowd(const plan::Partition& partition, std::int64_t gpus) {
  if (partition.measured_ranks == 0) return 1;
  const auto ranks = std::min(partition.gpus_per_node, gpus);
  return std::max(1.0, static_cast<double>(ranks) / static_cast<double>(partition.measured_ranks));
}

// Products smaller than a cube of this side gain nothing from narrow number formats; products a few
// times as large gain a part. Seen on H200s: 1.66 of 1.9 times at 4.5 such cubes, 1.74 at 12, 1.87
// at 56.
constexpr double kGainsNothing = 2048;

// The share of a narrow format's gain that a product of this size reaches.
double gained(const orch_op& op) {
  const double cubes = op.m * op.n * op.k / (kGainsNothing * kGainsNothing * kGainsNothing);
  return cubes <= 1 ? 0 : 1 - 1 / std::sqrt(cubes * std::sqrt(cubes));
}

}  // namespace

// pow() is slow, and the numbers of rings are few: so results are cached.
double raised_by_rings(double sharing) {
  static const auto kKnown = [] {
    std::array<double, 17> all{};
    for (std::size_t n = 1; n < all.size(); ++n)
      all[n] = std::pow(static_cast<double>(n), kTogether);
    return all;
  }();
  const auto n = static_cast<std::size_t>(sharing);
  const bool known = n < kKnown.size() && static_cast<double>(n) == sharing;
  return known ? kKnown[n] : std::pow(sharing, kTogether);
}

double wire_factor(std::uint32_t collective, std::int64_t group_size) {
  if (group_size <= 1) return 0;
  const double share = static_cast<double>(group_size - 1) / static_cast<double>(group_size);
  switch (collective) {
    case ORCH_ALL_REDUCE:
      return 2 * share;
    case ORCH_ALL_GATHER:
    case ORCH_REDUCE_SCATTER:
    case ORCH_ALL_TO_ALL:
      return share;
    default:
      return 1;  // broadcast, send
  }
}

Price::Price(const plan::Partition& partition, std::int64_t gpus, std::string_view dtype)
    : partition_(partition),
      gpus_(gpus),
      peak_(partition.gpu.peak(dtype).value),
      wide_peak_(plan::is_narrow(dtype)
                     ? std::max(partition.gpu.peak("bf16").value, partition.gpu.peak("fp16").value)
                     : peak_),
      narrow_(plan::is_narrow(dtype) ? plan::bits_of(dtype) / 8.0 : 2),
      crowd_(crowd(partition, gpus)) {}

std::int64_t Price::ranks_on_node() const { return std::min(partition_.gpus_per_node, gpus_); }

double Price::host_bandwidth() const {
  return partition_.host_memory_bandwidth.value * partition_.efficiency.host.value;
}

double Price::flops_rate(const orch_op& op) const {
  const auto& efficiency = partition_.efficiency;
  if (op.kind == ORCH_GEMM) {
    const bool narrow = op.kernel == ORCH_NARROW && peak_ > wide_peak_;
    const double peak = narrow ? wide_peak_ + gained(op) * (peak_ - wide_peak_) : wide_peak_;
    return peak * efficiency.gemm.value * (op.batch > 1 ? efficiency.experts.value : 1) / crowd_;
  }
  const bool aligned = op.align % 8 == 0;
  return wide_peak_ / crowd_ *
         (aligned ? efficiency.attention.value : efficiency.attention_unaligned.value);
}

// Seconds of memory traffic for a product's three matrices, the result in 16 bits: longer than its
// operations take where it has few rows or columns, as an expert's product does (the roofline
// model, Williams et al. 2009).
double Price::matrix_seconds(const orch_op& op) const {
  const double read = op.kernel == ORCH_WIDE ? 2 : narrow_;
  const double bytes = op.batch * (read * (op.m * op.k + op.k * op.n) + 2 * op.m * op.n);
  return bytes * crowd_ /
         (partition_.gpu.memory_bandwidth.value * partition_.efficiency.memory.value);
}

double Price::whole_tiles(double columns) const {
  const double tile = partition_.gpu.tile.value;
  return std::ceil(columns / tile) * tile;
}

double Price::memory_rate(const orch_op& op) const {
  const auto& efficiency = partition_.efficiency;
  const auto own = op.kernel == ORCH_ELEMENT_WISE    ? efficiency.element_wise.value
                   : op.kernel == ORCH_SOFTMAX       ? efficiency.softmax.value
                   : op.kernel == ORCH_CROSS_ENTROPY ? efficiency.cross_entropy.value
                                                     : 0;
  const double share = own > 0 ? own : efficiency.memory.value;
  return partition_.gpu.memory_bandwidth.value * share / crowd_;
}

Price::Ring Price::ring(const orch_op& op) const {
  // The GPUs that the fast links join, and all the network cards of their nodes.
  const auto per_domain = partition_.domain();
  const double cards = partition_.network.bandwidth.value * static_cast<double>(per_domain) /
                       static_cast<double>(partition_.gpus_per_node);
  const auto stride = std::max<std::int64_t>(1, op.group_stride);
  const auto inside = std::clamp<std::int64_t>(per_domain / stride, 1, op.group_size);
  const auto& local = partition_.intra_node;
  const double local_bandwidth = local.bandwidth.value * local.efficiency.value / crowd_;
  if (gpus_ <= per_domain || inside >= op.group_size)
    return {false, local_bandwidth, 1, local.latency.value * crowd_, 1};
  const auto& network = partition_.network;
  // A send is one plain message: it gets its share of the link, not the efficiency of collectives.
  // All ranks whose neighbour is on another node send at the same time.
  if (op.collective == ORCH_SEND) {
    const auto sharing = static_cast<double>(std::min(stride, per_domain));
    return {true, cards / sharing, sharing, network.latency.value, 1};
  }
  // In an all-to-all each rank sends to every other one: nothing is combined inside a node, and all
  // its ranks share the network, with one ring's efficiency because of the many messages.
  if (op.collective == ORCH_ALL_TO_ALL) {
    const auto sharing = static_cast<double>(per_domain);
    return {true, cards * network.efficiency.value / sharing, sharing, network.latency.value,
            static_cast<double>(inside)};
  }
  // Every GPU of a node is in some group of this kind; the more ranks of a group are inside the
  // node, the fewer rings share its network.
  const double sharing = static_cast<double>(per_domain) / static_cast<double>(inside);
  const double together = network.efficiency.value * raised_by_rings(sharing);
  const double outside = cards * std::min(1.0, together) / sharing;
  return {true, inside > 1 ? std::min(outside, local_bandwidth) : outside, sharing,
          network.latency.value, static_cast<double>(inside)};
}

// Small all-reduces use trees: the latency counts once per level, in both directions. Gathers and
// scatters go around the ring one part after the other: once over the network for each node (or
// domain), and within it for each of the others, as in NCCL (tuning.cc).
double Price::latency(const orch_op& op, const Ring& path) const {
  const auto levels =
      static_cast<double>(std::bit_width(static_cast<std::uint64_t>(op.group_size - 1)));
  const double hops = static_cast<double>(op.group_size - 1);
  const double between =
      path.crosses ? std::ceil(static_cast<double>(op.group_size) / path.inside) - 1 : 0;
  // Can be below one call: blocks that share a bucket share its latency.
  const double calls = op.calls > 0 ? op.calls : 1;
  switch (op.collective) {
    case ORCH_ALL_REDUCE:
      return calls * 2 * levels * path.latency;
    case ORCH_SEND:
      return calls * path.latency;
    case ORCH_BROADCAST:
      return calls * levels * path.latency;
    case ORCH_ALL_TO_ALL:
      return calls * hops / path.inside * path.latency;
    default:
      return calls * (between * path.latency +
                      (hops - between) * partition_.intra_node.latency.value * crowd_);
  }
}

double Price::collective_seconds(const orch_op& op) const {
  if (op.group_size <= 1) return 0;
  const auto path = ring(op);
  // In an all-to-all, the messages to ranks of the same node stay there, and arrive sooner.
  const auto size = static_cast<double>(op.group_size);
  const double share = op.collective == ORCH_ALL_TO_ALL && path.crosses
                           ? (size - path.inside) / size
                           : wire_factor(op.collective, op.group_size);
  const bool gathers = op.collective == ORCH_ALL_GATHER || op.collective == ORCH_REDUCE_SCATTER;
  const double reached = gathers ? partition_.efficiency.gathers.value : 1;
  return share * op.bytes / (path.bandwidth * reached) + latency(op, path);
}

double Price::overhead_seconds(const orch_op& op) const {
  const auto& efficiency = partition_.efficiency;
  if (op.kernel == ORCH_OF_EXPERTS) return 0;
  if (op.kernel == ORCH_OF_KERNELS) return crowd_ * op.calls * kKernel / efficiency.experts.value;
  return efficiency.layer_overhead.value * crowd_;
}

double Price::seconds(const orch_op& op) const {
  switch (op.kind) {
    case ORCH_GEMM:
      return std::max(2 * op.m * whole_tiles(op.n) * op.k * op.batch / flops_rate(op),
                      matrix_seconds(op));
    case ORCH_ATTENTION:
      return 2 * op.m * op.n * op.k * op.batch / flops_rate(op);
    case ORCH_MEMORY:
      return op.bytes / memory_rate(op);
    case ORCH_COLLECTIVE:
      return collective_seconds(op);
    case ORCH_COPY:
      return op.bytes / (partition_.pcie.bandwidth.value * partition_.pcie.efficiency.value) +
             partition_.pcie.latency.value;
    case ORCH_HOST:  // the ranks of a node share its memory
      return op.bytes * static_cast<double>(ranks_on_node()) / host_bandwidth();
    case ORCH_OVERHEAD:
      return overhead_seconds(op);
    case ORCH_STAGE_OVERHEAD:
      return partition_.efficiency.stage_overhead.value * crowd_;
    default:
      return 0;
  }
}

std::string Price::rate(const orch_op& op) const {
  switch (op.kind) {
    case ORCH_GEMM:
      if (seconds(op) <= matrix_seconds(op))
        return fmt::format("as long as its matrices take through the memory, {:.3g} us",
                           1e6 * matrix_seconds(op));
      return fmt::format(
          "at {:.4g} TFLOPs{}", flops_rate(op) / 1e12,
          whole_tiles(op.n) > op.n
              ? fmt::format(", {:g} columns take as long as {:g}", op.n, whole_tiles(op.n))
              : std::string());
    case ORCH_ATTENTION:
      return fmt::format("at {:.4g} TFLOPs", flops_rate(op) / 1e12);
    case ORCH_MEMORY:
      return fmt::format("at {}/s", format_bytes(memory_rate(op)));
    case ORCH_COLLECTIVE: {
      if (op.group_size <= 1) return "one rank";
      const auto path = ring(op);
      const double waits = latency(op, path);
      return fmt::format(
          "{} ranks, {}{} at {}/s{}", op.group_size,
          path.crosses                                     ? "across nodes"
          : partition_.domain() > partition_.gpus_per_node ? "inside the NVLink domain"
                                                           : "inside the node",
          path.sharing > 1 ? fmt::format(", {:g} rings share the network", path.sharing)
                           : std::string(),
          format_bytes(path.bandwidth),
          waits > 0.2 * collective_seconds(op)
              ? fmt::format(", {:.3g} ms of it latency", 1e3 * waits)
              : std::string());
    }
    case ORCH_COPY:
      return fmt::format("at {}/s", format_bytes(partition_.pcie.bandwidth.value *
                                                 partition_.pcie.efficiency.value));
    case ORCH_HOST:
      return fmt::format("{} ranks share {}/s", ranks_on_node(), format_bytes(host_bandwidth()));
    default:
      return "fixed";
  }
}

}  // namespace orch::estimate
