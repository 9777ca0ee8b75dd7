#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/plan/cluster.h"
#include "core/plan/hardware/yaml.h"

namespace orch::hardware {

// The kind of quantity of a constant, and bounds outside of which it must be a mistake.
struct ConstantKind {
  Unit unit;
  double min;
  double max;
  std::string_view what;     // "an amount of memory"
  std::string_view bounds;   // "1 MB to 100 TB"
  std::string_view example;  // "80 GiB"
  std::string_view units;    // "B, kB, …"
};

extern const ConstantKind kMemory;
extern const ConstantKind kSmallMemory;  // may be zero
extern const ConstantKind kBandwidth;
extern const ConstantKind kFlops;
extern const ConstantKind kLatency;
extern const ConstantKind kOverhead;  // may be zero
extern const ConstantKind kShare;
extern const ConstantKind kShareOrZero;
extern const ConstantKind kFactor;
extern const ConstantKind kSpread;
extern const ConstantKind kPrice;  // with a currency

// A key and the member that stores its { value, origin }.
template <class T>
struct ConstantField {
  std::string_view key;
  plan::Constant T::*member;
  const ConstantKind* kind;
  bool required = true;
};

extern const std::array<ConstantField<plan::Gpu>, 7> kGpuFields;  // without its peaks
extern const std::array<ConstantField<plan::Link>, 3> kLinkFields;
extern const std::array<ConstantField<plan::Efficiency>, 21> kEfficiencyFields;
extern const std::array<ConstantField<plan::Partition>, 2> kHostFields;
extern const std::array<ConstantField<plan::SiteOperation>, 13>
    kOperationFields;  // without its prices

void read_constant(const YamlField& field, const ConstantKind& kind, plan::Constant& out);
std::string constant_example(const ConstantKind& kind);  // "{ value: 80 GiB, origin: … }"

enum class Presence { as_required, all_optional };

template <class T, std::size_t N>
void read_constants(const Map& map, const std::array<ConstantField<T>, N>& fields,
                    Presence presence, T& out) {
  for (const auto& [key, member, kind, required] : fields) {
    const bool must = required && presence == Presence::as_required;
    const auto* field = must ? map.require(key, constant_example(*kind)) : map.find(key);
    if (field) read_constant(*field, *kind, out.*member);
  }
}

template <class T, std::size_t N>
std::vector<std::string> keys(const std::array<ConstantField<T>, N>& fields) {
  std::vector<std::string> names;
  for (const auto& field : fields) names.emplace_back(field.key);
  return names;
}

// Reads a GPU's own constants and its table of peaks by number format. Other keys belong to the
// caller, for which the map is returned.
Map read_gpu_constants(const YamlField& field, const std::vector<std::string>& others,
                       Presence presence, plan::Gpu& out);

// Reads the `fitted` constants of a partition, after its other fields: corrections from measured
// rows of any software. Without them, a calibration inherited through `like` stays, and its
// constants override the fields too.
void read_calibration(const YamlField* field, plan::Partition& partition);

// The `operation` of a partition, or of all partitions of a cluster: what is given has an origin.
plan::SiteOperation read_operation(const YamlField& field);
// Replaces what is given. A price or a failure rate replaces the other form of it, too.
void override_operation(const plan::SiteOperation& given, plan::SiteOperation& out);

// Reads a partition's SLURM options over those already set.
void read_slurm(const YamlField& field, plan::SlurmSettings& slurm);

// { rows: 99, gpus: [8, 384], params: [1e9, 2e11], tokens: [2048, 16384], settings: { … } }
plan::SeenRanges read_seen(const YamlField& field);

}  // namespace orch::hardware
