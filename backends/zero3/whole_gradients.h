#pragma once

#include "backends/runtime/model/profile.h"
#include "backends/runtime/step/optimizer.h"
#include "backends/runtime/step/reducer.h"
#include "backends/zero3/sharding.h"

namespace orch::zero3 {

// Gradients that every rank has completely until all micro-batches are done: then each gets the sum
// of its part.
class WholeGradients final : public Sharding {
 public:
  // All must outlive it. group: null for a single rank. layers: of the model.
  WholeGradients(train::CommGroup* group, train::Parameters& parameters,
                 train::Optimizer& optimizer, const std::vector<train::BucketRange>& units,
                 std::int64_t layers, bool overlap, train::Profile& profile)
      : parameters_(parameters), optimizer_(optimizer), layers_(layers), profile_(profile) {
    if (!group) return;
    reducer_.emplace(parameters, *group, units,
                     train::ReducerOptions{overlap, true, /*scatter=*/true, {}});
  }

  void begin() override { clears_ = true; }
  void begin_backward(std::int64_t step, bool is_last) override {
    if (reducer_) reducer_->begin(step, is_last);
  }
  // Before the first backward, all weights are complete, and gradients of the previous step have
  // been read.
  void before(std::int64_t layer, train::Direction) override {
    if (!clears_ || layer != layers_) return;
    optimizer_.finish();
    parameters_.zero_gradients();
    clears_ = false;
  }
  void ready(std::size_t parameter) override {
    if (reducer_) reducer_->ready(parameter);
  }
  void finish() override {
    if (!reducer_) return;
    train::Profile::Scope scope(&profile_, "gradient reduce-scatter");
    reducer_->finish();
  }
  void describe(std::map<std::string, std::string>& effective) const override {
    effective["gradients_reduced"] = "when all micro-batches are in";
    effective["gradients_sent_as"] = "fp32";
    effective["tied_words_reduced"] = "once";
  }

 private:
  train::Parameters& parameters_;
  train::Optimizer& optimizer_;
  const std::int64_t layers_;
  train::Profile& profile_;
  std::optional<train::Reducer> reducer_;
  bool clears_ = false;  // the next backward begins with zero gradients
};

}  // namespace orch::zero3
