#pragma once

#include <map>
#include <vector>

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/model/profile.h"
#include "backends/runtime/step/optimizer.h"
#include "backends/runtime/step/reducer.h"

namespace orch::train {

// Gathers weights of which each replica has updated a part: those that forward uses first are sent
// first.
class WeightGather {
 public:
  // All must outlive it. layers: of the model.
  WeightGather(CommGroup& data, const Parameters& parameters, Optimizer& optimizer,
               const std::vector<BucketRange>& buckets, std::int64_t layers, Profile& profile);

  void start();  // sends those already updated; the others follow in wait()
  void wait();   // for all of them
  // Waits for those of a layer; -1: the embedding; `layers`: the head.
  void wait_for(std::int64_t layer);

 private:
  void send_next();
  void wait_for_bucket(std::size_t bucket);

  CommGroup& data_;
  const Parameters& parameters_;
  Optimizer& optimizer_;
  const std::vector<BucketRange>& buckets_;
  Profile& profile_;
  std::map<std::int64_t, std::vector<std::size_t>> buckets_of_;  // by layer
  std::vector<PendingCollective> pending_;                       // by bucket; empty: not running
  std::size_t left_ = 0;  // number of leading buckets that have not been sent
  std::vector<bool> is_done_;
};

}  // namespace orch::train
