// Computes time and memory of a step from the work that a backend describes. Time is built in three
// steps. price_blocks() sums the seconds of each block's operations by phase (forward, backward,
// end of step), with separate sums for open and hidden time. price_stages() adds up the blocks of a
// pipeline stage, and passed() reduces its hidden time to the part that the open time does not
// cover, and adds waits for a host that launches too slowly. add_stages() combines stages: the
// slowest one times the micro-batches, the bubble, the longest end of a step and the fixed cost,
// all scaled for the wait for the slowest node. Memory is the sum of the items on each stage plus
// context and the allocator's slack; the fullest stage counts. Scratch memory is reused, because
// searches and fits call it millions of times.
#include "core/price/estimate/estimate.h"

#include <algorithm>
#include <cmath>

#include "core/plan/stack.h"
#include "core/price/estimate/fit.h"

namespace orch::estimate {

using backend::Work;
using plan::Estimate;
using plan::Run;

void OverlapLanes::add(const OverlapLanes& other, double times) {
  links += times * other.links;
  host += times * other.host;
}

void StepPhases::add(const StepPhases& other, double times) {
  forward_open += times * other.forward_open;
  backward_open += times * other.backward_open;
  step_open += times * other.step_open;
  forward_hidden.add(other.forward_hidden, times);
  backward_hidden.add(other.backward_hidden, times);
  step_hidden.add(other.step_hidden, times);
  late.add(other.late, times);
  late_gathers.add(other.late_gathers, times);
  forward_launches += times * other.forward_launches;
  backward_launches += times * other.backward_launches;
  overheads += times * other.overheads;
  weights += times * other.weights;
  micro_bytes += times * other.micro_bytes;
  step_bytes += times * other.step_bytes;
}

double exposed(const OverlapLanes& hidden, double open, double overlap) {
  return std::max(0.0, hidden.longest() - overlap * open);
}

PassTimes passed(const StepPhases& p, double overlap) {
  const double forward = p.forward_open + exposed(p.forward_hidden, p.forward_open, overlap);
  const double backward = p.backward_open + exposed(p.backward_hidden, p.backward_open, overlap);
  const double forward_waits = std::max(0.0, p.forward_launches - forward);
  const double backward_waits = std::max(0.0, p.backward_launches - backward);
  return {forward + forward_waits, backward + backward_waits, forward_waits, backward_waits};
}

namespace {

const plan::Value& setting_at(const Run& run, int index) {
  static const plan::Value kNone;
  return index < 0 ? kNone : run.settings[static_cast<std::size_t>(index)];
}

}  // namespace

const plan::Partition& Estimator::place_of(const Run& run) {
  auto& place = place_;
  if (place.strategy != run.strategy.get()) {
    place.engine = run.strategy->index("engine");
    place.dtype = run.strategy->index("dtype");
  }
  const auto& engine = setting_at(run, place.engine);
  if (place.partition != run.partition || place.strategy != run.strategy.get() ||
      place.value != engine || place.stack != run.stack || place.trainer != run.trainer) {
    place.partition = run.partition;
    place.strategy = run.strategy.get();
    place.value = engine;
    place.stack = run.stack;
    place.trainer = run.trainer;
    place.stacks = plan::stacks_for(run);
    place.at = nullptr;
  }
  if (!place.at || (place.stacks.size() > 1 && !keeps_place(run))) {
    const auto* found = plan::nearest_stack(run, place.stacks);
    place.at = found ? found->partition.get() : &run.partition->as_measured();
    place.gpus = run.gpus;
    place.params = run.model.params();
    place.format = setting_at(run, place.dtype);
  }
  return *place.at;
}

// True if the nearest stack is the same as for the last run: see farness.
bool Estimator::keeps_place(const Run& run) const {
  return place_.gpus == run.gpus && place_.format == setting_at(run, place_.dtype) &&
         place_.params == run.model.params();
}

void Estimator::price_blocks(const Run& run, const Work& work) {
  const Price price(*at_, run.gpus, work.dtype);
  const double nodes = static_cast<double>(run.gpus) /
                       static_cast<double>(std::max<std::int64_t>(1, at_->gpus_per_node));
  grown_ = 1 + at_->efficiency.straggling.value * std::log2(std::max(1.0, nodes));
  blocks_.assign(work.blocks.size(), {});
  for (std::size_t b = 0; b < work.blocks.size(); ++b) {
    auto& phases = blocks_[b];
    for (std::size_t i = 0; i < work.blocks[b].n_ops; ++i) {
      const auto& op = work.ops[work.blocks[b].first_op + i].data;
      if (op.kind == ORCH_OVERHEAD) {
        phases.forward_launches += op.forward * price.launches(op);
        phases.backward_launches += (op.recompute + op.backward) * price.launches(op);
      }
      const double seconds = price.seconds(op);
      if (op.kind == ORCH_OVERHEAD || op.kind == ORCH_STAGE_OVERHEAD)
        phases.overheads += (op.forward + op.recompute + op.backward) * seconds;
      const bool hidden = op.hidden != ORCH_OPEN;
      (hidden ? phases.forward_hidden.of(op) : phases.forward_open) += op.forward * seconds;
      (hidden ? phases.backward_hidden.of(op) : phases.backward_open) +=
          (op.recompute + op.backward) * seconds;
      (hidden ? phases.end_of(op).of(op) : phases.step_open) += op.step * seconds;
      if (op.kind == ORCH_GEMM)
        phases.weights += op.backward / 2 * seconds;  // the rest is for the input
      if (op.kind != ORCH_COLLECTIVE || op.group_size <= 1) continue;
      phases.micro_bytes += (op.forward + op.recompute + op.backward) * op.bytes;
      phases.step_bytes += op.step * op.bytes;
    }
  }
}

StepPhases Estimator::stage_phases(const Work& work, const backend::Stages& stages) const {
  StepPhases phases;
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    phases.add(blocks_[b], work.counts[stages.first_count + b]);
  return phases;
}

void Estimator::price_stages(const Work& work) {
  const double overlap = at_->efficiency.overlap.value;
  stages_.clear();
  slowest_ = last_to_end_ = 0;
  for (const auto& stages : work.stage_list) {
    const auto p = stage_phases(work, stages);
    Stage stage;
    const auto passes = passed(p, overlap);
    stage.micro = passes.forward + passes.backward;
    stage.fixed = p.overheads + passes.forward_waits + passes.backward_waits;
    stage.weights = p.weights;
    stage.end = p.step_open + exposed(p.step_hidden, p.backward_open, overlap) +
                exposed(p.late, p.forward_open, 1) +
                exposed(p.late_gathers, p.forward_open, overlap);
    stage.bytes = static_cast<double>(work.micro_batches) * p.micro_bytes + p.step_bytes;
    stage.count = static_cast<double>(stages.last - stages.first + 1);
    stages_.push_back(stage);
    if (stage.micro > stages_[slowest_].micro) slowest_ = stages_.size() - 1;
    if (stage.end > stages_[last_to_end_].end) last_to_end_ = stages_.size() - 1;
  }
}

// 1F1B: the slowest stage determines the rate; filling and draining the pipe passes every stage
// once, and interleaved chunks shorten that (Narayanan et al. 2021). Where weight gradients fill
// bubbles, a stage is idle for F + B - W instead of F + B + W (Qi et al. 2023, ZB-H1).
void Estimator::add_stages(const Work& work, Estimate& out) {
  once_through_ = 0;
  const auto idle = [&](const Stage& stage) {
    return work.filled ? std::max(0.0, stage.micro - 2 * stage.weights) : stage.micro;
  };
  double all_idle = 0;
  for (const auto& stage : stages_) {
    once_through_ += stage.count * stage.micro;
    all_idle += stage.count * idle(stage);
    out.communicated = std::max(out.communicated, stage.bytes);
  }
  const double beat = stages_[slowest_].micro;
  bubble_ = (all_idle - idle(stages_[slowest_])) / static_cast<double>(work.chunks);
  const double fixed = bubble_ + stages_[last_to_end_].end + at_->efficiency.step_overhead.value;
  out.micro_seconds = grown_ * beat;
  out.step_seconds = grown_ * (static_cast<double>(work.micro_batches) * beat + fixed);
}

void Estimator::total_time(const Run& run, const Work& work, Estimate& out) {
  add_stages(work, out);
  const double mean = once_through_ / static_cast<double>(work.stages);
  const double beat = stages_[slowest_].micro;
  const double idle_seconds = bubble_ + static_cast<double>(work.micro_batches) * (beat - mean);
  out.bubble = grown_ * idle_seconds / out.step_seconds;
  if (beat > 0) out.fixed_share = stages_[slowest_].fixed / beat;
  derive_rates(run, work.recompute == ORCH_RECOMPUTE_FULL, out);
}

double Estimator::step_seconds(const Run& run, const Work& work, const plan::Partition& at) {
  at_ = &at;
  Estimate out;
  price_blocks(run, work);
  price_stages(work);
  add_stages(work, out);
  return out.step_seconds;
}

void Estimator::total_memory(const Run& run, const Work& work, Estimate& out) {
  const auto n = static_cast<std::size_t>(work.stages);
  device_.assign(n, 0);
  settled_.assign(n, 0);
  host_.assign(n, 0);
  communicators_.assign(n, 0);
  const auto& partition = *at_;
  for (const auto& item : work.memory) {
    const double bytes = bytes_of(item, partition);
    const auto add_to = [&](std::vector<double>& stages) {
      for (auto stage = item.first; stage <= item.last; ++stage)
        stages[static_cast<std::size_t>(stage)] += bytes;
    };
    add_to(is_on_host(item, partition) ? host_ : device_);
    if (item.place == ORCH_COMMUNICATORS) add_to(communicators_);
    if (item.place == ORCH_SETTLED) add_to(settled_);
  }

  const auto peak = std::max_element(device_.begin(), device_.end());
  out.peak_stage = peak - device_.begin();
  const auto in_all = [&](std::size_t stage) {
    return device_[stage] + partition.gpu.context_memory.value +
           allocator_slack(partition, device_[stage], settled_[stage]);
  };
  out.peak_memory = in_all(static_cast<std::size_t>(out.peak_stage));
  out.first_stage_memory = in_all(0);
  out.allocated_memory = 0;
  for (std::size_t stage = 0; stage < n; ++stage)
    out.allocated_memory = std::max(out.allocated_memory, device_[stage] - communicators_[stage]);
  out.usable_memory = partition.gpu.usable_memory.value;
  out.host_memory = *std::max_element(host_.begin(), host_.end()) *
                    static_cast<double>(std::min(partition.gpus_per_node, run.gpus));
}

Estimate Estimator::estimate(const Run& run, const Work& work) {
  return estimate(run, work, place_of(run));
}

void Estimator::memory(const Run& run, const Work& work, Estimate& out) {
  at_ = &place_of(run);
  total_memory(run, work, out);
  out.fit = judge_fit(*at_, out);
}

Estimate Estimator::estimate(const Run& run, const Work& work, const plan::Partition& at) {
  at_ = &at;
  Estimate out;
  price_blocks(run, work);
  price_stages(work);
  total_time(run, work, out);
  total_memory(run, work, out);
  add_ranges(run, at, out);
  out.fit = judge_fit(at, out);
  return out;
}

Estimate Estimator::explain(const Run& run, const Work& work) {
  return explain(run, work, place_of(run));
}

Estimate Estimator::explain(const Run& run, const Work& work, const plan::Partition& at) {
  Estimate out = estimate(run, work, at);
  UnseenSettings unseen;  // for any partition
  add_remarks(run, at, unseen, out);
  out.fit_reason = fit_reason(*at_, out);
  explain_time(run, work, out);
  if (work.explained == backend::WorkTexts::formulas) explain_memory(work, out);
  return out;
}

}  // namespace orch::estimate
