#include "core/app/stacks_list.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/stack.h"
#include "core/show/tables/report.h"

namespace orch::app {
namespace {

using plan::StackOnPartition;

// A stack on a partition with a GPU of its rows: on a machine of its rows, if a cluster file has
// it.
struct StackReach {
  std::string machine;
  const StackOnPartition* on = nullptr;
  bool measured = false;  // true: its rows ran on this machine
};

using ClusterList = std::vector<std::shared_ptr<const plan::Cluster>>;

Result<ClusterList> all_clusters(hardware::Catalog& catalog) {
  ClusterList out;
  Errors errors;
  for (const auto& name : catalog.names())
    if (auto cluster = catalog.find(name); errors.add(cluster)) out.push_back(*cluster);
  if (!errors.empty()) return errors;
  return out;
}

StackReach reach_of(const plan::Stack& stack, const std::string& gpu, const ClusterList& clusters) {
  StackReach out;
  for (const auto& cluster : clusters)
    for (const auto& partition : cluster->partitions)
      for (const auto& on : partition.stacks) {
        if (partition.gpu.name != gpu || on.stack->name != stack.name || out.measured) continue;
        const bool measured = contains(on.partition->seen.stacks, stack.name);
        if (measured || !out.on) out = {cluster->name + "/" + partition.name, &on, measured};
      }
  return out;
}

double products_of(const StackReach& reach) { return reach.on->partition->efficiency.gemm.value; }

std::string span_text(const plan::SeenRanges::Span& span, std::string (*text)(double)) {
  return text(span.low) == text(span.high) ? text(span.low)
                                           : text(span.low) + " to " + text(span.high);
}

// Shows the upper limit, with low and high beside it; empty if unknown.
show::Cell span_cell(const plan::SeenRanges::Span& span, std::string (*text)(double)) {
  if (span.high == 0) return {};
  show::Cell out(span.high, span_text(span, text));
  out.low = span.low, out.high = span.high;
  return out;
}

std::string whole_text(double number) { return group_digits(number); }

// "a100-80g 24 %": the share of the peak in large products.
std::string devices_text(const plan::Stack& stack, const ClusterList& clusters) {
  std::vector<std::string> out;
  for (const auto& [gpu, sizes] : stack.seen.devices) {
    const auto reach = reach_of(stack, gpu, clusters);
    out.push_back(reach.on ? fmt::format("{} {:.0f} %", gpu, 100 * products_of(reach)) : gpu);
  }
  return join(out, ", ");
}

using plan::StackPtr;

show::Table stacks_table(const std::vector<StackPtr>& stacks, const ClusterList& clusters) {
  show::Columns<StackPtr> columns(stacks);
  const auto add = [&](const char* name, const char* title, auto read) -> show::Column& {
    return columns.add(name, title, 0, [read](const StackPtr& stack) { return read(*stack); });
  };
  using Stack = plan::Stack;
  add("name", "stack", [](const Stack& s) { return s.name; });
  add("date", "date", [](const Stack& s) { return s.date; });
  add("runs", "strategies", [](const Stack& s) { return join(s.runs, ", "); });
  add("rows", "rows", [](const Stack& s) { return s.seen.rows; });
  add("gpus", "GPUs", [](const Stack& s) { return span_cell(s.seen.gpus, whole_text); }).range =
      "gpus";
  add("params", "parameters", [](const Stack& s) {
    return span_cell(s.seen.params, format_tokens);
  }).range = "params";
  columns.add("", "on, of peak", 0,
              [clusters](const StackPtr& stack) { return devices_text(*stack, clusters); });
  add("tuned", "", [](const Stack& s) { return s.tuned; });
  add("file", "", [](const Stack& s) { return s.file; });
  add("doc", "what", [](const Stack& s) {
    return show::Cell(s.doc, s.doc + (s.tuned ? "" : " (only where it is named)"));
  });
  return columns.table(
      "stacks",
      "stack = \"name\": the software that a run is priced as, on a strategy or for all; else the "
      "nearest of its strategy. Large products reach that share of a GPU's peak where its rows "
      "ran");
}

// A stack on a GPU of its rows.
struct StackOnGpu {
  std::string stack, gpu;
  plan::SeenRanges::Sizes sizes;
  StackReach reach;
};

show::Table devices_table(const std::vector<StackPtr>& stacks, const ClusterList& clusters) {
  std::vector<StackOnGpu> all;
  for (const auto& stack : stacks)
    for (const auto& [gpu, sizes] : stack->seen.devices)
      all.push_back({stack->name, gpu, sizes, reach_of(*stack, gpu, clusters)});
  show::Columns<StackOnGpu> columns(std::move(all));
  columns.add("stack", [](const StackOnGpu& on) { return on.stack; });
  columns.add("gpu", [](const StackOnGpu& on) { return on.gpu; });
  columns
      .add("gpus", "", 0, [](const StackOnGpu& on) { return span_cell(on.sizes.gpus, whole_text); })
      .range = "gpus";
  columns
      .add("params", "", 0,
           [](const StackOnGpu& on) { return span_cell(on.sizes.params, format_tokens); })
      .range = "params";
  const auto add = [&](const char* name, auto read) {
    columns.add(name, [read](const StackOnGpu& on) {
      return on.reach.on ? show::Cell(read(on.reach)) : show::Cell();
    });
  };
  add("machine", [](const StackReach& reach) { return reach.machine; });
  add("measured_there", [](const StackReach& reach) { return reach.measured; });
  add("products", products_of);
  add("network",
      [](const StackReach& reach) { return reach.on->partition->network.efficiency.value; });
  return columns.table("stack_gpus");
}

// The values of a setting in a stack's rows.
struct SeenValues {
  std::string stack, setting, values;
};

show::Table settings_table(const std::vector<StackPtr>& stacks) {
  std::vector<SeenValues> all;
  for (const auto& stack : stacks)
    for (const auto& [name, values] : stack->seen.settings)
      all.push_back({stack->name, name, join(values, ", ")});
  show::Columns<SeenValues> columns(std::move(all));
  columns.add("stack", [](const SeenValues& had) { return had.stack; });
  columns.add("setting", [](const SeenValues& had) { return had.setting; });
  columns.add("values", [](const SeenValues& had) { return had.values; });
  return columns.table("stack_settings");
}

}  // namespace

Status add_stacks(App& app, std::vector<show::Section>& to) {
  const auto known = app.clusters().stacks();
  const auto clusters = all_clusters(app.clusters());
  if (!known) return known.error();
  if (!clusters) return clusters.error();
  std::vector<StackPtr> stacks;
  for (const auto& [name, stack] : *known) stacks.push_back(stack);
  to.push_back(stacks_table(stacks, *clusters));
  to.push_back(devices_table(stacks, *clusters));
  to.push_back(settings_table(stacks));
  return {};
}

}  // namespace orch::app
