#include "core/show/tables/compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orch::tables {
namespace {

using NamePairs = std::vector<std::pair<std::string_view, std::string_view>>;

// From the estimate's names to the trainer's. A trainer adds to gradients within the products, and
// cannot separate launch costs from other times.
const NamePairs kTime{{"attention scores", "attention"},
                      {"attention context", "attention"},
                      {"scores forward", "attention"},
                      {"scores backward", "attention"},
                      {"norms, dropout, GELU forward", "norms, dropout, GELU"},
                      {"norms, dropout, GELU backward", "norms, dropout, GELU"},
                      {"embedding forward", "embedding"},
                      {"embedding backward", "embedding"},
                      {"uncompressed gradient all-reduce", "gradient all-reduce"},
                      {"PowerSGD factors all-reduce", "gradient all-reduce"},
                      {"PowerSGD products", "gradient all-reduce"},
                      {"PowerSGD passes", "gradient all-reduce"},
                      {"gradient casts", "gradient all-reduce"},
                      {"gradient accumulation", "other"},
                      {"updated weight all-gather", "weight all-gather"},
                      {"gradients to host", "optimizer"},
                      {"optimizer on the host", "optimizer"},
                      {"updated weights to device", "optimizer"},
                      {"layer overhead", "other"},
                      {"fixed cost of a step", "other"}};

const NamePairs kMemory{{"recomputed layer", "activations"},
                        {"layer in backward", "activations"},
                        {"fp32 gradient accumulation", "gradients"},
                        {"fp32 gradients of the shard", "gradients"}};

// "layer: QKV" and "end of step: layer: optimizer": the operation is the last part.
std::string_view operation(std::string_view name) {
  const auto colon = name.rfind(": ");
  return colon == std::string_view::npos ? name : name.substr(colon + 2);
}

// "weights: layers": the kind is the first part.
std::string_view kind_of_memory(std::string_view name) { return name.substr(0, name.find(": ")); }

using Items = std::vector<plan::EstimateItem>;

bool has(const Items& items, std::string_view name) {
  return std::any_of(items.begin(), items.end(),
                     [&](const auto& item) { return item.name == name; });
}

std::string target(std::string_view own, const NamePairs& names, const Items& measured) {
  if (has(measured, own)) return std::string(own);
  for (const auto& [estimated, trainer] : names)
    if (own == estimated && has(measured, trainer)) return std::string(trainer);
  return std::string(own);
}

constexpr const char* kHostPeak = "peak on the host";

bool is_on_host(std::string_view item) { return item.ends_with(" on the host"); }

Compared& find_or_add(std::vector<Compared>& items, const std::string& name) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
  if (found != items.end()) return *found;
  return items.emplace_back(Compared{name, std::nullopt, std::nullopt});
}

void add(std::optional<double>& sum, const std::optional<double>& more) {
  if (more) sum = sum.value_or(0) + *more;
}

ComparisonTables beside(const Items& estimated, const Items& measured, const NamePairs& names,
                        std::string_view (*own)(std::string_view)) {
  ComparisonTables out;
  for (const auto& item : estimated) {
    auto& row = find_or_add(out.items, target(own(item.name), names, measured));
    add(row.estimated, item.amount);
    if (std::find(row.parts.begin(), row.parts.end(), item.name) == row.parts.end())
      row.parts.push_back(item.name);
  }
  for (const auto& item : measured) find_or_add(out.items, item.name).measured = item.amount;
  out.sum.name = "sum of the items";
  for (const auto& item : out.items) {
    add(out.sum.measured, item.measured);
    add(out.sum.estimated, item.estimated);
  }
  return out;
}

std::optional<double> if_any(double amount) {
  return amount > 0 ? std::optional(amount) : std::nullopt;
}

show::Cell cell(const std::optional<double>& amount, bool bytes) {
  if (!amount) return {};  // missing values are mentioned beside the name
  return {show::Value(*amount), bytes ? group_digits(*amount) : fmt::format("{:.4f}", *amount)};
}

}  // namespace

show::Table compared_table(std::string name, std::string title, ComparisonTables comparison,
                           bool bytes) {
  auto items = std::move(comparison.items);
  items.push_back(std::move(comparison.sum));
  items.push_back(std::move(comparison.total));
  show::Columns<Compared> columns(std::move(items));
  columns.add("measured", "measured", 0,
              [bytes](const Compared& item) { return cell(item.measured, bytes); });
  columns.add("estimated", "estimated", 0,
              [bytes](const Compared& item) { return cell(item.estimated, bytes); });
  columns.add("error_percent", "error", 0, [](const Compared& item) -> show::Cell {
    return {item.error() ? show::Value(*item.error()) : show::Value(), item.error_text()};
  });
  columns.add("name", "item", 0, [](const Compared& item) -> show::Cell {
    return {show::Value(item.name), item.name + (item.measured ? "" : " (not measured)") +
                                        (item.estimated ? "" : " (not estimated)")};
  });
  columns.add("parts", [](const Compared& item) { return join(item.parts, "; "); });
  return columns.table(std::move(name), std::move(title));
}

std::optional<double> Compared::error() const {
  if (!measured || !estimated || !(*measured > 0)) return std::nullopt;
  return 100 * (*estimated / *measured - 1);
}

std::string Compared::error_text() const {
  const auto percent = error();
  return percent ? fmt::format("{:+.1f} %", *percent) : "";
}

std::string stages_text(std::int64_t first, std::int64_t last) {
  return first == last ? std::to_string(first) : fmt::format("{} to {}", first, last);
}

const plan::StageMemory& fullest_stage(const plan::Estimate& estimate) {
  return *std::find_if(estimate.memory.begin(), estimate.memory.end(), [&](const auto& stage) {
    return estimate.peak_stage >= stage.first_stage && estimate.peak_stage <= stage.last_stage;
  });
}

ComparisonTables compare_time(const plan::Estimate& estimate, const record::Measurement& measured) {
  auto out = beside(estimate.time, measured.time_items, kTime, operation);
  const auto& step = measured.step_seconds;
  out.total = {"one step", step ? std::optional(step->value) : std::nullopt, estimate.step_seconds};
  return out;
}

// Trainers mark items in host memory; where the device is the host, the estimate lists them with
// the others.
ComparisonTables compare_memory(const plan::Estimate& estimate,
                                const record::Measurement& measured) {
  const auto& stage = fullest_stage(estimate);
  auto items = measured.memory_items;
  std::erase_if(items, [&](const auto& item) {
    return item.name == kHostPeak || (!stage.host.empty() && is_on_host(item.name));
  });
  auto out = beside(stage.items, items, kMemory, kind_of_memory);
  out.total = {"peak", measured.peak_memory_bytes, estimate.peak_memory};
  return out;
}

ComparisonTables compare_host_memory(const plan::Estimate& estimate,
                                     const record::Measurement& measured) {
  const auto& stage = fullest_stage(estimate);
  if (stage.host.empty()) return {};
  auto items = measured.memory_items;
  double peak = 0;
  std::erase_if(items, [&](const auto& item) {
    if (item.name == kHostPeak) peak = item.amount;
    return item.name == kHostPeak || !is_on_host(item.name);
  });
  auto out = beside(stage.host, items, kMemory, kind_of_memory);
  out.total = {"peak of the process", if_any(peak), out.sum.estimated};
  return out;
}

}  // namespace orch::tables
