#pragma once

#include "backends/runtime/comm/mesh.h"
#include "backends/runtime/model/options.h"
#include "core/train/data/dataset.h"

namespace orch::train {

// How many micro-batches each replica has of a batch. Throws Failed("bad_exit") where they cannot
// share it.
std::int64_t micro_batches_of(std::int64_t global_batch, const plan::Run& run, const Mesh& mesh);

// Of the samples from `first` on, those of one micro-batch of this replica, by its number: replicas
// take turns. As tensors on the device; not `with_tokens`: their place alone. Throws Failed("data")
// for damaged data and for tokens that the vocabulary does not have.
MicroBatch read_batch(const data::Dataset& dataset, const plan::Run& run, const Mesh& mesh,
                      std::int64_t first, std::int64_t micro, std::int64_t step,
                      bool with_tokens = true);

}  // namespace orch::train
