#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/family.h"

namespace orch::measure {

// A matrix product [m, k] x [k, n], batch times.
struct Product {
  std::string dtype;
  double m = 0, n = 0, k = 0, batch = 1;
  double seconds = 0;

  double flops() const { return 2 * m * n * k * batch; }
};

// An operation that passes over memory.
struct Pass {
  std::string op;
  double elements = 0;
  double bytes = 0;
  double seconds = 0;
};

// So many bytes that went somewhere, or operations, and how long they took.
struct Point {
  double amount = 0;
  double seconds = 0;
};

// The layer whose memory-bound parts were measured.
struct MeasuredLayer {
  std::int64_t hidden = 0, heads = 0, seq = 0, vocab = 0, micro_batch = 0;

  plan::Model model() const { return plan::sized("gpt", "layer", 1, hidden, heads, vocab, seq); }
  double params() const { return model().layer_params(); }
};

// What orch-measure says: what a rank gets of a machine while so many of them work.
struct Measurement {
  std::string device;  // "cpu", "cuda"
  std::string name;    // of the GPU
  std::string torch;   // LibTorch's version
  std::int64_t ranks = 1;
  std::int64_t threads = 1;       // of a rank
  std::int64_t best_threads = 1;  // with which products are fastest
  double memory = 0;              // bytes of the device, or of the machine
  double context = 0;             // bytes of a process before its first tensor
  double communicator = 0;        // bytes that a group of ranks takes
  double launch_seconds = 0;      // of an operation on nothing
  std::vector<Product> products;
  std::vector<Product> attention;
  MeasuredLayer layer;
  std::vector<Pass> passes;
  std::vector<Point> all_reduce;
  std::vector<Point> copies;  // between host and device, both ways

  const Pass* pass(const std::string& op) const;
};

// A number that cannot be (negative, not finite, no time at all) is an error.
Result<Measurement> parse_measurement(const std::string& text, const std::string& place);

}  // namespace orch::measure
