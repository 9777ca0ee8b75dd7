#include "core/app/stacks_list.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/stack.h"
#include "core/show/tables/report.h"

namespace orch::app {
namespace {

using Json = nlohmann::ordered_json;
using plan::OnStack;

// A stack on a partition with a GPU that its rows ran on: one where they ran, if a cluster file has
// it.
struct Reach {
  std::string machine;
  const OnStack* on = nullptr;
  bool measured = false;  // rows of this very machine
};

using Clusters = std::vector<std::shared_ptr<const plan::Cluster>>;

Result<Clusters> all_clusters(hardware::Catalog& catalog) {
  Clusters out;
  Errors errors;
  for (const auto& name : catalog.names())
    if (auto cluster = catalog.find(name); errors.add(cluster)) out.push_back(*cluster);
  if (!errors.empty()) return errors;
  return out;
}

Reach reach_of(const plan::Stack& stack, const std::string& gpu, const Clusters& clusters) {
  Reach out;
  for (const auto& cluster : clusters)
    for (const auto& partition : cluster->partitions)
      for (const auto& on : partition.stacks) {
        if (partition.gpu.name != gpu || on.stack->name != stack.name || out.measured) continue;
        const bool measured = contains(on.partition->seen.stacks, stack.name);
        if (measured || !out.on) out = {cluster->name + "/" + partition.name, &on, measured};
      }
  return out;
}

double products_of(const Reach& reach) { return reach.on->partition->efficiency.gemm.value; }

std::string span_text(const plan::Seen::Span& span, std::string (*text)(double)) {
  if (span.high == 0) return "";
  return text(span.low) == text(span.high) ? text(span.low)
                                           : text(span.low) + " to " + text(span.high);
}

std::string whole_text(double number) { return group_digits(number); }

// "a100-80g 24 %": of the peak, by large products.
std::string devices_text(const plan::Stack& stack, const Clusters& clusters) {
  std::vector<std::string> out;
  for (const auto& [gpu, sizes] : stack.seen.devices) {
    const auto reach = reach_of(stack, gpu, clusters);
    out.push_back(reach.on ? fmt::format("{} {:.0f} %", gpu, 100 * products_of(reach)) : gpu);
  }
  return join(out, ", ");
}

Json span_json(const plan::Seen::Span& span) {
  return span.high == 0 ? Json() : Json{span.low, span.high};
}

Json stack_json(const plan::Stack& stack, const Clusters& clusters) {
  Json devices = Json::array();
  for (const auto& [gpu, sizes] : stack.seen.devices) {
    Json device{{"gpu", gpu}, {"gpus", span_json(sizes.gpus)}, {"params", span_json(sizes.params)}};
    if (const auto reach = reach_of(stack, gpu, clusters); reach.on) {
      device["machine"] = reach.machine;
      device["measured_there"] = reach.measured;
      device["products"] = products_of(reach);
      device["network"] = reach.on->partition->network.efficiency.value;
    }
    devices.push_back(std::move(device));
  }
  return {{"name", stack.name},
          {"doc", stack.doc},
          {"date", stack.date},
          {"runs", stack.runs},
          {"tuned", stack.tuned},
          {"rows", stack.seen.rows},
          {"gpus", span_json(stack.seen.gpus)},
          {"params", span_json(stack.seen.params)},
          {"settings", stack.seen.settings},
          {"devices", std::move(devices)},
          {"file", stack.file}};
}

}  // namespace

Result<std::string> stacks_text(App& app, const Common& common) {
  const auto stacks = app.clusters().stacks();
  const auto clusters = all_clusters(app.clusters());
  if (!stacks) return stacks.error();
  if (!clusters) return clusters.error();
  show::Rows rows{
      {"stack", "date", "strategies", "rows", "GPUs", "parameters", "on, of peak", "what"}};
  for (const auto& [name, stack] : *stacks)
    rows.push_back({name, stack->date, join(stack->runs, ", "), std::to_string(stack->seen.rows),
                    span_text(stack->seen.gpus, whole_text),
                    span_text(stack->seen.params, format_tokens), devices_text(*stack, *clusters),
                    stack->doc + (stack->tuned ? "" : " (only where it is named)")});
  return "stack = \"name\": the software that a run is priced as, on a strategy or for all; else "
         "the nearest of\n"
         "its strategy. Large products reach that share of a GPU's peak where its rows ran\n" +
         show::grid(rows, common.screen);
}

Result<Json> stacks_json(App& app) {
  const auto stacks = app.clusters().stacks();
  const auto clusters = all_clusters(app.clusters());
  if (!stacks) return stacks.error();
  if (!clusters) return clusters.error();
  Json list = Json::array();
  for (const auto& [name, stack] : *stacks) list.push_back(stack_json(*stack, *clusters));
  return list;
}

}  // namespace orch::app
