#pragma once

#include "backends/measure/timing.h"

namespace orch::measure {

// {"dtype", "m", "n", "k", "seconds"}: the average of [m, k] x [k, n] in the three forms in which
// training multiplies (forward, for the input's gradient, for the weights'). From products that
// fill the device to those of a tiny model.
Json products(TimedDevice& bench);

// {"dtype", "m", "n", "k", "batch", "seconds"}: batches of small products, as in attention.
Json attention_products(TimedDevice& bench);

// The number of threads with which a medium-sized product is fastest, up to those that the rank may
// use.
int best_threads(TimedDevice& bench);

// The layer for measuring everything except matrix products: small on the CPU, so that tests are
// short, and large enough on a GPU to fill it.
struct LayerSize {
  std::int64_t hidden, heads, seq, vocab, micro_batch;

  std::int64_t tokens() const { return seq * micro_batch; }
  Json json() const;
};
LayerSize layer_size(at::Device device);

// {"op", "elements", "bytes", "seconds"}: operations limited by the device's memory, in fp32; bytes
// are those that must be read and written.
//   copy, add      larger than every cache
//   optimizer      a step of AdamW
//   element-wise   norms, biases, residuals and GELU of a layer, forward and backward
//   scores         its attention without the products
//   cross entropy  of its tokens
// The last four are the trainers' own.
Json passes(TimedDevice& bench, const LayerSize& size);

// {"direction", "bytes", "seconds"} between host and device, from pinned memory. Empty on the CPU.
Json copies(TimedDevice& bench);

// {"bytes", "seconds"} of an all-reduce over all ranks, from 4 KiB to 64 MiB. Empty with one rank.
Json all_reduces(TimedDevice& bench);

// Seconds of an empty operation.
double launch_seconds(TimedDevice& bench);

}  // namespace orch::measure
