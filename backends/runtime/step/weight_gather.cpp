#include "backends/runtime/step/weight_gather.h"

#include <ATen/ATen.h>

#include "backends/runtime/model/stage.h"

namespace orch::train {

namespace {

// Tied embeddings are used twice.
std::vector<std::int64_t> users_of(const ParameterSpec& spec, std::int64_t layers) {
  if (spec.is_tied) return {-1, layers};
  return {layer_of(spec.name, layers)};
}

}  // namespace

WeightGather::WeightGather(CommGroup& data, const Parameters& parameters, Optimizer& optimizer,
                           const std::vector<BucketRange>& buckets, std::int64_t layers,
                           Profile& profile)
    : data_(data),
      parameters_(parameters),
      optimizer_(optimizer),
      buckets_(buckets),
      profile_(profile) {
  for (std::size_t i = 0; i < buckets.size(); ++i)
    for (auto parameter = buckets[i].first; parameter < buckets[i].end; ++parameter)
      for (const auto layer : users_of(parameters[parameter].spec, layers)) {
        auto& of = buckets_of_[layer];
        if (of.empty() || of.back() != i) of.push_back(i);
      }
}

// Buckets are in backward's order, except the word embedding, which is last and needed first. All
// ranks send in this order, whenever they reach it.
void WeightGather::start() {
  Profile::Scope scope(&profile_, "weight all-gather");
  pending_.clear();
  pending_.resize(buckets_.size());
  is_done_.assign(buckets_.size(), false);
  left_ = buckets_.size();
  while (left_ > 0 && optimizer_.is_finished(left_ - 1)) send_next();
}

void WeightGather::send_next() {
  const auto i = --left_;
  finish(optimizer_, i, profile_);
  const auto& weights = parameters_.weights();
  const auto& [begin, end] = buckets_[i].range;
  const auto& mine = parameters_.owned()[i].range;
  pending_[i] = data_.all_gather(weights.narrow(0, begin, end - begin),
                                 weights.narrow(0, mine.begin, mine.end - mine.begin));
}

void WeightGather::wait_for_bucket(std::size_t bucket) {
  if (is_done_[bucket]) return;
  Profile::Scope scope(&profile_, "weight all-gather");
  while (left_ > bucket) send_next();
  while (left_ > 0 && optimizer_.is_finished(left_ - 1)) send_next();
  pending_[bucket].wait();
  is_done_[bucket] = true;
}

void WeightGather::wait_for(std::int64_t layer) {
  if (pending_.empty()) return;
  const auto found = buckets_of_.find(layer);
  if (found == buckets_of_.end()) return;
  for (const auto bucket : found->second) wait_for_bucket(bucket);
}

void WeightGather::wait() {
  if (pending_.empty()) return;
  for (auto i = buckets_.size(); i-- > 0;) wait_for_bucket(i);
  pending_.clear();
}

}  // namespace orch::train
