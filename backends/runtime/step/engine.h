#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/train/checkpoint/checkpoint.h"
#include "core/train/data/dataset.h"

namespace orch::train {

// The result of one optimizer step. Losses are those of the global batch, the same on every rank.
struct StepResult {
  double loss = 0;
  double gradient_norm = 0;
  double loss_scale = 1;
  bool skipped = false;  // an overflow: no parameters were updated
  bool stop = false;     // a rank was told to stop
};

// What all ranks know once the gradients of a step are reduced.
struct AgreedTotals {
  double norm = 0;  // of all gradients, times the loss scale
  double loss = 0;
  bool stop = false;
};

// The samples of one step: [first, first + global_batch) in the data's order.
struct StepBatch {
  std::int64_t step = 0;  // from 1
  std::int64_t first = 0;
  std::int64_t global_batch = 0;
  double learning_rate = 0;
  bool stop = false;  // this rank was told to stop
};

// all: continue a checkpoint's training; weights: begin another training with its weights.
enum class LoadScope { all, weights };

// A parallelism strategy at work: the interface between loop and backend.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual StepResult step(const StepBatch& batch, const data::Dataset& dataset) = 0;
  // The mean loss over [first, first + count), without dropout.
  virtual double evaluate(const data::Dataset& dataset, std::int64_t first, std::int64_t count) = 0;

  // A copy of this rank's share of the state, in host memory: training may continue while it is
  // written. Adds to the facts what load() needs besides.
  virtual checkpoint::SavedState save(checkpoint::CheckpointFacts& facts) = 0;
  virtual void load(const checkpoint::CheckpointReader& from, LoadScope what) = 0;

  // After the last step: starts all outstanding communication, so that no rank waits for one that
  // has left.
  virtual void finish() {}

  // The settings actually in use, for the log: "attention": "sdpa", "compression": "powersgd rank
  // 2", ...
  virtual std::map<std::string, std::string> effective() const = 0;
  // By the estimator's names: "weights", "gradients", "optimizer states", "activations", ...
  virtual std::map<std::string, double> memory_items() const = 0;
};

}  // namespace orch::train
