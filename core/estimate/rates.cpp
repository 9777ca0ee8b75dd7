#include <algorithm>

#include "core/base/units.h"
#include "core/estimate/estimate.h"
#include "core/plan/model.h"

namespace orch::estimate {
namespace {

struct Training {
  double seconds = 0;
  double gpu_seconds = 0;
};

// Each batch of the ramp-up at its own number of micro-batches and ranks; then the full batch.
Training train(const plan::Run& run, double micro_seconds, double fixed_seconds) {
  const double per_copy =
      static_cast<double>(run.layout.tensor_parallel * run.layout.pipeline_parallel);
  Training total;
  double left = run.samples();
  const auto spend = [&](double global_batch, double samples, double ranks) {
    samples = std::min(samples, left);
    left -= samples;
    const double micro_batches =
        global_batch / (static_cast<double>(run.batch.micro_batch) * ranks);
    const double seconds = samples / global_batch * (micro_batches * micro_seconds + fixed_seconds);
    total.seconds += seconds;
    total.gpu_seconds += seconds * ranks * per_copy;
  };
  if (run.batch.rampup) {
    const auto stretches = plan::phases(run);
    auto phase = stretches.begin();
    for (const auto& step : plan::ramp_steps(run.batch)) {
      while (step.global_batch > phase->last_batch) ++phase;
      spend(static_cast<double>(step.global_batch), step.samples,
            static_cast<double>(phase->data_parallel));
    }
  }
  spend(static_cast<double>(run.batch.global_batch), left,
        static_cast<double>(run.layout.data_parallel));
  return total;
}

}  // namespace

void derive_rates(const plan::Run& run, bool recompute, double fixed_seconds, plan::Estimate& out) {
  const double tokens = run.tokens_per_step();
  const double gpu_flops = static_cast<double>(run.gpus) * 1e12 * out.step_seconds;
  const double batch = static_cast<double>(run.batch.global_batch);
  out.tflops_per_gpu = plan::megatron_flops(run.model, batch, recompute) / gpu_flops;
  out.tflops_per_gpu_simple = plan::simple_flops(run.model.params(), tokens, recompute) / gpu_flops;
  out.mfu = plan::megatron_flops(run.model, batch, false) / gpu_flops * 1e12 /
            run.partition->gpu.peak(run.dtype()).value;
  out.tokens_per_second = tokens / out.step_seconds;
  out.days_per_100b_tokens = 1e11 / tokens * out.step_seconds / kDay;
  const auto training = train(run, out.micro_seconds, fixed_seconds);
  out.days_to_train = training.seconds / kDay;
  out.gpu_hours = training.gpu_seconds / 3600;
}

}  // namespace orch::estimate
