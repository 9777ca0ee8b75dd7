#pragma once

#include "backends/runtime/comm/mesh.h"
#include "backends/runtime/model/options.h"
#include "core/train/data/dataset.h"

namespace orch::train {

// The number of micro-batches per replica. Throws ClassifiedFailure("bad_exit") if the batch is not
// divisible.
std::int64_t micro_batches_of(std::int64_t global_batch, const plan::Run& run, const Mesh& mesh);

// Reads one micro-batch of this replica by its number, from the samples that begin at `first`:
// replicas take turns. Tensors are on the device; without `with_tokens` only the position is set.
// Throws ClassifiedFailure("data") for damaged data and for tokens outside the vocabulary.
MicroBatch read_batch(const data::Dataset& dataset, const plan::Run& run, const Mesh& mesh,
                      std::int64_t first, std::int64_t micro, std::int64_t step,
                      bool with_tokens = true);

}  // namespace orch::train
