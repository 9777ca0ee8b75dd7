#pragma once

#include "backends/runtime/model/options.h"
#include "core/train/data/dataset.h"

namespace orch::train {

// How many micro-batches each of so many replicas has of a batch. Throws Failed("bad_exit") where they
// cannot share it.
std::int64_t micro_batches_of(std::int64_t global_batch, std::int64_t replicas, std::int64_t micro);

// Samples [first, first + count) as tensors on the device. Throws Failed("data") for damaged data
// and for tokens that the vocabulary does not have.
MicroBatch read_batch(const data::Dataset& dataset, const plan::Model& config, at::Device device,
                      std::int64_t first, std::int64_t count, std::int64_t step);

}  // namespace orch::train
