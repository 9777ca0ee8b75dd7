#include "core/plan/nearness.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace orch::plan {
namespace {

// What each doubling beyond the measured rows adds to the spread. Assumed: no fit has determined
// these yet.
constexpr double kPerOctaveOfGpus = 0.06;
constexpr double kPerOctaveOfParams = 0.03;
constexpr double kPerOctaveOfTokens = 0.04;
// For fewer micro-batches in a step than any row had: the end of the step is a larger share of it,
// which those rows hardly show. Assumed, as for GPUs.
constexpr double kPerOctaveOfMicroBatches = 0.06;
// For the number of nodes that a tensor-parallel group spans: nanotron's rows with 2 and 4 nodes
// were off by 0.6 and 1.2 when no such row was in the fit, those inside a node by 0.3.
constexpr double kPerOctaveOfTensor = 0.3;

double tokens_of(const Run& run) {
  return static_cast<double>(run.batch.micro_batch * run.model.seq) /
         static_cast<double>(run.layout.context_parallel);
}

// Rows without this field count as inside one node, as nearly all are.
double beyond_tensor(double nodes, const SeenRanges* machine, const SeenRanges* stack) {
  double known = 1;
  for (const auto* seen : {machine, stack})
    if (seen) known = std::max(known, seen->tensor_nodes.high);
  return std::max(1.0, nodes / known);
}

// The end of a step depends on the machine, so its rows count first.
double below(const SeenRanges* seen, double micro_batches) {
  return seen ? std::max(1.0, seen->micro_batches.low / micro_batches) : 1;
}

double squared_octaves(double weight, double times) {
  return times == 1 ? 0 : weight * weight * std::log2(times) * std::log2(times);
}

}  // namespace

double times_beyond(const SeenRanges::Span& span, double value) {
  if (span.high == 0 || value <= 0) return 1;
  return std::max({1.0, value / span.high, span.low / value});
}

double Distance::doubt() const {
  return std::sqrt(
      squared_octaves(kPerOctaveOfGpus, gpus) + squared_octaves(kPerOctaveOfParams, params) +
      squared_octaves(kPerOctaveOfTokens, tokens) + squared_octaves(kPerOctaveOfTensor, tensor) +
      squared_octaves(kPerOctaveOfMicroBatches, micro_batches));
}

Distance distance_of(const Run& run, const Partition& at, const SeenRanges* machine,
                     const SeenRanges* stack) {
  const auto least = [&](SeenRanges::Span SeenRanges::*span, double value) {
    const double there = machine ? times_beyond(machine->*span, value) : 0;
    const double of_stack = stack ? times_beyond(stack->*span, value) : 0;
    if (there == 0 || of_stack == 0) return std::max({1.0, there, of_stack});
    return std::min(there, of_stack);
  };
  return {least(&SeenRanges::gpus, static_cast<double>(run.gpus)),
          least(&SeenRanges::params, run.model.params()),
          least(&SeenRanges::tokens, tokens_of(run)),
          beyond_tensor(tensor_nodes(run, at), machine, stack),
          below(machine ? machine : stack, static_cast<double>(run.batch.accumulate))};
}

bool is_unseen(const Run& run, const SeenRanges& seen, const std::string& setting) {
  const auto found = seen.settings.find(setting);
  if (found == seen.settings.end()) return false;
  const auto& value = run.setting(setting);
  return is_given(value) && !contains(found->second, plain(value));
}

double tensor_nodes(const Run& run, const Partition& on) {
  const auto per_node = static_cast<double>(std::max<std::int64_t>(1, on.domain()));
  return std::max(1.0, static_cast<double>(run.layout.tensor_parallel) / per_node);
}

}  // namespace orch::plan
