#include "backends/measure/products.h"

#include <ATen/Parallel.h>

#include <array>
#include <cmath>

namespace orch::measure {
namespace {

struct Shape {
  std::int64_t m, n, k, batch = 1;
};

// The four products of a layer for so many tokens, and that of the LM head.
void add_layer(std::vector<Shape>& shapes, std::int64_t tokens, std::int64_t hidden,
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

at::Tensor random(std::vector<std::int64_t> sizes, at::ScalarType type, at::Device device) {
  return at::randn(sizes, at::TensorOptions(at::kFloat).device(device)).to(type);
}

Json row(at::ScalarType type, const Shape& shape, double seconds) {
  return {{"dtype", name(type)}, {"m", shape.m},         {"n", shape.n},
          {"k", shape.k},        {"batch", shape.batch}, {"seconds", seconds}};
}

double product_seconds(Bench& bench, at::ScalarType type, const Shape& shape) {
  const auto x = random({shape.m, shape.k}, type, bench.device());
  const auto w = random({shape.n, shape.k}, type, bench.device());
  auto y = random({shape.m, shape.n}, type, bench.device());
  auto dx = at::empty_like(x), dw = at::empty_like(w);
  return bench.seconds_of([&] {
    at::mm_out(y, x, w.t());
    at::mm_out(dx, y, w);
    at::mm_out(dw, y.t(), x);
  }) / 3;
}

double batch_seconds(Bench& bench, at::ScalarType type, const Shape& shape) {
  const auto a = random({shape.batch, shape.m, shape.k}, type, bench.device());
  const auto b = random({shape.batch, shape.n, shape.k}, type, bench.device());
  auto c = random({shape.batch, shape.m, shape.n}, type, bench.device());
  return bench.seconds_of([&] { at::bmm_out(c, a, b.transpose(1, 2)); });
}

}  // namespace

Json products(Bench& bench) {
  std::vector<Shape> shapes;
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

Json attention_products(Bench& bench) {
  std::vector<Shape> shapes{{128, 128, 32, 16}, {128, 32, 128, 16}, {128, 128, 36, 16}};
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

int best_threads(Bench& bench) {
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

}  // namespace orch::measure
