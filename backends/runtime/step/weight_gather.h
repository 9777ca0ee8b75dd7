#pragma once

#include <map>
#include <vector>

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/model/profile.h"
#include "backends/runtime/step/optimizer.h"
#include "backends/runtime/step/reducer.h"

namespace orch::train {

// Weights that each replica has updated its own part of, on their way to the others: those that
// forward uses first go first.
class WeightGather {
 public:
  // All outlive it. layers: of the model.
  WeightGather(Group& data, const Parameters& parameters, Optimizer& optimizer,
               const std::vector<BucketRange>& buckets, std::int64_t layers, Profile& profile);

  void start();  // those that are updated already; the others follow as they are waited for
  void wait();   // for all of them
  // For those of a layer; -1: the embedding's, layers: the head's.
  void wait_for(std::int64_t layer);

 private:
  void send_next();
  void wait_for_bucket(std::size_t bucket);

  Group& data_;
  const Parameters& parameters_;
  Optimizer& optimizer_;
  const std::vector<BucketRange>& buckets_;
  Profile& profile_;
  std::map<std::int64_t, std::vector<std::size_t>> buckets_of_;  // by layer
  std::vector<Pending> pending_;  // by bucket; empty: none is on its way
  std::size_t left_ = 0;          // buckets that have not been sent: the first so many
  std::vector<bool> is_done_;
};

}  // namespace orch::train
