#include "core/plan/hardware/constants.h"

#include <fmt/format.h>

#include "core/base/text.h"

namespace orch::hardware {
namespace {

constexpr std::string_view kByteUnits = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";
constexpr std::string_view kTimeUnits = "us, ms, s";

}  // namespace

const ConstantKind kMemory{Unit::bytes,      1e6,      1e14,      "an amount of memory",
                           "1 MB to 100 TB", "80 GiB", kByteUnits};
const ConstantKind kSmallMemory{Unit::bytes,     0,          1e11,      "an amount of memory",
                                "0 B to 100 GB", "1113 MiB", kByteUnits};
const ConstantKind kBandwidth{
    Unit::bytes_per_second,    1e6, 1e14, "a bandwidth", "1 MB/s to 100 TB/s", "300 GB/s",
    "MB/s, GB/s, TB/s, Gbit/s"};
const ConstantKind kFlops{Unit::flops,
                          1e8,
                          1e17,
                          "a peak rate",
                          "0.1 GFLOPs to 100 PFLOPs",
                          "312 TFLOPs",
                          "GFLOPs, TFLOPs, PFLOPs"};
const ConstantKind kLatency{Unit::seconds,     1e-9,   1,         "a time",
                            "0.001 us to 1 s", "5 us", kTimeUnits};
const ConstantKind kOverhead{Unit::seconds, 0, 100, "a time", "0 s to 100 s", "200 us", kTimeUnits};
const ConstantKind kShare{Unit::none, 1e-4, 1, "a share", "0.0001 to 1", "0.7", ""};
const ConstantKind kShareOrZero{Unit::none, 0, 1, "a share", "0 to 1", "0.05", ""};
const ConstantKind kFactor{Unit::none, 0.01, 100, "a factor", "0.01 to 100", "1.05", ""};
const ConstantKind kSpread{Unit::none, 0, 1, "a spread", "0 to 1", "0.15", ""};

const ConstantKind kColumns{Unit::none, 1, 4096, "a number of columns", "1 to 4096", "128", ""};

const ConstantKind kRate{Unit::none, 0,      1, "a number of failures per GPU-hour",
                         "0 to 1",   "2e-5", ""};
const ConstantKind kDays{Unit::none, 0.01, 1e6, "a number of days", "0.01 to 1,000,000", "260", ""};
const ConstantKind kCount{Unit::none,         0.1, 1e6, "a number of failures",
                          "0.1 to 1,000,000", "3", ""};
const ConstantKind kDuration{Unit::seconds,  0,     30 * kDay,  "a time",
                             "0 s to 720 h", "6 h", "s, min, h"};
const ConstantKind kPower{Unit::watts, 0, 1e5, "a power", "0 W to 100 kW", "400 W", "W, kW"};
const ConstantKind kPue{Unit::none, 1, 10, "a factor", "1 to 10", "1.2", ""};
const ConstantKind kCarbon{Unit::none,   0,    5000, "a number of grams of CO2 per kWh",
                           "0 to 5,000", "57", ""};
const ConstantKind kPrice{Unit::none,           0,          1e9, "a price with its currency",
                          "0 to 1,000,000,000", "2.50 EUR", ""};

const std::array<ConstantField<plan::Gpu>, 7> kGpuFields{{
    {"memory", &plan::Gpu::memory, &kMemory},
    {"usable_memory", &plan::Gpu::usable_memory, &kMemory},
    {"context_memory", &plan::Gpu::context_memory, &kSmallMemory},
    {"communicator_memory", &plan::Gpu::communicator_memory, &kSmallMemory, false},
    {"memory_bandwidth", &plan::Gpu::memory_bandwidth, &kBandwidth},
    {"tile", &plan::Gpu::tile, &kColumns, false},
    {"watts", &plan::Gpu::watts, &kPower, false},
}};

const std::array<ConstantField<plan::Link>, 3> kLinkFields{{
    {"bandwidth", &plan::Link::bandwidth, &kBandwidth},
    {"latency", &plan::Link::latency, &kLatency},
    {"efficiency", &plan::Link::efficiency, &kShare},
}};

const std::array<ConstantField<plan::Efficiency>, 21> kEfficiencyFields{{
    {"gemm", &plan::Efficiency::gemm, &kShare},
    {"experts", &plan::Efficiency::experts, &kShare, false},
    {"attention", &plan::Efficiency::attention, &kShare},
    {"attention_unaligned", &plan::Efficiency::attention_unaligned, &kShare},
    {"memory", &plan::Efficiency::memory, &kShare},
    {"element_wise", &plan::Efficiency::element_wise, &kShare, false},
    {"softmax", &plan::Efficiency::softmax, &kShare, false},
    {"cross_entropy", &plan::Efficiency::cross_entropy, &kShare, false},
    {"layer_overhead", &plan::Efficiency::layer_overhead, &kOverhead},
    {"host_floor", &plan::Efficiency::host_floor, &kOverhead, false},
    {"expert_floor", &plan::Efficiency::expert_floor, &kOverhead, false},
    {"stage_overhead", &plan::Efficiency::stage_overhead, &kOverhead, false},
    {"step_overhead", &plan::Efficiency::step_overhead, &kOverhead},
    {"straggling", &plan::Efficiency::straggling, &kShareOrZero, false},
    {"overlap", &plan::Efficiency::overlap, &kShareOrZero},
    {"gathers", &plan::Efficiency::gathers, &kFactor, false},
    {"host", &plan::Efficiency::host, &kShare, false},
    {"allocator_slack", &plan::Efficiency::allocator_slack, &kShareOrZero},
    {"tight", &plan::Efficiency::tight, &kShare},
    {"time_spread", &plan::Efficiency::time_spread, &kSpread, false},
    {"memory_spread", &plan::Efficiency::memory_spread, &kSpread, false},
}};

const std::array<ConstantField<plan::Partition>, 2> kHostFields{{
    {"memory", &plan::Partition::host_memory, &kMemory},
    {"memory_bandwidth", &plan::Partition::host_memory_bandwidth, &kBandwidth},
}};

const std::array<ConstantField<plan::SiteOperation>, 13> kOperationFields{{
    {"failures", &plan::SiteOperation::failures, &kRate, false},
    {"node_days_between_failures", &plan::SiteOperation::node_days_between_failures, &kDays, false},
    {"failure_count", &plan::SiteOperation::failure_count, &kCount, false},
    {"detection", &plan::SiteOperation::detection, &kDuration, false},
    {"start", &plan::SiteOperation::start, &kDuration, false},
    {"queue_wait", &plan::SiteOperation::queue_wait, &kDuration, false},
    {"checkpoint_bandwidth", &plan::SiteOperation::checkpoint_bandwidth, &kBandwidth, false},
    {"file_system_bandwidth", &plan::SiteOperation::file_system_bandwidth, &kBandwidth, false},
    {"snapshot_bandwidth", &plan::SiteOperation::snapshot_bandwidth, &kBandwidth, false},
    {"watts", &plan::SiteOperation::watts, &kPower, false},
    {"idle_watts", &plan::SiteOperation::idle_watts, &kPower, false},
    {"pue", &plan::SiteOperation::pue, &kPue, false},
    {"gco2_per_kwh", &plan::SiteOperation::gco2_per_kwh, &kCarbon, false},
}};

std::string constant_example(const ConstantKind& kind) {
  return fmt::format("{{ value: {}, origin: \"where it comes from\" }}", kind.example);
}

namespace {

void read_value(const YamlField& field, const ConstantKind& kind, double& out) {
  const auto text = field.text();
  if (!text) return;
  const auto number = parse_quantity(*text, kind.unit);
  if (!number) {
    const auto units = kind.units.empty() ? "" : fmt::format(" (units: {})", kind.units);
    field.problem(fmt::format("'{}' is not {}", printable(*text), kind.what),
                  fmt::format("write it like {}{}", kind.example, units));
  } else if (*number < kind.min || *number > kind.max) {
    field.problem(fmt::format("{} is out of range", printable(*text)),
                  fmt::format("give a value from {}", kind.bounds));
  } else {
    out = *number;
  }
}

}  // namespace

void read_constant(const YamlField& field, const ConstantKind& kind, plan::Constant& out) {
  if (field.is_scalar()) {
    const auto value = field.text();
    if (value)
      field.problem(fmt::format("'{}' does not say where it comes from", printable(*value)),
                    "write " + constant_example(kind));
    return;
  }
  const Map map(field, {"value", "origin"});
  if (const auto* value = map.require("value", kind.example)) read_value(*value, kind, out.value);
  if (const auto* origin = map.require("origin", "\"the datasheet, measurement or assumption\""))
    out.origin = origin->text().value_or("");
}

namespace {

void read_peaks(const Map& map, Presence presence, plan::Gpu& out) {
  const bool must = presence == Presence::as_required;
  const auto* table = must ? map.require("peak", "{ fp32: …, bf16: … }") : map.find("peak");
  if (!table) return;
  const Map formats(*table);
  for (const auto& [format, field] : formats.entries()) {
    if (!is_plain_name(format) || format.find('.') != std::string::npos)
      field.problem("not a name for a number format", "write it like fp32, bf16 or fp8");
    read_constant(field, kFlops, out.peaks[format]);
  }
  if (must) formats.require("fp32", constant_example(kFlops));
}

// Checks relations between constants: usable memory above memory, and the like.
void check_gpu(const plan::Gpu& gpu, const YamlField& field) {
  // A value that could not be read is 0 and has already been reported.
  const double usable = gpu.usable_memory.value;
  if (usable == 0) return;
  if (gpu.memory.value != 0 && usable > gpu.memory.value)
    field.problem(fmt::format("usable_memory {} is more than memory {}", format_bytes(usable),
                              format_bytes(gpu.memory.value)),
                  "usable_memory is what a process can allocate of it");
  if (gpu.context_memory.value >= usable)
    field.problem(fmt::format("context_memory {} leaves nothing of usable_memory {}",
                              format_bytes(gpu.context_memory.value), format_bytes(usable)),
                  "context_memory is what the driver takes, about 1 GB");
}

}  // namespace

Map read_gpu_constants(const YamlField& field, const std::vector<std::string>& others,
                       Presence presence, plan::Gpu& out) {
  auto known = keys(kGpuFields);
  known.emplace_back("peak");
  known.insert(known.end(), others.begin(), others.end());
  Map map(field, known);
  read_constants(map, kGpuFields, presence, out);
  read_peaks(map, presence, out);
  check_gpu(out, field);
  return map;
}

}  // namespace orch::hardware
