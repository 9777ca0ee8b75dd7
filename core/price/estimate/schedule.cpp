#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/base/units.h"
#include "core/plan/model.h"
#include "core/plan/stack.h"
#include "core/price/estimate/estimate.h"
#include "core/price/estimate/fit.h"
#include "core/price/estimate/goodput.h"

namespace orch::estimate {
namespace {

using plan::Estimate;
using plan::Phase;
using plan::Run;
using plan::TrainingStretch;

// The cost of a step in one layout: seconds per micro-batch, and the rest.
struct StepCost {
  double micro_seconds = 0;
  double fixed_seconds = 0;
};

// Appends stretch after stretch until the samples are used up.
class StretchLayout {
 public:
  StretchLayout(const Run& run, const Estimate& estimate)
      : run_(run),
        left_(run.samples()),
        flops_per_sample_(estimate.tflops_per_gpu * 1e12 * static_cast<double>(run.gpus) *
                          estimate.step_seconds / static_cast<double>(run.batch.global_batch)) {}

  void begin(std::int64_t global_batch, const Phase& phase) {
    TrainingStretch made;
    made.first_batch = global_batch;
    made.data_parallel = phase.data_parallel;
    made.nodes = phase.nodes;
    made.gpus = phase.data_parallel * run_.layout.copy();
    stretches_.push_back(made);
  }

  void train(std::int64_t global_batch, double samples, const StepCost& cost) {
    samples = std::min(samples, left_);
    if (samples <= 0) return;
    left_ -= samples;
    auto& stretch = stretches_.back();
    const auto batch = static_cast<double>(global_batch);
    const double micro_batches =
        batch / static_cast<double>(run_.batch.micro_batch * stretch.data_parallel);
    const double step = micro_batches * cost.micro_seconds + cost.fixed_seconds;
    if (stretch.samples == 0) stretch.first_step_seconds = step;
    stretch.last_batch = global_batch;
    stretch.last_step_seconds = step;
    stretch.samples += samples;
    stretch.seconds += samples / batch * step;
  }

  std::vector<TrainingStretch> finish() {
    std::erase_if(stretches_, [](const TrainingStretch& stretch) { return stretch.samples == 0; });
    for (auto& stretch : stretches_) {
      const double gpu_seconds = stretch.seconds * static_cast<double>(stretch.gpus);
      stretch.tokens = stretch.samples * static_cast<double>(run_.model.seq);
      const auto held = static_cast<double>(stretch.gpus + run_.spare_gpus());
      stretch.gpu_hours = stretch.seconds * held / 3600;
      stretch.tflops_per_gpu = flops_per_sample_ * stretch.samples / gpu_seconds / 1e12;
    }
    return std::move(stretches_);
  }

  double left() const { return left_; }

 private:
  const Run& run_;
  double left_;  // samples
  double flops_per_sample_;
  std::vector<TrainingStretch> stretches_;
};

// A phase of the ramp-up may need more memory than the full run, because fewer ranks share its
// states.
void judge_phase(const Run& part, const Phase& phase, const Estimate& priced, Estimate& out) {
  if (priced.fit <= out.fit) return;
  out.fit = priced.fit;
  out.fit_reason =
      fmt::format("{}, for batches of {} to {} on {} node{}", fit_reason(*part.partition, priced),
                  phase.first_batch, phase.last_batch, phase.nodes, phase.nodes == 1 ? "" : "s");
}

StepCost step_cost(const Run& run, const Estimate& estimate) {
  const double all = static_cast<double>(run.batch.accumulate) * estimate.micro_seconds;
  return {estimate.micro_seconds, estimate.step_seconds - all};
}

// The whole training as stretches: the ramp-up cut where the number of nodes changes, then the full
// batch. Each phase has its own costs; the estimate is the full batch's.
std::vector<TrainingStretch> lay_out(const Run& run, std::span<const Phase> phases,
                                     std::span<const StepCost> costs, const Estimate& estimate) {
  StretchLayout layer(run, estimate);
  std::size_t at = 0;
  std::size_t begun = phases.size();  // none yet
  for (const auto& step : plan::ramp_steps(run.batch)) {
    while (step.global_batch > phases[at].last_batch) ++at;
    if (begun != at) layer.begin(step.global_batch, phases[at]);
    begun = at;
    layer.train(step.global_batch, step.samples, costs[at]);
  }
  layer.begin(run.batch.global_batch, phases.back());
  layer.train(run.batch.global_batch, layer.left(), costs.back());
  return layer.finish();
}

// Days and GPU-hours are the sums over the stretches.
void add_up(std::span<const TrainingStretch> stretches, Estimate& out) {
  out.days_to_train = out.gpu_hours = 0;
  for (const auto& stretch : stretches) {
    out.days_to_train += stretch.seconds / kDay;
    out.gpu_hours += stretch.gpu_hours;
  }
}

void train_ramp(const Run& run, Estimate& out) {
  const auto phases = plan::phases(run);
  const std::vector<StepCost> costs(phases.size(), step_cost(run, out));
  add_up(lay_out(run, phases, costs, out), out);
}

}  // namespace

void derive_rates(const Run& run, bool recompute, Estimate& out) {
  const double tokens = run.tokens_per_step();
  const double gpus = static_cast<double>(run.gpus);
  const double gpu_flops = gpus * 1e12 * out.step_seconds;
  const double batch = static_cast<double>(run.batch.global_batch);
  out.tflops_per_gpu = plan::megatron_flops(run.model, batch, recompute) / gpu_flops;
  out.tflops_per_gpu_simple =
      plan::simple_flops(run.model.active_params(), tokens, recompute) / gpu_flops;
  out.mfu = plan::megatron_flops(run.model, batch, false) / gpu_flops * 1e12 /
            run.partition->gpu.peak(run.dtype()).value;
  out.tokens_per_second = tokens / out.step_seconds;
  out.days_per_100b_tokens = 1e11 / tokens * out.step_seconds / kDay;
  if (run.batch.rampup) return train_ramp(run, out);
  // The same arithmetic as in lay_out, to the last bit, so that searches and plans agree.
  const double seconds = run.samples() / batch * out.step_seconds;
  out.days_to_train = seconds / kDay;
  out.gpu_hours = seconds * (gpus + static_cast<double>(run.spare_gpus())) / 3600;
}

// Where rows of other software are nearer than those of the stack used, the range includes both.
Status Estimator::add_others(const Run& run, const AskWork& ask, Estimate& out) {
  out.others.clear();
  const auto* chosen = plan::nearest_stack(run, place_.stacks);
  const auto found =
      chosen ? plan::witnesses(run, *chosen) : std::vector<plan::OtherMeasuredStack>();
  if (found.empty()) return {};
  if (auto status = ask(run, part_); !status) return status;
  for (const auto& witness : found) {
    const auto& there = *witness.on->partition;
    auto other = estimate(run, part_, there);
    add_remarks(run, there, unseen_, other);
    out.others.push_back({witness.on->stack->name, witness.here, other.step_seconds});
    if (!witness.nearer) continue;
    out.step_low = std::min(out.step_low, other.step_low);
    out.step_high = std::max(out.step_high, other.step_high);
  }
  return {};
}

Status Estimator::schedule(const Run& run, const AskWork& ask, Estimate& out) {
  const auto phases = plan::phases(run);
  const auto full = step_cost(run, out);
  const auto& at = place_of(run);
  out.fit_reason = fit_reason(at, out);
  add_remarks(run, at, unseen_, out);
  if (auto status = add_others(run, ask, out); !status) return status;
  std::vector<StepCost> costs;
  for (const auto& phase : phases) {
    if (phase.data_parallel == run.layout.data_parallel) {
      costs.push_back(full);
      continue;
    }
    const auto part = plan::run_in(run, phase);
    if (auto status = ask(part, part_); !status) return status;
    const auto priced = estimate(part, part_, at);  // with the stack of the whole run
    costs.push_back(step_cost(part, priced));
    judge_phase(part, phase, priced, out);
  }
  out.schedule = lay_out(run, phases, costs, out);
  add_up(out.schedule, out);
  add_failures(run, out);
  return {};
}

}  // namespace orch::estimate
