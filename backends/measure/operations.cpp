#include "backends/measure/operations.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "backends/runtime/kernels/ops.h"
#include "backends/runtime/model/attention.h"
#include "backends/runtime/model/parameters.h"
#include "backends/runtime/step/optimizer.h"

namespace orch::measure {
namespace {

namespace ops = train::ops;

at::Tensor random(TimedDevice& bench, std::vector<std::int64_t> sizes,
                  at::ScalarType type = at::kFloat) {
  return at::randn(sizes, at::TensorOptions(at::kFloat).device(bench.device())).to(type);
}

struct OperationShape {
  std::int64_t m, n, k, batch = 1;
};

// The four products of a layer for this number of tokens, and that of the LM head.
void add_layer(std::vector<OperationShape>& shapes, std::int64_t tokens, std::int64_t hidden,
               std::int64_t vocab) {
  shapes.push_back({tokens, 3 * hidden, hidden});
  shapes.push_back({tokens, hidden, hidden});
  shapes.push_back({tokens, 4 * hidden, hidden});
  shapes.push_back({tokens, hidden, 4 * hidden});
  shapes.push_back({tokens, vocab, hidden});
}

std::vector<at::ScalarType> types(at::Device device) {
  if (device.is_cuda()) return {at::kFloat, at::kBFloat16, at::kHalf};
  return {at::kFloat};
}

const char* name(at::ScalarType type) {
  return type == at::kFloat ? "fp32" : type == at::kBFloat16 ? "bf16" : "fp16";
}

Json row(at::ScalarType type, const OperationShape& shape, double seconds) {
  return {{"dtype", name(type)}, {"m", shape.m},         {"n", shape.n},
          {"k", shape.k},        {"batch", shape.batch}, {"seconds", seconds}};
}

double product_seconds(TimedDevice& bench, at::ScalarType type, const OperationShape& shape) {
  const auto x = random(bench, {shape.m, shape.k}, type);
  const auto w = random(bench, {shape.n, shape.k}, type);
  auto y = random(bench, {shape.m, shape.n}, type);
  auto dx = at::empty_like(x), dw = at::empty_like(w);
  return bench.seconds_of([&] {
    at::mm_out(y, x, w.t());
    at::mm_out(dx, y, w);
    at::mm_out(dw, y.t(), x);
  }) / 3;
}

double batch_seconds(TimedDevice& bench, at::ScalarType type, const OperationShape& shape) {
  const auto a = random(bench, {shape.batch, shape.m, shape.k}, type);
  const auto b = random(bench, {shape.batch, shape.n, shape.k}, type);
  auto c = random(bench, {shape.batch, shape.m, shape.n}, type);
  return bench.seconds_of([&] { at::bmm_out(c, a, b.transpose(1, 2)); });
}

Json row(const char* op, std::int64_t elements, std::int64_t passes, double seconds) {
  return {
      {"op", op}, {"elements", elements}, {"bytes", 4 * passes * elements}, {"seconds", seconds}};
}

void streams(Json& rows, TimedDevice& bench, std::int64_t elements) {
  const auto a = random(bench, {elements}), b = random(bench, {elements});
  rows.push_back(row("copy", elements, 2, bench.seconds_of([&] { a.copy_(b); })));
  rows.push_back(row("add", elements, 3, bench.seconds_of([&] { a.add_(b); })));
}

// Gradients, weights and two moments are read, and all but the first written.
void optimizer(Json& rows, TimedDevice& bench, std::int64_t elements) {
  train::ParameterOptions options;
  options.device = bench.device();
  train::Parameters parameters(
      {{"weight", {elements / 1024, 1024}, -1, train::WeightInit::normal, true}}, options);
  const auto adamw = train::make_optimizer("adamw", parameters, {});
  std::int64_t step = 0;
  rows.push_back(
      row("optimizer", elements, 7, bench.seconds_of([&] { adamw->step(1e-4, 1.0, ++step); })));
}

// Two norms with the residual additions before them, GELU, and the biases' gradients.
double element_wise_seconds(TimedDevice& bench, const LayerSize& size) {
  const auto n = size.tokens(), h = size.hidden;
  const auto x = random(bench, {n, h}), y = random(bench, {n, h});
  const auto wide = random(bench, {n, 4 * h}), qkv = random(bench, {n, 3 * h});
  const auto weight = random(bench, {h}), bias = random(bench, {h});
  const auto up = random(bench, {4 * h, h}), up_bias = random(bench, {4 * h});
  const auto dweight = at::zeros_like(weight), dbias = at::zeros_like(bias);
  const auto dup_bias = at::zeros_like(up_bias), dqkv = random(bench, {3 * h});
  const train::NormWeights norm{train::NormKind::layer, weight, bias};
  const auto saved = ops::norm(x, norm);
  const double norms = bench.seconds_of([&] { ops::add_norm(y, x, norm, {}); });
  const double with_gelu =
      bench.seconds_of([&] { ops::linear_activated(x, up, up_bias, train::Activation::gelu); });
  const double without = bench.seconds_of([&] { ops::linear(x, up, up_bias); });
  const double backward = bench.seconds_of([&] {
    ops::activation_backward(wide, wide, train::Activation::gelu, dup_bias);
    // One bias's sums are computed with a norm, another's in a separate pass; on a GPU, QKV's are
    // computed while heads are reordered.
    ops::norm_backward(y, x, saved, norm, dweight, dbias, x, dbias);
    ops::norm_backward(y, x, saved, norm, dweight, dbias, x);
    ops::add_bias_gradient(dbias, y);
    if (qkv.is_cpu()) ops::add_bias_gradient(dqkv, qkv);
  });
  return 2 * norms + std::max(0.0, with_gelu - without) + backward;
}

// Attention forward and backward, minus its six products.
double scores_seconds(TimedDevice& bench, const LayerSize& size) {
  train::AttentionOptions options;
  options.shape = {size.heads, size.heads, size.hidden / size.heads, size.seq};
  options.all_heads = size.heads;
  const train::Attention attention(options, at::kFloat, bench.device());
  const auto qkv = random(bench, {size.tokens(), 3 * size.hidden});
  const auto dout = random(bench, {size.tokens(), size.hidden});
  train::AttentionSaved saved;
  attention.forward(qkv, {}, {}, saved);
  const auto batch = size.micro_batch * size.heads;
  const auto q = random(bench, {batch, size.seq, options.shape.dim});
  const auto p = random(bench, {batch, size.seq, size.seq});
  const double all = bench.seconds_of([&] {
    train::AttentionSaved own;
    attention.forward(qkv, {}, {}, own);
  }) + bench.seconds_of([&] { attention.backward(dout, {}, {}, {}, {}, saved); });
  const double products = 2 * bench.seconds_of([&] { at::bmm(q, q.transpose(1, 2)); }) +
                          2 * bench.seconds_of([&] { at::bmm(p, q); }) +
                          2 * bench.seconds_of([&] { at::bmm(p.transpose(1, 2), q); });
  return std::max(all - products, 0.1 * all);
}

double cross_entropy_seconds(TimedDevice& bench, const LayerSize& size) {
  const auto logits = random(bench, {size.tokens(), size.vocab});
  const auto targets =
      at::zeros({size.tokens()}, at::TensorOptions(at::kLong).device(bench.device()));
  return bench.seconds_of([&] { ops::cross_entropy(logits, targets, size.vocab, 1e-3); });
}

}  // namespace

Json products(TimedDevice& bench) {
  std::vector<OperationShape> shapes;
  add_layer(shapes, 512, 128, 512);
  if (bench.device().is_cuda()) {
    add_layer(shapes, 16384, 1024, 50304);
    add_layer(shapes, 16384, 4096, 50304);
    shapes.push_back({8192, 8192, 8192});
  } else {
    add_layer(shapes, 512, 256, 1024);
    shapes.push_back({1024, 1024, 1024});
  }
  auto rows = Json::array();
  for (const auto type : types(bench.device()))
    for (const auto& shape : shapes)
      rows.push_back(row(type, shape, product_seconds(bench, type, shape)));
  return rows;
}

Json attention_products(TimedDevice& bench) {
  std::vector<OperationShape> shapes{{128, 128, 32, 16}, {128, 32, 128, 16}, {128, 128, 36, 16}};
  if (bench.device().is_cuda())
    shapes.insert(shapes.end(),
                  {{1024, 1024, 64, 256}, {1024, 64, 1024, 256}, {1024, 1024, 68, 256}});
  else
    shapes.insert(shapes.end(), {{256, 256, 64, 8}, {256, 64, 256, 8}});
  auto rows = Json::array();
  for (const auto type : types(bench.device()))
    for (const auto& shape : shapes)
      rows.push_back(row(type, shape, batch_seconds(bench, type, shape)));
  return rows;
}

int best_threads(TimedDevice& bench) {
  const int most = at::get_num_threads();
  if (bench.device().is_cuda() || most <= 1) return most;
  int best = most;
  double least = INFINITY;
  for (int threads = most; threads >= 1; threads /= 2) {
    at::set_num_threads(threads);
    const double seconds = product_seconds(bench, at::kFloat, {512, 512, 512});
    if (seconds < 0.95 * least) best = threads, least = seconds;
  }
  at::set_num_threads(most);
  return best;
}

Json LayerSize::json() const {
  return {{"hidden", hidden},
          {"heads", heads},
          {"seq", seq},
          {"vocab", vocab},
          {"micro_batch", micro_batch}};
}

LayerSize layer_size(at::Device device) {
  if (device.is_cuda()) return {2048, 16, 1024, 50304, 8};
  return {128, 4, 128, 512, 4};
}

Json passes(TimedDevice& bench, const LayerSize& size) {
  auto rows = Json::array();
  const bool cuda = bench.device().is_cuda();
  streams(rows, bench, std::int64_t{cuda ? 256 : 16} << 20);
  optimizer(rows, bench, std::int64_t{cuda ? 256 : 1} << 20);
  const auto elements = size.tokens() * size.hidden;
  rows.push_back(row("element-wise", elements, 1, element_wise_seconds(bench, size)));
  const auto scores = size.micro_batch * size.heads * size.seq * size.seq;
  rows.push_back(row("scores", scores, 1, scores_seconds(bench, size)));
  rows.push_back(
      row("cross entropy", size.tokens() * size.vocab, 1, cross_entropy_seconds(bench, size)));
  return rows;
}

Json copies(TimedDevice& bench) {
  auto rows = Json::array();
  if (!bench.device().is_cuda()) return rows;
  for (const std::int64_t bytes : {std::int64_t{4} << 10, std::int64_t{64} << 20}) {
    const auto host = at::empty({bytes}, at::kByte).pin_memory();
    const auto device = at::empty({bytes}, at::TensorOptions(at::kByte).device(bench.device()));
    rows.push_back({{"direction", "to_device"}, {"bytes", bytes}, {"seconds", bench.seconds_of([&] {
                                                                     device.copy_(host, true);
                                                                   })}});
    rows.push_back({{"direction", "to_host"}, {"bytes", bytes}, {"seconds", bench.seconds_of([&] {
                                                                   host.copy_(device, true);
                                                                 })}});
  }
  return rows;
}

Json all_reduces(TimedDevice& bench) {
  auto rows = Json::array();
  if (bench.ranks().size() == 1) return rows;
  for (std::int64_t bytes = 4 << 10; bytes <= 64 << 20; bytes *= 4) {
    const auto tensor =
        at::zeros({bytes / 4}, at::TensorOptions(at::kFloat).device(bench.device()));
    const double seconds = bench.seconds_together([&] { bench.ranks().all_reduce(tensor).wait(); });
    rows.push_back({{"bytes", bytes}, {"seconds", seconds}});
  }
  return rows;
}

double launch_seconds(TimedDevice& bench) {
  const auto x = random(bench, {1}), y = random(bench, {1});
  return bench.seconds_of([&] { at::add(x, y); });
}

}  // namespace orch::measure
