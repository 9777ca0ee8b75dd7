// Checks that need a GPU, without a test framework, because little is installed where GPUs are:
//   orch_gpu_check           CUDA against the CPU: losses, gradients and optimizer steps
//   orch_gpu_check --speed   tokens per second of the models in tests/gpu/reference.py
//   orch_gpu_check --rates   GB/s of the kernels between the products, beside a copy's
//   orch_gpu_check --host    AdamW on the host, beside its memory's bandwidth
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "backends/runtime/comm/transport.h"
#include "backends/runtime/host/memory.h"
#include "backends/runtime/host/pool.h"
#include "backends/runtime/model/stage.h"
#include "backends/runtime/step/optimizer.h"
#include "core/plan/family.h"

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

struct CheckedTraining {
  CheckedTraining(ModelOptions options, const MicroBatch& batch, const char* optimizer)
      : parameters(parameter_specs(options.config), {options.dtype, true, options.device}),
        model(options, parameters, nullptr) {
    parameters.initialize(5, options.config.hidden > 1000 ? 0.02 : 0.1, options.config.layers);
    first = parameters.weights().clone();
    const auto made = make_optimizer(optimizer, parameters, {});
    const auto move = [&](const at::Tensor& x) { return x.to(options.device); };
    loss = model
               .train({move(batch.tokens), move(batch.targets), batch.step, batch.first_sample,
                       batch.rows},
                      1, {})
               .item<double>();
    gradients = parameters.gradients().clone();
    norm = std::sqrt(sum_of_squares(parameters.gradients()).item<double>());
    // Gradients from one formula: AdamW would turn noise about zero into steps.
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

void compare(const char* family, const plan::Model& config, double dropout, Recompute recompute) {
  ModelOptions options;
  options.config = config;
  options.dropout = dropout;
  const auto batch = some_batch(options.config, 4);
  CheckedTraining cpu(options, batch, "adamw");
  const auto name = std::string(family) + " " + std::to_string(config.hidden) +
                    (dropout > 0 ? " dropout" : "") +
                    (recompute == Recompute::none   ? ""
                     : recompute == Recompute::full ? " recompute"
                                                    : " selective");
  options.device = at::Device(at::kCUDA, 0);
  options.recompute = recompute;
  CheckedTraining fp32(options, batch, "adamw");
  check(name + " first weights", distance(fp32.first, cpu.first), 1e-7);
  check(name + " fp32: loss", std::abs(fp32.loss - cpu.loss), 1e-5);
  check(name + " fp32: gradients", distance(fp32.gradients, cpu.gradients), 2e-5);
  check(name + " fp32: norm", std::abs(fp32.norm / cpu.norm - 1), 1e-5);
  check(name + " fp32: weights after AdamW",
        distance(fp32.parameters.masters(), cpu.parameters.masters()), 1e-5);
  options.dtype = at::kBFloat16;
  CheckedTraining bf16(options, batch, "adafactor");
  check(name + " bf16: loss", std::abs(bf16.loss - cpu.loss), 0.02);
  // The product of gate and up is rounded once more than GELU.
  const double most = config.swiglu ? 2e-3 : 1e-3;
  check(name + " bf16: angle of the gradients", angle(bf16.gradients, cpu.gradients), most);
  CheckedTraining again(options, batch, "adafactor");
  check(name + " bf16: the same bits again", at::equal(again.gradients, bf16.gradients) ? 0 : 1, 0);
}

at::Tensor wave(at::IntArrayRef sizes, double pace) {
  std::int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return at::sin(at::arange(count, at::kDouble).mul_(pace)).to(at::kFloat).view(sizes);
}

// Rounded to 16 bits.
at::Tensor rounded(const at::Tensor& t) { return t.to(at::kBFloat16).to(at::kFloat); }

at::Tensor half(const at::Tensor& t) { return t.defined() ? t.cuda().to(at::kBFloat16) : t; }

// Rows of every width that has a separate kernel.
void check_norms(NormKind kind) {
  const bool has_bias = kind == NormKind::layer;
  for (const std::int64_t columns : {96, 2048, 2056, 8192, 14336, 16384}) {
    const std::int64_t rows = 700;
    // Chosen so that the sums over rows do not cancel.
    const auto x = rounded(wave({rows, columns}, 0.37)),
               weight = rounded(wave({columns}, 0.11) + 1.5),
               dy = rounded((wave({rows, columns}, 0.53) + 0.7) * (x + 0.3)),
               residual = rounded(x * 0.5);
    struct Result {
      at::Tensor y, dx, dw, db, sums;
    };
    const auto run = [&](auto&& to) {
      const NormWeights weights{kind, to(weight), has_bias ? to(weight) : at::Tensor(), 1e-5};
      const auto like = at::TensorOptions().dtype(at::kFloat).device(weights.weight.device());
      const auto added = ops::add_norm(to(residual), to(x), weights, {});
      const auto normed = ops::norm(to(x), weights);
      Result result{added.norm.y, {}, at::zeros({columns}, like), {}, at::zeros({columns}, like)};
      if (has_bias) result.db = at::zeros({columns}, like);
      result.dx = ops::norm_backward(to(dy), to(x), normed, weights, result.dw, result.db,
                                     to(residual), result.sums);
      return result;
    };
    const auto cpu = run([](const at::Tensor& t) { return t; });
    const auto gpu = run([](const at::Tensor& t) { return t.cuda(); });
    const auto name = std::string(has_bias ? "layer" : "rms") + " norm, " +
                      std::to_string(columns) + " columns: ";
    check(name + "forward", distance(gpu.y, cpu.y), 1e-5);
    check(name + "input", distance(gpu.dx, cpu.dx), 1e-5);
    check(name + "weight", distance(gpu.dw, cpu.dw), 1e-5);
    if (has_bias) check(name + "bias", distance(gpu.db, cpu.db), 1e-5);
    check(name + "sums", distance(gpu.sums, cpu.sums), 1e-5);
    const auto short_ones = run(half);
    check(name + "bf16", angle(short_ones.dx, cpu.dx) + angle(short_ones.dw, cpu.dw), 1e-3);
  }
}

// Within products and after them, with values at which exponentials overflow.
void check_gelu() {
  for (const std::int64_t hidden : {512, 4096}) {
    // Chosen so that the sums over rows do not cancel.
    const auto x = rounded(wave({200, hidden}, 0.37)), bias = rounded(wave({1000}, 0.2) * 3),
               weight = rounded((wave({1000, hidden}, 0.61) + 1.5) * 0.02),
               back = weight.t().contiguous(), dy = rounded(wave({200, hidden}, 0.29) + 0.7);
    bias.narrow(0, 0, 2).copy_(at::tensor({20.f, -20.f}));
    struct Result {
      ActivatedProduct made;
      at::Tensor dx, db;
    };
    const auto run = [&](auto&& to) {
      Result result{ops::linear_activated(to(x), to(weight), to(bias), Activation::gelu), {}, {}};
      result.db = at::zeros({1000}, result.made.before.options().dtype(at::kFloat));
      result.dx = ops::linear_activated_backward(to(dy), to(back), result.made.before,
                                                 Activation::gelu, result.db);
      return result;
    };
    const auto cpu = run([](const at::Tensor& t) { return t; });
    const auto gpu = run([](const at::Tensor&t) { return t.cuda(); }), short_ones = run(half);
    const auto name = "GELU, " + std::to_string(hidden) + " factors: ";
    check(name + "forward", distance(gpu.made.after, cpu.made.after), 1e-5);
    check(name + "backward", distance(gpu.dx, cpu.dx), 1e-5);
    check(name + "bias", distance(gpu.db, cpu.db), 1e-5);
    check(name + "forward in bf16", distance(short_ones.made.after, cpu.made.after), 0.005);
    check(name + "all but the large in bf16",
          distance(short_ones.made.after.narrow(1, 2, 998), cpu.made.after.narrow(1, 2, 998)),
          0.01);
    check(name + "backward in bf16", angle(short_ones.dx, cpu.dx) + angle(short_ones.db, cpu.db),
          1e-3);
  }
}

// With a tail that fills no vector, and gates at which exponentials overflow.
void check_swiglu() {
  auto before = rounded(wave({333, 2 * 1001}, 0.61) * 4);
  before.narrow(1, 0, 4).copy_(at::tensor({200.f, 1.f, -200.f, 1.f}).expand({333, 4}));
  const auto dy = rounded(wave({333, 1001}, 0.29));
  const auto run = [&](auto&& to) {
    return std::pair(ops::activate(to(before), Activation::swiglu),
                     ops::activation_backward(to(dy), to(before), Activation::swiglu, {}));
  };
  const auto cpu = run([](const at::Tensor& t) { return t; });
  const auto gpu = run([](const at::Tensor& t) { return t.cuda(); });
  check("SwiGLU: forward", distance(gpu.first, cpu.first), 1e-6);
  check("SwiGLU: backward", distance(gpu.second, cpu.second), 1e-6);
  const auto short_ones = run(half);
  check("SwiGLU: forward in bf16", distance(short_ones.first, cpu.first), 0.005);
  check("SwiGLU: backward in bf16", distance(short_ones.second, cpu.second), 0.005);
}

// Heads of sizes with a kernel and, the last, without one; gradients with the strides of
// attention's.
void check_heads() {
  struct Case {
    HeadShape shape;
    bool norms, rotates;
  };
  for (const auto& [shape, norms, rotates] :
       {Case{{8, 2, 128, 64}, false, true}, Case{{8, 2, 128, 64}, true, true},
        Case{{4, 4, 64, 48}, true, true}, Case{{6, 3, 96, 32}, false, true},
        Case{{4, 4, 64, 48}, false, false}, Case{{6, 2, 64, 48}, false, false},
        Case{{28, 4, 128, 16}, true, true}, Case{{4, 2, 72, 32}, true, true}}) {
    const std::int64_t rows = 5 * shape.seq, dim = shape.dim;
    const auto qkv = rounded(wave({rows, shape.units() * dim}, 0.37) * 2);
    const auto weights =
        std::pair(rounded(wave({dim}, 0.2) + 1.5), rounded(wave({dim}, 0.3) + 1.2));
    const auto of = [&](std::int64_t heads,
                        double pace) {  // [samples, seq, heads, dim], transposed
      return rounded(wave({5, shape.seq, heads, dim}, pace) + 0.5).transpose(1, 2);
    };
    struct Result {
      at::Tensor q, k, v, dqkv, dq_norm, dk_norm, bias;
    };
    const auto run = [&](auto&& to) {
      const auto given = to(qkv);
      const auto device = given.device();
      const auto like = at::TensorOptions().dtype(at::kFloat).device(device);
      const auto table =
          rotates ? make_rotary_table({10000}, shape.seq, dim, device) : RotaryTable();
      HeadNorms with, gradients;
      if (norms) {
        with = {to(weights.first), to(weights.second), 1e-6};
        gradients = {at::zeros({dim}, like), at::zeros({dim}, like)};
      }
      const auto heads = ops::rotate_heads(given, shape, table, with);
      const Heads d{to(of(shape.heads, 0.53)), to(of(shape.kv_heads, 0.71)),
                    to(of(shape.kv_heads, 0.17))};
      const auto bias = at::zeros({given.size(1)}, like);
      auto dqkv = ops::rotate_heads_backward(d, given, shape, table, with, gradients, bias);
      return Result{heads.q, heads.k, heads.v, dqkv, gradients.q, gradients.k, bias};
    };
    const auto cpu = run([](const at::Tensor& t) { return t; });
    const auto gpu = run([](const at::Tensor& t) { return t.cuda(); });
    const auto short_ones = run(half);
    const auto name = "heads " + std::to_string(shape.heads) + " on " +
                      std::to_string(shape.kv_heads) + " of " + std::to_string(dim) +
                      (norms ? ", normed" : "") + (rotates ? "" : ", not rotated") + ": ";
    check(name + "q", distance(gpu.q, cpu.q), 1e-6);
    check(name + "k", distance(gpu.k, cpu.k), 1e-6);
    check(name + "v", distance(gpu.v, cpu.v), 0);
    check(name + "bias", distance(gpu.bias, cpu.bias), 1e-5);
    check(name + "gradient", distance(gpu.dqkv, cpu.dqkv), 2e-6);
    check(name + "bf16",
          distance(short_ones.q, cpu.q) + distance(short_ones.k, cpu.k) +
              distance(short_ones.dqkv, cpu.dqkv),
          0.015);
    if (!norms) continue;
    check(name + "norms' gradients",
          distance(gpu.dq_norm, cpu.dq_norm) + distance(gpu.dk_norm, cpu.dk_norm), 1e-5);
    check(name + "norms' gradients in bf16",
          angle(short_ones.dq_norm, cpu.dq_norm) + angle(short_ones.dk_norm, cpu.dk_norm), 1e-3);
  }
}

// LibTorch's fused attention with shared keys, compared with products in fp32.
void check_shared_keys() {
  for (const std::int64_t kv_heads : {8, 2, 1}) {
    AttentionOptions options;
    options.shape = {8, kv_heads, 128, 256};
    options.all_heads = 8;
    options.rotary.emplace();
    const auto qkv = rounded(wave({3 * 256, options.shape.units() * 128}, 0.37)),
               dout = rounded(wave({3 * 256, 8 * 128}, 0.53));
    const auto run = [&](at::Device device, at::ScalarType dtype) {
      const Attention attention(options, dtype, device);
      const auto to = [&](const at::Tensor& t) { return t.to(device, dtype); };
      AttentionSaved saved;
      auto out = attention.forward(to(qkv), {}, {}, saved);
      auto back = attention.backward(to(dout), {}, {}, {}, {}, saved);
      check("fused attention is used", attention.uses_sdpa() == (dtype == at::kBFloat16) ? 0 : 1,
            0);
      return std::pair(out, back);
    };
    const auto cpu = run(at::kCPU, at::kFloat);
    options.sdpa = true;
    const auto gpu = run(at::Device(at::kCUDA, 0), at::kBFloat16);
    const auto name = "attention, 8 heads on " + std::to_string(kv_heads) + ": ";
    check(name + "forward", angle(gpu.first, cpu.first), 1e-4);
    // Gradients of a key that eight queries share are a sum of eight, rounded.
    check(name + "backward", angle(gpu.second, cpu.second), 2e-4);
  }
}

// Updated on the host, slice by slice, as on the device: more slices than the ring has room for.
void check_offload() {
  const std::vector<ParameterSpec> specs = {{"a", {5, 11000003}, -1, WeightInit::normal, true},
                                            {"b", {1001}, -1, WeightInit::zeros, false}};
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
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  return best;
}

// STREAM's triad, with the threads and the memory that AdamW has. Gradients and weights on the
// host, or (staged) on the device.
void measure_host() {
  constexpr std::int64_t kCount = 1'000'000'000;
  std::printf("%d threads\n", host_pool().size());
  {
    const auto a = host_zeros(kCount, at::kFloat), b = host_zeros(kCount, at::kFloat),
               c = host_zeros(kCount, at::kFloat);
    auto *to = a.data_ptr<float>(), *one = b.data_ptr<float>(), *two = c.data_ptr<float>();
    const double triad = best_seconds([&] {
      constexpr std::int64_t kChunk = 1 << 15;
      host_pool().run((kCount + kChunk - 1) / kChunk, [&](std::int64_t chunk) {
        auto* __restrict__ x = to;
        const auto begin = chunk * kChunk, end = std::min(kCount, begin + kChunk);
        for (auto i = begin; i < end; ++i) x[i] = one[i] + 3 * two[i];
      });
    });
    std::printf("triad: %.1f GB/s (%.1f with what is read before it is written)\n",
                12e-9 * kCount / triad, 16e-9 * kCount / triad);
  }
  for (const bool away : {true, false}) {
    ParameterOptions options;
    options.dtype = at::kBFloat16;
    options.device = at::Device(at::kCUDA, 0);
    options.on_host = kAllOfThem;
    options.away = away;
    options.whole_weights = options.whole_gradients = !away;
    Parameters parameters({{"a", {1000, kCount / 1000}, -1, WeightInit::normal, true}}, options);
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

// Seconds of a kernel, of twenty after five.
template <class Work>
double kernel_seconds(const Work& work) {
  for (int i = 0; i < 5; ++i) work();
  cudaDeviceSynchronize();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) work();
  cudaDeviceSynchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() / 20;
}

// Llama 3 8B's layer on 16,384 tokens in bf16. The bytes are those that each must read and write.
void measure_rates() {
  const std::int64_t rows = 16384, hidden = 4096, ffn = 14336;
  const HeadShape shape{32, 8, 128, 4096};
  const auto options = at::TensorOptions().dtype(at::kBFloat16).device(at::kCUDA);
  const auto random = [&](std::int64_t columns) { return at::randn({rows, columns}, options); };
  const auto x = random(hidden), y = random(hidden), wide = random(2 * ffn), dwide = random(ffn),
             qkv = random(shape.units() * shape.dim);
  const auto ones = at::ones({hidden}, options), head_ones = at::ones({shape.dim}, options);
  const auto gradient = at::zeros({hidden}, options.dtype(at::kFloat)),
             other = at::zeros_like(gradient);
  const auto table = make_rotary_table({500000}, shape.seq, shape.dim, at::Device(at::kCUDA, 0));
  const HeadNorms norms{head_ones, head_ones, 1e-6}, none;
  const HeadNorms norm_gradients{gradient.narrow(0, 0, shape.dim), other.narrow(0, 0, shape.dim)};
  const double row = 2.0 * rows;  // bytes of a column
  const double units = static_cast<double>(qkv.size(1));
  const auto say = [&](const char* name, double bytes, const auto& work) {
    const double seconds = kernel_seconds(work);
    std::printf("%-36s %8.1f us %7.0f GB/s\n", name, 1e6 * seconds, 1e-9 * bytes / seconds);
  };
  const auto copy = at::empty_like(wide);
  say("copy", 2 * row * 2 * ffn, [&] { copy.copy_(wide); });
  for (const auto kind : {NormKind::layer, NormKind::rms}) {
    const bool is_layer = kind == NormKind::layer;
    const NormWeights weights{kind, ones, is_layer ? ones : at::Tensor()};
    const auto normed = ops::norm(x, weights);
    say(is_layer ? "add and layer norm" : "add and RMS norm", 4 * row * hidden,
        [&] { ops::add_norm(x, y, weights, {}); });
    say(is_layer ? "layer norm's backward" : "RMS norm's backward", 4 * row * hidden, [&] {
      ops::norm_backward(y, x, normed, weights, gradient, is_layer ? other : at::Tensor(), y);
    });
  }
  say("SwiGLU", 3 * row * ffn, [&] { ops::activate(wide, Activation::swiglu); });
  say("SwiGLU's backward", 5 * row * ffn,
      [&] { ops::activation_backward(dwide, wide, Activation::swiglu, {}); });
  const auto heads = ops::rotate_heads(qkv, shape, table, {});
  say("rotated heads", 2 * row * units, [&] { ops::rotate_heads(qkv, shape, table, none); });
  say("rotated heads' backward", 2 * row * units,
      [&] { ops::rotate_heads_backward(heads, {}, shape, table, none, none); });
  say("normed, rotated heads", 2 * row * units,
      [&] { ops::rotate_heads(qkv, shape, table, norms); });
  say("normed, rotated heads' backward", 3 * row * units,
      [&] { ops::rotate_heads_backward(heads, qkv, shape, table, norms, norm_gradients); });
  const HeadShape plain{32, 32, 128, 4096};
  const auto gpt = random(3 * hidden);
  const auto views = ops::view_heads(gpt, plain);
  say("GPT-2's heads' backward", 2 * row * 3 * hidden,
      [&] { ops::rotate_heads_backward(views, {}, plain, {}, none, none); });
}

// NCCL does not allow two ranks on one GPU: a single rank at least makes every call.
void check_nccl() {
  TransportOptions options;
  options.store = c10::make_intrusive<c10d::HashStore>();
  options.timeout = std::chrono::seconds(30);
  options.device = at::Device(at::kCUDA, 0);
  const auto nccl = make_transport(options);
  const auto finish = [](RunningCollective running) {
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

plan::Model gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t seq) {
  return plan::sized("gpt", "", layers, hidden, heads, 50257, seq);
}

plan::Model llama(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                  std::int64_t kv_heads, std::int64_t head_dim, std::int64_t ffn,
                  std::int64_t vocab, std::int64_t seq) {
  auto out = plan::sized("llama", "", layers, hidden, heads, vocab, seq);
  out.kv_heads = kv_heads, out.head_dim = head_dim, out.ffn_hidden = ffn;
  out.rope_theta = 500000, out.rope_factor = 32;
  out.tied = true;
  return out;
}

void measure_models() {
  const auto small = gpt(12, 768, 12, 1024), large = gpt(36, 1280, 20, 1024),
             billion = gpt(24, 2048, 16, 2048);
  for (const Case& which :
       {Case{"124M", small, 32, Recompute::none}, Case{"774M", large, 16, Recompute::none},
        Case{"1.3B", billion, 8, Recompute::none},
        Case{"1.3B-recompute", billion, 16, Recompute::full},
        Case{"llama-1.24B", llama(16, 2048, 32, 8, 64, 8192, 128256, 4096), 4, Recompute::none},
        Case{"llama-3.2B", llama(28, 3072, 24, 8, 128, 8192, 128256, 4096), 2, Recompute::none}})
    measure(which, 20);
}

void compare_models() {
  for (const auto* name : {"gpt", "bloom"}) {
    const auto config = plan::sized(name, "", 3, 256, 4, 1000, 128);
    compare(name, config, 0, Recompute::none);
    compare(name, config, 0.1, Recompute::full);
    compare(name, config, 0, Recompute::selective);
  }
  compare("gpt", plan::sized("gpt", "", 2, 1280, 20, 1000, 128), 0, Recompute::none);
  compare("gpt", plan::sized("gpt", "", 2, 2048, 16, 1000, 128), 0, Recompute::none);
  auto config = llama(3, 256, 8, 2, 64, 704, 1000, 128);
  compare("llama", config, 0, Recompute::none);
  compare("llama", config, 0, Recompute::selective);
  config.kv_heads = 8;
  config.tied = false;
  config.qkv_bias = true;
  compare("qwen2", config, 0, Recompute::full);
  config.kv_heads = 4;
  config.qkv_bias = false;
  config.qk_norm = true;
  config.head_dim = 128;
  for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full})
    compare("qwen3", config, 0, recompute);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string asked = argc > 1 ? argv[1] : "";
  if (asked == "--speed") return measure_models(), 0;
  if (asked == "--rates") return measure_rates(), 0;
  if (asked == "--host") return measure_host(), 0;
  compare_models();
  check_norms(NormKind::layer);
  check_norms(NormKind::rms);
  check_gelu();
  check_swiglu();
  check_heads();
  check_shared_keys();
  check_offload();
  check_nccl();
  std::printf("%d failed\n", failures);
  return failures == 0 ? 0 : 1;
}
