#pragma once

#include "backends/runtime/step/weight_gather.h"
#include "backends/zero3/sharding.h"

namespace orch::zero3 {

// Complete weights, of which each rank updates a part: the other parts are gathered after each
// update.
class RefreshedWeights final : public Sharding {
 public:
  template <class... Args>  // of the gather
  explicit RefreshedWeights(Args&&... args) : gather_(std::forward<Args>(args)...) {}

  void before(std::int64_t layer, train::Direction) override { gather_.wait_for(layer); }
  void finish() override { gather_.wait(); }
  void updated(bool overlapped) override {
    gather_.start();
    if (!overlapped) gather_.wait();
  }
  void describe(std::map<std::string, std::string>& effective) const override {
    effective["weights"] += ", gathered after each update";
  }

 private:
  train::WeightGather gather_;
};

}  // namespace orch::zero3
