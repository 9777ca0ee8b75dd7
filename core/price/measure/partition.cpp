#include "core/price/measure/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/base/units.h"

namespace orch::measure {

FittedLine fit_line(std::span<const MeasuredPoint> points) {
  // Weights of 1 / seconds^2 make the errors relative.
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
  for (const auto& [x, y] : points) {
    const double weight = 1 / (y * y);
    w += weight, wx += weight * x, wxx += weight * x * x;
    wy += weight * y, wxy += weight * x * y;
  }
  const FittedLine through_zero{0, wxx > 0 ? wxy / wxx : 0};
  const double determinant = w * wxx - wx * wx;
  if (points.size() < 2 || determinant <= 1e-12 * w * wxx) return through_zero;
  const FittedLine line{(wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant};
  if (line.fixed < 0) return through_zero;
  if (line.per_unit < 0) return {wy / w, 0};
  return line;
}

RingFit fit_all_reduce(std::span<const MeasuredPoint> points, std::int64_t ranks) {
  const auto line = fit_line(points);
  const auto n = static_cast<double>(ranks);
  const auto levels = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(ranks - 1)));
  return {line.fixed / (2 * levels), 2 * (n - 1) / n / line.per_unit};
}

double best_rate(std::span<const MeasuredProduct> products) {
  double best = 0;
  for (const auto& product : products) best = std::max(best, product.flops() / product.seconds);
  return best;
}

namespace {

constexpr double kOpsPerPass = 20;      // per layer, besides its products
constexpr double kProductsPerPass = 6;  // per layer: four forward, eight backward
constexpr double kUsable = 0.75;        // share of a machine's memory: other processes need some

std::vector<MeasuredProduct> of_type(const std::vector<MeasuredProduct>& all,
                                     std::string_view dtype) {
  std::vector<MeasuredProduct> out;
  for (const auto& product : all)
    if (product.dtype == dtype) out.push_back(product);
  return out;
}

std::vector<MeasuredProduct> aligned(const std::vector<MeasuredProduct>& all, bool wanted) {
  std::vector<MeasuredProduct> out;
  for (const auto& product : all) {
    const auto head_dim = static_cast<std::int64_t>(std::min(product.n, product.k));
    if ((head_dim % 8 == 0) == wanted) out.push_back(product);
  }
  return out;
}

FittedLine line_of(const std::vector<MeasuredProduct>& products) {
  std::vector<MeasuredPoint> points;
  points.reserve(products.size());
  for (const auto& product : products) points.push_back({product.flops(), product.seconds});
  return fit_line(points);
}

// Writes constants whose origins have the same beginning.
class PartitionWriter {
 public:
  PartitionWriter(plan::Partition& to, std::string where) : to_(to), where_(std::move(where)) {}

  void set(plan::Constant& constant, double value, const std::string& how) const {
    constant = {value, where_ + ": " + how};
  }
  plan::Partition& to() const { return to_; }

 private:
  plan::Partition& to_;
  std::string where_;
};

// The peak of a CPU is the rate of its best product; a GPU uses its datasheet, if there is one.
void set_products(const DeviceMeasurement& measured, const PartitionWriter& out) {
  const bool cpu = measured.device == "cpu";
  auto& gpu = out.to().gpu;
  auto& efficiency = out.to().efficiency;
  for (const auto* dtype : {"fp32", "fp16", "bf16"}) {
    const auto products = of_type(measured.products, dtype);
    if (products.empty() || (!cpu && gpu.peak(dtype).value > 0)) continue;
    out.set(gpu.peaks[dtype], best_rate(products), "the fastest matrix product");
  }
  // On CPUs our trainers multiply 16-bit numbers in fp32.
  if (cpu && gpu.peak("fp32").value > 0 && of_type(measured.products, "bf16").empty())
    out.set(gpu.peaks["bf16"], gpu.peak("fp32").value,
            "as fp32, in which trainers multiply on a CPU");
  const std::string dtype = cpu ? "fp32" : "bf16";
  const auto products = of_type(measured.products, dtype);
  const double peak = gpu.peak(dtype).value;
  if (products.empty() || peak == 0) return;
  const auto line = line_of(products);
  out.set(efficiency.gemm, std::min(1.0, 1 / line.per_unit / peak),
          fmt::format("{} products, from those of a small model on", products.size()));
  const auto batches = of_type(measured.attention, dtype);
  const auto share = [&](plan::Constant& constant, bool wanted) {
    const auto some = aligned(batches, wanted);
    if (some.empty()) return;
    out.set(constant, std::clamp(1 / line_of(some).per_unit / peak, 1e-4, 1.0),
            fmt::format("{} batched products", some.size()));
  };
  share(efficiency.attention, true);
  share(efficiency.attention_unaligned, false);
  const double fixed = kOpsPerPass * measured.launch_seconds + kProductsPerPass * line.fixed;
  out.set(efficiency.layer_overhead, fixed,
          fmt::format("{:g} operations of {}, {:g} products that begin with {}", kOpsPerPass,
                      format_seconds(measured.launch_seconds), kProductsPerPass,
                      format_seconds(line.fixed)));
}

struct MeasuredRate {
  double value = 0;
  std::string how;
};

// The bytes that an estimate counts for a pass, divided by its measured time.
MeasuredRate charged_rate(const DeviceMeasurement& measured, const char* op, double bytes,
                          const char* how) {
  const auto* pass = measured.pass(op);
  return pass && bytes > 0 ? MeasuredRate{bytes / pass->seconds, how} : MeasuredRate{};
}

// The bandwidth is the largest of the rates, so that all others are shares of it: on a CPU small
// tensors stay in caches.
void set_memory(const DeviceMeasurement& measured, const ChargedBytes& charged,
                const PartitionWriter& out) {
  auto& efficiency = out.to().efficiency;
  const auto* copy = measured.pass("copy");
  const auto* optimizer = measured.pass("optimizer");
  if (!copy) return;
  const double plain = copy->bytes / copy->seconds;
  auto streams =
      charged_rate(measured, "optimizer", optimizer ? charged.optimizer * optimizer->elements : 0,
                   "an optimizer step of AdamW");
  if (streams.value == 0) streams = {plain, "a copy"};
  const auto element_wise = charged_rate(measured, "element-wise", charged.element_wise,
                                         "norms, GELU and residuals of a small layer");
  const auto softmax =
      charged_rate(measured, "scores", charged.softmax, "masks and softmaxes of a small layer");
  const auto cross_entropy = charged_rate(measured, "cross entropy", charged.cross_entropy,
                                          "a small model's cross entropy");
  const double most =
      std::max({plain, streams.value, element_wise.value, softmax.value, cross_entropy.value});
  if (measured.device == "cpu")
    out.set(out.to().gpu.memory_bandwidth, most, "the fastest of a rank's passes over memory");
  const double all = out.to().gpu.memory_bandwidth.value;
  const auto share = [&](plan::Constant& constant, const MeasuredRate& rate) {
    if (rate.value > 0) out.set(constant, std::clamp(rate.value / all, 1e-4, 1.0), rate.how);
  };
  share(efficiency.memory, streams);
  share(efficiency.element_wise, element_wise);
  share(efficiency.softmax, softmax);
  share(efficiency.cross_entropy, cross_entropy);
  if (measured.device != "cpu") return;
  out.set(out.to().host_memory_bandwidth, plain * static_cast<double>(measured.ranks),
          "copies of all ranks");
  out.set(out.to().pcie.bandwidth, plain, "a copy within memory, both ways counted");
  out.set(out.to().pcie.efficiency, 1, "as measured");
}

void set_links(const DeviceMeasurement& measured, const PartitionWriter& out) {
  auto& to = out.to();
  if (measured.ranks > 1 && !measured.all_reduce.empty()) {
    const auto ring = fit_all_reduce(measured.all_reduce, measured.ranks);
    const auto how = fmt::format("all-reduces of {} ranks, {} to {}", measured.ranks,
                                 format_bytes(measured.all_reduce.front().amount),
                                 format_bytes(measured.all_reduce.back().amount));
    out.set(to.intra_node.bandwidth, ring.bandwidth, how);
    out.set(to.intra_node.latency, std::max(1e-9, ring.latency), how);
    out.set(to.intra_node.efficiency, 1, "as measured");
  }
  if (measured.copies.empty()) return;
  const auto line = fit_line(measured.copies);
  out.set(to.pcie.bandwidth, 1 / line.per_unit, "copies from and to pinned memory");
  out.set(to.pcie.latency, std::max(1e-9, line.fixed), "the same");
  out.set(to.pcie.efficiency, 1, "as measured");
}

void set_sizes(const DeviceMeasurement& measured, const PartitionWriter& out) {
  auto& gpu = out.to().gpu;
  out.set(gpu.context_memory, measured.context, "a process before its first tensor");
  if (measured.ranks > 1)
    out.set(gpu.communicator_memory, measured.communicator, "after the first all-reduce");
  if (measured.device != "cpu") {
    out.set(gpu.memory, measured.memory, "as the driver says");
    out.set(gpu.usable_memory, measured.memory, "as the driver says");
    return;
  }
  const auto ranks = static_cast<double>(out.to().gpus_per_node);
  const auto shared = fmt::format("{}, shared by {:g} ranks", format_bytes(measured.memory), ranks);
  out.set(out.to().host_memory, measured.memory, "as the system says");
  out.set(gpu.memory, measured.memory / ranks, shared);
  out.set(gpu.usable_memory, kUsable * measured.memory / ranks, "three quarters of the above");
}

}  // namespace

plan::Partition measured_partition(const DeviceMeasurement& measured, const ChargedBytes& charged,
                                   plan::Partition base, const std::string& where) {
  const PartitionWriter out(base, where);
  set_products(measured, out);
  set_memory(measured, charged, out);
  set_links(measured, out);
  set_sizes(measured, out);
  if (measured.device == "cpu") base.measured_ranks = measured.ranks;
  base.calibration.reset();
  base.stacks.clear();
  return base;
}

}  // namespace orch::measure
