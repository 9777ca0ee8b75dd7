#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "backends/runtime/model/parameters.h"
#include "backends/runtime/step/optimizer.h"
#include "core/checkpoint/checkpoint.h"

namespace orch::train {

// A tensor of the training's state under the name it has in checkpoints. All of it is on this rank.
struct StateTensor {
  std::string name;   // "weights/layers.0.mlp.up.weight"
  at::Tensor tensor;  // without the padding of the vocabulary; loading copies into it
};

// Masters and optimizer states. Rows of the word embedding beyond the vocabulary are no state.
std::vector<StateTensor> training_state(Parameters& parameters, Optimizer& optimizer,
                                        std::int64_t vocab);
std::vector<StateTensor> weight_state(Parameters& parameters, std::int64_t vocab);

// This rank's share of tensors that all of `ranks` have: the rank-th part of them in a row, so that
// there are hardly more pieces than tensors and ranks.
void save_share(const std::vector<StateTensor>& state, int rank, int ranks,
                checkpoint::Saved& saved);
void save_whole(const StateTensor& state, checkpoint::Saved& saved);

// Throws Failed("data") where the checkpoint lacks a tensor or has another shape.
void load_state(const checkpoint::Reader& from, const std::vector<StateTensor>& state);

}  // namespace orch::train
