#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/base/units.h"
#include "core/price/estimate/estimate.h"
#include "core/price/estimate/fit.h"

namespace orch::estimate {
namespace {

using backend::Work;
using plan::EstimateItem;

// Indexed by ORCH_GEMM, ORCH_ATTENTION, ...
constexpr std::array kKindNames{"gemm", "attention", "memory",   "collective",
                                "copy", "host",      "overhead", "overhead"};

// The visible share of each hidden second: that of the slower lane, which covers the other.
OverlapLanes sticking_out(const OverlapLanes& hidden, double open, double overlap) {
  const double longest = hidden.longest(),
               share = longest > 0 ? exposed(hidden, open, overlap) / longest : 0;
  return hidden.links >= hidden.host ? OverlapLanes{share, 0} : OverlapLanes{0, share};
}

struct ExposedTime {
  OverlapLanes forward, backward;
  StepPhases end;  // visible shares at the end of a step, by what hides it

  ExposedTime(const StepPhases& p, double overlap)
      : forward(sticking_out(p.forward_hidden, p.forward_open, overlap)),
        backward(sticking_out(p.backward_hidden, p.backward_open, overlap)) {
    end.step_hidden = sticking_out(p.step_hidden, p.backward_open, overlap);
    end.late = sticking_out(p.late, p.forward_open, 1);
    end.late_gathers = sticking_out(p.late_gathers, p.forward_open, overlap);
  }

  // The visible number of an operation's passes, and of its executions at the end of a step.
  double passes(const orch_op& op) {
    if (op.hidden == ORCH_OPEN) return op.forward + op.recompute + op.backward;
    return op.forward * forward.of(op) + (op.recompute + op.backward) * backward.of(op);
  }
  double at_end(const orch_op& op) { return op.hidden == ORCH_OPEN ? 1 : end.end_of(op).of(op); }
};

std::string with_rate(const backend::Op& op, const Price& price, double times) {
  return fmt::format("{}{}{}, {} times", op.formula, op.formula.empty() ? "" : ", ",
                     price.rate(op.data), format_number(times));
}

std::string formula_of(const backend::Memory& item, const plan::Partition& partition) {
  if (item.place != ORCH_COMMUNICATORS) return std::string(item.formula);
  const auto& each = partition.gpu.communicator_memory;
  return fmt::format("{} x {}; {}", item.formula, format_bytes(each.value), each.origin);
}

// Calls visit(block, op, count of the block in the stage) for the operations of a stage.
template <class F>
void for_each_op(const Work& work, const backend::Stages& stages, F&& visit) {
  for (std::size_t b = 0; b < work.blocks.size(); ++b) {
    const double count = work.counts[stages.first_count + b];
    if (count == 0) continue;
    for (std::size_t i = 0; i < work.blocks[b].n_ops; ++i)
      visit(work.blocks[b], work.ops[work.blocks[b].first_op + i], count);
  }
}

}  // namespace

// The slowest stage's operations over all micro-batches, the bubble, the end of the step on the
// stage that finishes last, the fixed cost: exactly the terms of total_time.
void Estimator::explain_time(const plan::Run& run, const Work& work, plan::Estimate& out) const {
  const bool formulas = work.explained == backend::WorkTexts::formulas;
  const Price price(*at_, run.gpus, work.dtype);
  const auto& efficiency = at_->efficiency;
  const auto m = static_cast<double>(work.micro_batches);

  const auto& slow = work.stage_list[slowest_];
  ExposedTime sticks_out(stage_phases(work, slow), efficiency.overlap.value);
  for_each_op(work, slow, [&](const backend::Block& block, const backend::Op& op, double count) {
    const auto& d = op.data;
    const double passes = d.forward + d.recompute + d.backward;
    if (passes == 0 || (d.kind == ORCH_OVERHEAD && d.kernel == ORCH_OF_EXPERTS)) return;
    const double shown = sticks_out.passes(d);
    auto formula = formulas ? with_rate(op, price, m * count * passes) : std::string();
    if (d.hidden && formulas)
      formula += fmt::format("; {:.0f} % of it hidden under compute", 100 * (1 - shown / passes));
    out.time.push_back({fmt::format("{}: {}", block.name, op.name), kKindNames.at(d.kind),
                        m * count * shown * price.seconds(d), std::move(formula)});
  });

  const auto passes = passed(stage_phases(work, slow), efficiency.overlap.value);
  if (const double waits = passes.forward_waits + passes.backward_waits; waits > 0)
    out.time.push_back({"waiting for the host", "overhead", m * waits,
                        fmt::format("the host launches a layer's pass in {}{}; {}",
                                    format_seconds(efficiency.host_floor.value),
                                    run.model.mixture()
                                        ? fmt::format(", its experts' in {}",
                                                      format_seconds(efficiency.expert_floor.value))
                                        : "",
                                    efficiency.host_floor.origin)});

  if (work.stages > 1)
    out.time.push_back(
        {"pipeline bubble", "bubble", bubble_,
         fmt::format("(sum over {} stages {} - slowest {}) / interleave {}{}", work.stages,
                     format_seconds(once_through_), format_seconds(stages_[slowest_].micro),
                     work.chunks, work.filled ? "; without twice the gradients of weights" : "")});

  const auto& end = work.stage_list[last_to_end_];
  ExposedTime end_sticks_out(stage_phases(work, end), efficiency.overlap.value);
  for_each_op(work, end, [&](const backend::Block& block, const backend::Op& op, double count) {
    if (op.data.step == 0) return;
    const double share = end_sticks_out.at_end(op.data);
    auto formula = formulas ? with_rate(op, price, count * op.data.step) : std::string();
    if (op.data.hidden && formulas)
      formula += fmt::format("; {:.0f} % of it hidden under the {}", 100 * (1 - share),
                             op.data.hidden == ORCH_HIDDEN ? "last backward" : "next forward");
    out.time.push_back({fmt::format("end of step: {}: {}", block.name, op.name),
                        kKindNames.at(op.data.kind),
                        count * op.data.step * share * price.seconds(op.data), std::move(formula)});
  });
  out.time.push_back({"fixed cost of a step", "overhead", efficiency.step_overhead.value,
                      efficiency.step_overhead.origin});
  if (grown_ > 1)
    out.time.push_back(
        {"waiting for the slowest node", "overhead", (1 - 1 / grown_) * out.step_seconds,
         fmt::format("{:.1f} % for each doubling of the nodes; {}",
                     100 * efficiency.straggling.value, efficiency.straggling.origin)});
}

void Estimator::explain_memory(const Work& work, plan::Estimate& out) const {
  // Stages between two boundaries have the same items.
  std::set<std::int64_t> starts{0};
  for (const auto& item : work.memory) {
    starts.insert(item.first);
    starts.insert(item.last + 1);
  }
  starts.insert(work.stages);
  const auto& partition = *at_;
  for (auto it = starts.begin(); *it < work.stages; ++it) {
    plan::StageMemory stage;
    stage.first_stage = *it;
    stage.last_stage = *std::next(it) - 1;
    double held = 0, settled = 0;
    for (const auto& item : work.memory) {
      if (item.first > *it || item.last < *it) continue;
      const double bytes = bytes_of(item, partition);
      if (is_on_host(item, partition)) {
        stage.host.push_back({std::string(item.name), "host", bytes, formula_of(item, partition)});
        continue;
      }
      held += bytes;
      if (item.place == ORCH_SETTLED) settled += bytes;
      stage.items.push_back({std::string(item.name), "device", bytes, formula_of(item, partition)});
    }
    const double slack = allocator_slack(partition, held, settled), moving = held - settled;
    const auto& share = partition.efficiency.allocator_slack;
    stage.items.push_back(
        {"allocator slack", "device", slack,
         fmt::format("{:.3g} % of {}{}; {}", moving > 0 ? 100 * slack / moving : 0,
                     settled > 0 ? "what comes and goes" : "the above",
                     slack < share.value * moving ? ", squeezed as the device fills up" : "",
                     share.origin)});
    const auto& context = partition.gpu.context_memory;
    stage.items.push_back({"driver context", "device", context.value, context.origin});
    stage.total = held + slack + context.value;
    out.memory.push_back(std::move(stage));
  }
}

}  // namespace orch::estimate
