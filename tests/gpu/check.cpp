// What only a GPU can show, without a test framework, since little is installed where GPUs are:
//   orch_gpu_check           CUDA against the CPU: losses, gradients and optimizer steps
//   orch_gpu_check --speed   tokens per second of the models in tests/gpu/reference.py
//   orch_gpu_check --host    AdamW on the host, beside its memory's bandwidth
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "backends/runtime/comm/transport.h"
#include "backends/runtime/host/memory.h"
#include "backends/runtime/host/pool.h"
#include "backends/runtime/model/stage.h"
#include "backends/runtime/step/optimizer.h"

namespace {

using namespace orch;
using namespace orch::train;

int failures = 0;

void check(const std::string& what, double got, double most) {
  const bool good = got <= most;  // false for a NaN
  std::printf("%s %-60s %.3g (at most %.3g)\n", good ? "ok    " : "FAILED", what.c_str(), got,
              most);
  failures += good ? 0 : 1;
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  const auto wanted = b.to(at::kCPU, at::kDouble);
  const auto difference = (a.to(at::kCPU, at::kDouble) - wanted).abs().max().item<double>();
  return difference / (wanted.abs().max().item<double>() + 1e-12);
}

double angle(const at::Tensor& a, const at::Tensor& b) {
  const auto x = a.to(at::kCPU, at::kDouble), y = b.to(at::kCPU, at::kDouble);
  return 1 - ((x * y).sum() / (x.norm() * y.norm())).item<double>();
}

struct Trained {
  Trained(ModelOptions options, const MicroBatch& batch, const char* optimizer)
      : parameters(parameter_specs(options.config), {options.dtype, true, options.device}),
        model(options, parameters, nullptr) {
    parameters.initialize(5, options.config.hidden > 1000 ? 0.02 : 0.1, options.config.layers);
    first = parameters.weights().clone();
    const auto made = make_optimizer(optimizer, parameters, {});
    const auto move = [&](const at::Tensor& x) { return x.to(options.device); };
    loss =
        model
            .train({move(batch.tokens), move(batch.targets), batch.step, batch.first_sample, batch.rows},
                   1, {})
            .item<double>();
    gradients = parameters.gradients().clone();
    norm = std::sqrt(sum_of_squares(parameters.gradients()).item<double>());
    // Gradients of one formula: where they are noise about zero, AdamW would make steps of it.
    const auto wave = 1e-3 * at::sin(at::arange(gradients.numel(), at::kFloat));
    parameters.gradients().copy_(wave);
    for (int step = 1; step <= 3; ++step) made->step(1e-2, 0.5, step);
  }
  Parameters parameters;
  Stage model;
  double loss = 0, norm = 0;
  at::Tensor first, gradients;
};

MicroBatch some_batch(const plan::Model& config, std::int64_t samples) {
  const auto all = (at::arange(samples * config.seq + 1, at::kLong) * 7919).remainder(config.vocab);
  const auto rows = samples * config.seq;
  return {all.narrow(0, 0, rows), all.narrow(0, 1, rows), 3, 8, rows};
}

void compare(const plan::Model& config, double dropout, Recompute recompute) {
  ModelOptions options;
  const auto family = config.family;
  options.config = config;
  options.dropout = dropout;
  const auto batch = some_batch(options.config, 4);
  Trained cpu(options, batch, "adamw");
  const auto name = std::string(family == plan::Family::gpt ? "gpt " : "bloom ") +
                    std::to_string(config.hidden) + (dropout > 0 ? " dropout" : "") +
                    (recompute == Recompute::none ? ""
                     : recompute == Recompute::full ? " recompute" : " selective");
  options.device = at::Device(at::kCUDA, 0);
  options.recompute = recompute;
  Trained fp32(options, batch, "adamw");
  check(name + " first weights", distance(fp32.first, cpu.first), 1e-7);
  check(name + " fp32: loss", std::abs(fp32.loss - cpu.loss), 1e-5);
  check(name + " fp32: gradients", distance(fp32.gradients, cpu.gradients), 2e-5);
  check(name + " fp32: norm", std::abs(fp32.norm / cpu.norm - 1), 1e-5);
  check(name + " fp32: weights after AdamW",
        distance(fp32.parameters.masters(), cpu.parameters.masters()), 1e-5);
  options.dtype = at::kBFloat16;
  Trained bf16(options, batch, "adafactor");
  check(name + " bf16: loss", std::abs(bf16.loss - cpu.loss), 0.02);
  check(name + " bf16: angle of the gradients", angle(bf16.gradients, cpu.gradients), 1e-3);
  Trained again(options, batch, "adafactor");
  check(name + " bf16: the same bits again", at::equal(again.gradients, bf16.gradients) ? 0 : 1, 0);
}

// Rows of every width that has a kernel of its own.
void check_norms() {
  for (const std::int64_t columns : {96, 2048, 2056, 8192, 14336, 16384}) {
    const std::int64_t rows = 700;
    const auto wave = [&](double pace, std::int64_t count) {
      return at::sin(at::arange(count, at::kDouble).mul_(pace)).to(at::kFloat);
    };
    // As 16 bits have them, and such that the sums over rows do not cancel.
    const auto rounded = [](const at::Tensor& t) { return t.to(at::kBFloat16).to(at::kFloat); };
    const auto x = rounded(wave(0.37, rows * columns).view({rows, columns})),
               weight = rounded(wave(0.11, columns) + 1.5),
               dy = rounded((wave(0.53, rows * columns).view({rows, columns}) + 0.7) * (x + 0.3)),
               residual = rounded(x * 0.5);
    at::Tensor results[2][3];
    for (const bool gpu : {false, true}) {
      const auto to = [&](const at::Tensor& t) { return gpu ? t.cuda() : t; };
      const auto normed = ops::layer_norm(to(x), to(weight), to(weight));
      auto* result = results[gpu];
      result[1] = to(at::zeros({columns}));
      result[2] = to(at::zeros({columns}));
      result[0] = ops::layer_norm_backward(to(dy), to(x), normed, to(weight), result[1], result[2],
                                           to(residual));
    }
    const auto name = "norm's backward, " + std::to_string(columns) + " columns: ";
    const char* of[] = {"input", "weight", "bias"};
    for (int i = 0; i < 3; ++i)
      check(name + of[i], distance(results[1][i], results[0][i]), 1e-5);
    const auto half = [](const at::Tensor& t) { return t.cuda().to(at::kBFloat16); };
    auto dw = at::zeros({columns}, at::kCUDA), db = at::zeros({columns}, at::kCUDA);
    const auto dx = ops::layer_norm_backward(half(dy), half(x), ops::layer_norm(half(x), half(weight), half(weight)),
                                             half(weight), dw, db, half(residual));
    check(name + "bf16", angle(dx, results[0][0]) + angle(dw, results[0][1]), 1e-3);
  }
}

// Updated on the host, slice by slice, as on the device: more than the ring has room for.
void check_offload() {
  const std::vector<ParameterSpec> specs = {{"a", {5, 11000003}, -1, Init::normal, true},
                                            {"b", {1001}, -1, Init::zeros, false}};
  struct Case {
    const char* name;
    at::ScalarType dtype;
    bool wide;
  };
  for (const auto& [name, dtype, wide] :
       {Case{"fp32", at::kFloat, true}, Case{"bf16", at::kBFloat16, true},
        Case{"fp16", at::kHalf, true}, Case{"bf16, summed in it", at::kBFloat16, false}}) {
    at::Tensor weights[2];
    for (const bool host : {false, true}) {
      ParameterOptions options;
      options.dtype = dtype;
      options.device = at::Device(at::kCUDA, 0);
      options.on_host = host ? kAllOfThem : 0;
      options.wide_gradients = wide;
      options.owned = {{0, 20000000}, {20000000, 20001024}, {30000000, 55001088}};  // in parts
      Parameters parameters(specs, options);
      parameters.initialize(3, 0.02, 2);
      const auto adamw = make_optimizer("adamw", parameters, {});
      for (int step = 1; step <= 3; ++step) {
        const auto& to = parameters.gradients();
        to.copy_(at::sin(at::arange(to.numel(), to.options().dtype(at::kFloat)).mul_(0.1 * step)));
        adamw->step(1e-2, 0.5, step);
        adamw->finish();
        parameters.gradients().zero_();  // they were read
      }
      weights[host] = parameters.weights().clone();
    }
    check(std::string("AdamW on the host, ") + name, at::equal(weights[0], weights[1]) ? 0 : 1, 0);
  }
}

template <class Work>
double best_seconds(const Work& work) {
  double best = 1e9;
  for (int turn = 0; turn < 5; ++turn) {
    const auto began = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  return best;
}

// STREAM's triad, with the threads and the memory that AdamW has. Gradients and weights on the host,
// or (staged) on the device.
void measure_host() {
  constexpr std::int64_t kCount = 1'000'000'000;
  std::printf("%d threads\n", host_pool().size());
  {
    const auto a = host_zeros(kCount, at::kFloat), b = host_zeros(kCount, at::kFloat), c = host_zeros(kCount, at::kFloat);
    auto *to = a.data_ptr<float>(), *one = b.data_ptr<float>(), *two = c.data_ptr<float>();
    const double triad = best_seconds([&] {
      host_pool().run(kCount, [&](std::int64_t begin, std::int64_t end) {
        auto* __restrict__ x = to;
        for (auto i = begin; i < end; ++i) x[i] = one[i] + 3 * two[i];
      });
    });
    std::printf("triad: %.1f GB/s (%.1f with what is read before it is written)\n", 12e-9 * kCount / triad,
                16e-9 * kCount / triad);
  }
  for (const bool away : {true, false}) {
    ParameterOptions options;
    options.dtype = at::kBFloat16;
    options.device = at::Device(at::kCUDA, 0);
    options.on_host = kAllOfThem;
    options.away = away;
    options.whole_weights = options.whole_gradients = !away;
    Parameters parameters({{"a", {1000, kCount / 1000}, -1, Init::normal, true}}, options);
    const auto adamw = make_optimizer("adamw", parameters, {});
    std::int64_t step = 0;
    const double seconds = best_seconds([&] {
      adamw->step(1e-3, 1, ++step);
      adamw->finish();
    });
    std::printf("AdamW on the host%s: %.2f G parameters/s, %.1f GB/s of 30 bytes each\n",
                away ? "" : ", staged", 1e-9 * kCount / seconds, 30e-9 * kCount / seconds);
  }
}

// NCCL takes no two ranks on one GPU: one rank at least goes through every call.
void check_nccl() {
  TransportOptions options;
  options.store = c10::make_intrusive<c10d::HashStore>();
  options.timeout = std::chrono::seconds(30);
  options.device = at::Device(at::kCUDA, 0);
  const auto nccl = make_transport(options);
  const auto finish = [](Running running) {
    running.work->wait();
    if (running.finish) running.finish();
  };
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const auto x = at::arange(1000, options.device).to(dtype), kept = x.clone();
    const auto out = at::zeros_like(x);
    finish(nccl->all_reduce(x, Reduce::sum));
    finish(nccl->broadcast(x, 0));
    finish(nccl->all_gather(out, x));
    const auto back = at::zeros_like(x);
    finish(nccl->reduce_scatter(back, out));
    finish(nccl->barrier());
    check(std::string("NCCL on one rank, ") + c10::toString(dtype), distance(back, kept), 0);
  }
}

struct Case {
  const char* name;
  plan::Model config;
  std::int64_t micro_batch;
  Recompute recompute;
};

void measure(const Case& which, int steps) {
  ModelOptions options;
  options.config = which.config;
  options.dtype = at::kBFloat16;
  options.device = at::Device(at::kCUDA, 0);
  options.recompute = which.recompute;
  Parameters parameters(parameter_specs(which.config), {at::kBFloat16, true, options.device});
  parameters.initialize(1, 0.02, which.config.layers);
  Stage model(options, parameters, nullptr);
  const auto optimizer = make_optimizer("adamw", parameters, {});
  auto batch = some_batch(which.config, which.micro_batch);
  batch.tokens = batch.tokens.to(options.device);
  batch.targets = batch.targets.to(options.device);
  const auto step = [&](int number) {
    parameters.zero_gradients();
    const auto loss = model.train(batch, 1, {});
    const double norm = std::sqrt(sum_of_squares(parameters.gradients()).item<double>());
    optimizer->step(1e-4, clip_coefficient(norm, 1), number);
    return loss.item<double>();
  };
  for (int i = 1; i <= 5; ++i) step(i);
  cudaDeviceSynchronize();
  const auto begin = std::chrono::steady_clock::now();
  double loss = 0;
  for (int i = 0; i < steps; ++i) loss = step(6 + i);
  cudaDeviceSynchronize();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / steps;
  const auto tokens = static_cast<double>(which.micro_batch * which.config.seq);
  std::printf("ours %s %.0f tokens/s, %.2f ms, loss %.4f, %.1f GiB\n", which.name, tokens / seconds,
              1e3 * seconds, loss,
              static_cast<double>(
                  c10::cuda::CUDACachingAllocator::getDeviceStats(0).allocated_bytes[0].peak) /
                  (1 << 30));
  c10::cuda::CUDACachingAllocator::resetPeakStats(0);
}

}  // namespace

int main(int argc, char** argv) {
  const plan::Model small{"", plan::Family::gpt, 12, 768, 12, 50257, 1024};
  const plan::Model large{"", plan::Family::gpt, 36, 1280, 20, 50257, 1024};
  const plan::Model billion{"", plan::Family::gpt, 24, 2048, 16, 50257, 2048};
  if (argc > 1 && std::strcmp(argv[1], "--speed") == 0) {
    for (const Case& which :
         {Case{"124M", small, 32, Recompute::none}, Case{"774M", large, 16, Recompute::none},
          Case{"1.3B", billion, 8, Recompute::none},
          Case{"1.3B-recompute", billion, 16, Recompute::full}})
      measure(which, 20);
    return 0;
  }
  if (argc > 1 && std::strcmp(argv[1], "--host") == 0) return measure_host(), 0;
  for (const auto family : {plan::Family::gpt, plan::Family::bloom}) {
    compare({"", family, 3, 256, 4, 1000, 128}, 0, Recompute::none);
    compare({"", family, 3, 256, 4, 1000, 128}, 0.1, Recompute::full);
    compare({"", family, 3, 256, 4, 1000, 128}, 0, Recompute::selective);
  }
  compare({"", plan::Family::gpt, 2, 1280, 20, 1000, 128}, 0, Recompute::none);
  compare({"", plan::Family::gpt, 2, 2048, 16, 1000, 128}, 0, Recompute::none);
  check_norms();
  check_offload();
  check_nccl();
  std::printf("%d failed\n", failures);
  return failures == 0 ? 0 : 1;
}
