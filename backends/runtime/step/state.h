#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "backends/runtime/model/parameters.h"
#include "backends/runtime/step/optimizer.h"
#include "core/train/checkpoint/checkpoint.h"

namespace orch::train {

// A part of the training's state on this rank, by its name in checkpoints.
struct StateTensor {
  checkpoint::TensorPiece piece;
  at::Tensor tensor;  // its elements; loading copies into it
  std::size_t parameter = 0;
  bool is_shared = false;  // every rank that has a part of the parameter has all of this
};

StateTensor whole_state(std::string name, const at::Tensor& tensor);

// Masters and optimizer states of what the rank updates. Rows of the word embedding beyond the
// vocabulary are not saved.
std::vector<StateTensor> training_state(Parameters& parameters, Optimizer& optimizer,
                                        std::int64_t vocab);
std::vector<StateTensor> weight_state(Parameters& parameters, std::int64_t vocab);

// This rank's share of tensors that all of `ranks` have: the rank-th part of their concatenation,
// so that there are hardly more pieces than tensors and ranks. Copies, or, if saved.reads is set,
// reads the tensors when they are written.
void save_share(const std::vector<StateTensor>& state, int rank, int ranks,
                checkpoint::SavedState& saved);
void save_whole(const StateTensor& state, checkpoint::SavedState& saved);

// Bytes of weights, gradients and optimizer states, by the estimator's names.
std::map<std::string, double> state_items(const Parameters& parameters, const Optimizer& optimizer);

// Throws ClassifiedFailure("data") if the checkpoint lacks a tensor or has another shape.
void load_state(const checkpoint::CheckpointReader& from, const std::vector<StateTensor>& state);

}  // namespace orch::train
