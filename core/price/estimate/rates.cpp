#include "core/base/units.h"
#include "core/price/estimate/estimate.h"
#include "core/price/estimate/schedule.h"
#include "core/plan/model.h"

namespace orch::estimate {
namespace {

void train_ramp(const plan::Run& run, plan::Estimate& out) {
  const auto phases = plan::phases(run);
  const std::vector<StepCost> costs(phases.size(), step_cost(run, out));
  add_up(lay_out(run, phases, costs, out), out);
}

}  // namespace

void derive_rates(const plan::Run& run, bool recompute, plan::Estimate& out) {
  const double tokens = run.tokens_per_step();
  const double gpus = static_cast<double>(run.gpus);
  const double gpu_flops = gpus * 1e12 * out.step_seconds;
  const double batch = static_cast<double>(run.batch.global_batch);
  out.tflops_per_gpu = plan::megatron_flops(run.model, batch, recompute) / gpu_flops;
  out.tflops_per_gpu_simple = plan::simple_flops(run.model.active_params(), tokens, recompute) / gpu_flops;
  out.mfu = plan::megatron_flops(run.model, batch, false) / gpu_flops * 1e12 /
            run.partition->gpu.peak(run.dtype()).value;
  out.tokens_per_second = tokens / out.step_seconds;
  out.days_per_100b_tokens = 1e11 / tokens * out.step_seconds / kDay;
  if (run.batch.rampup) return train_ramp(run, out);
  // As lay_out adds it up, to the last bit: searches and plans agree.
  const double seconds = run.samples() / batch * out.step_seconds;
  out.days_to_train = seconds / kDay;
  out.gpu_hours = seconds * (gpus + static_cast<double>(run.spare_gpus())) / 3600;
}

}  // namespace orch::estimate
