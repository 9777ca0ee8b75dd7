#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/family.h"

namespace orch::measure {

// A matrix product [m, k] x [k, n], batch times.
struct MeasuredProduct {
  std::string dtype;
  double m = 0, n = 0, k = 0, batch = 1;
  double seconds = 0;

  double flops() const { return 2 * m * n * k * batch; }
};

// A memory-bound operation.
struct MeasuredPass {
  std::string op;
  double elements = 0;
  double bytes = 0;
  double seconds = 0;
};

// An amount of bytes or operations, and the seconds that it took.
struct MeasuredPoint {
  double amount = 0;
  double seconds = 0;
};

// The layer whose memory-bound operations were measured.
struct MeasuredLayer {
  std::int64_t hidden = 0, heads = 0, seq = 0, vocab = 0, micro_batch = 0;

  plan::Model model() const { return plan::sized("gpt", "layer", 1, hidden, heads, vocab, seq); }
  double params() const { return model().layer_params(); }
};

// The output of orch-measure: what one rank reaches on a machine while `ranks` of them work.
struct DeviceMeasurement {
  std::string device;  // "cpu", "cuda"
  std::string name;    // the GPU's name
  std::string torch;   // LibTorch's version
  std::int64_t ranks = 1;
  std::int64_t threads = 1;       // threads per rank
  std::int64_t best_threads = 1;  // the number at which products are fastest
  double memory = 0;              // bytes of the device's, or of the machine's memory
  double context = 0;             // bytes of a process before its first tensor
  double communicator = 0;        // bytes that a group of ranks allocates
  double launch_seconds = 0;      // of an empty operation
  std::vector<MeasuredProduct> products;
  std::vector<MeasuredProduct> attention;
  MeasuredLayer layer;
  std::vector<MeasuredPass> passes;
  std::vector<MeasuredPoint> all_reduce;
  std::vector<MeasuredPoint> copies;  // between host and device, in both directions

  const MeasuredPass* pass(const std::string& op) const;
};

// An impossible number (negative, not finite, zero time) is an error.
Result<DeviceMeasurement> parse_measurement(const std::string& text, const std::string& place);

}  // namespace orch::measure
