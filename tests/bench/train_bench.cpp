// The optimizer's pass compared with LibTorch's and with a plain stream over the same buffers.
// Machines are noisy: the compared functions alternate, and the median of the ratios counts.

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "backends/runtime/model/profile.h"
#include "backends/runtime/step/optimizer.h"

namespace {

using namespace orch::train;

constexpr std::int64_t kSide = 7072;  // squared: 50M parameters
constexpr int kTurns = 9;

double seconds(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Reads four buffers and writes three, as AdamW does, with hardly any arithmetic.
void stream(const at::Tensor& w, const at::Tensor& m, const at::Tensor& v, const at::Tensor& g) {
  auto *pw = w.data_ptr<float>(), *pm = m.data_ptr<float>(), *pv = v.data_ptr<float>();
  const auto* pg = g.data_ptr<float>();
  at::parallel_for(0, w.numel(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    auto* __restrict__ a = pw, * __restrict__ b = pm, * __restrict__ c = pv;
    const auto* __restrict__ d = pg;
    for (auto i = begin; i < end; ++i) {
      a[i] += d[i];
      b[i] += d[i];
      c[i] += d[i];
    }
  });
}

void adamw(benchmark::State& state) {
  Parameters parameters({{"matrix", {kSide, kSide}, -1, WeightInit::zeros, true}}, {});
  parameters.weights().fill_(0.5);
  parameters.gradients().fill_(0.01);
  const auto ours = make_optimizer("adamw", parameters, {});
  const auto states = ours->states();

  auto weight = parameters[0].weight.clone().set_requires_grad(true);
  weight.mutable_grad() = parameters[0].gradient.clone();
  torch::optim::AdamW theirs({weight}, torch::optim::AdamWOptions(1e-4).weight_decay(0.1));

  std::vector<double> fused, reference, streamed, ratios;
  for (auto _ : state) {
    for (std::int64_t turn = 0; turn <= kTurns; ++turn) {
      const double one = seconds([&] { ours->step(1e-4, 1, turn + 1); });
      const double two = seconds([&] { theirs.step(); });
      const double three = seconds([&] {
        stream(parameters.weights(), states[0].tensor, states[1].tensor, parameters.gradients());
      });
      if (turn == 0) continue;  // the first pass touches memory
      fused.push_back(one);
      reference.push_back(two);
      streamed.push_back(three);
      ratios.push_back(two / one);
    }
  }
  const double bytes = 28.0 * kSide * kSide;  // four fp32 numbers read, three written
  state.counters["adamw_ms"] = 1e3 * median(fused);
  state.counters["torch_ms"] = 1e3 * median(reference);
  state.counters["ratio"] = median(ratios);
  state.counters["adamw_GB/s"] = bytes / median(fused) / 1e9;
  state.counters["stream_GB/s"] = bytes / median(streamed) / 1e9;
}

void adamw_bf16(benchmark::State& state) {
  Parameters parameters({{"matrix", {kSide, kSide}, -1, WeightInit::zeros, true}},
                        {at::kBFloat16, state.range(0) != 0, at::kCPU});
  parameters.gradients().fill_(0.01);
  const auto optimizer = make_optimizer("adamw", parameters, {});
  std::int64_t step = 0;
  for (auto _ : state) optimizer->step(1e-4, 1, ++step);
  const std::int64_t bytes = state.range(0) != 0 ? 30 : 14;
  state.SetBytesProcessed(state.iterations() * bytes * kSide * kSide);
}

void norm_of_gradients(benchmark::State& state) {
  const auto flat = at::ones({kSide * kSide});
  for (auto _ : state) benchmark::DoNotOptimize(sum_of_squares(flat));
  state.SetBytesProcessed(state.iterations() * 4 * kSide * kSide);
}

void profile_scope(benchmark::State& state) {
  Profile profile(false);
  profile.begin_step(true);
  for (auto _ : state) Profile::Scope scope(&profile, "QKV");
  profile.end_step();
}

BENCHMARK(adamw)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(adamw_bf16)
    ->ArgName("masters")
    ->Arg(1)
    ->Arg(0)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(norm_of_gradients)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(profile_scope);

}  // namespace

BENCHMARK_MAIN();
