#include "backends/runtime/step/reducer.h"

#include <ATen/ATen.h>

#include <stdexcept>

namespace orch::train {

std::vector<BucketRange> buckets_of(const ParameterLayout& layout, std::int64_t element_bytes,
                                    const BucketOptions& options) {
  const auto& all = layout.all;
  std::vector<BucketRange> buckets;
  std::size_t first = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto elements = all[i].offset + all[i].count - all[first].offset;
    const auto limit = buckets.empty() ? options.first_bytes : options.bytes;
    const bool is_last = i + 1 == all.size();
    const bool closes =
        !options.alone.empty() &&
        (all[i].spec.name == options.alone || (!is_last && all[i + 1].spec.name == options.alone));
    if (!is_last && !closes && static_cast<double>(elements * element_bytes) < limit) continue;
    buckets.push_back(
        {first, i + 1, {all[first].offset, is_last ? layout.elements : all[i + 1].offset}});
    first = i + 1;
  }
  return buckets;
}

std::vector<ElementRange> shard_of(const std::vector<BucketRange>& buckets, std::int64_t rank,
                                   std::int64_t ranks) {
  std::vector<ElementRange> owned;
  for (const auto& bucket : buckets) {
    const auto [begin, end] = bucket.range;
    if ((end - begin) % ranks != 0)
      throw std::logic_error("a bucket that cannot be shared equally");
    const auto part = (end - begin) / ranks;
    owned.push_back({begin + rank * part, begin + (rank + 1) * part});
  }
  return owned;
}

Reducer::Reducer(Parameters& parameters, CommGroup& data, std::vector<BucketRange> buckets,
                 const ReducerOptions& options, std::unique_ptr<BucketHook> hook)
    : parameters_(parameters),
      data_(data),
      overlap_(options.overlap),
      bucket_view_(options.bucket_view),
      scatter_(options.scatter),
      sent_type_(options.sent_as.value_or(parameters.gradients().scalar_type())),
      hook_(std::move(hook)) {
  if (data.size() == 1) return;
  const auto owned =
      scatter_ ? shard_of(buckets, data.rank(), data.size()) : std::vector<ElementRange>();
  for (const auto& [first, end, range] : buckets) {
    auto& bucket = buckets_.emplace_back();
    bucket.first = first;
    bucket.end = end;
    const auto& flat = parameters.gradients();
    bucket.gradients = flat.narrow(0, range.begin, range.end - range.begin);
    bucket.mine = bucket.gradients;
    if (scatter_) {
      const auto& own = owned[buckets_.size() - 1];
      bucket.mine = flat.narrow(0, own.begin, own.end - own.begin);
    }
    bucket_of_.insert(bucket_of_.end(), end - first, buckets_.size() - 1);
  }
  if (hook_)
    for (const auto& bucket : buckets_) hook_->add_bucket(bucket.first, bucket.end);
}

void Reducer::begin(std::int64_t step, bool synchronize) {
  step_ = step;
  synchronize_ = synchronize;
  launched_ = 0;
  is_ready_.assign(parameters_.size(), false);
  for (auto& bucket : buckets_) bucket.waiting_for = bucket.end - bucket.first;
}

void Reducer::ready(std::size_t parameter) {
  if (!synchronize_ || buckets_.empty()) return;
  if (is_ready_[parameter])
    throw std::logic_error("the gradient of " + parameters_[parameter].spec.name +
                           " was declared complete twice");
  is_ready_[parameter] = true;
  --buckets_[bucket_of_[parameter]].waiting_for;
  if (overlap_) launch_ready();
}

void Reducer::launch_ready() {
  while (launched_ < buckets_.size() && buckets_[launched_].waiting_for == 0) launch(launched_);
}

void Reducer::launch(std::size_t bucket) {
  if (bucket == 0) buffer_bytes_ = 0;
  if (is_hooked())
    buffer_bytes_ += hook_->launch(bucket);
  else
    launch_plain(buckets_[bucket]);
  launched_ = bucket + 1;
}

// The complete sum is divided once: this rounds least, and not at all for 2, 4, 8 ranks. fp16 is
// divided before the cast: the sum of quotients is in range whenever the mean is.
void Reducer::launch_plain(Bucket& bucket) {
  if (divides_first()) bucket.gradients.div_(data_.size());
  if (scatter_) {
    bucket.pending = data_.reduce_scatter(bucket.mine, bucket.gradients);
    return;
  }
  if (bucket.gradients.scalar_type() != sent_type_)
    bucket.sent = bucket.gradients.div(data_.size()).to(sent_type_);
  else
    bucket.sent = bucket_view_ ? bucket.gradients : bucket.gradients.clone();
  if (!bucket.sent.is_same(bucket.gradients))
    buffer_bytes_ += static_cast<double>(bucket.sent.nbytes());
  bucket.pending = data_.all_reduce(bucket.sent);
}

void Reducer::finish_plain(Bucket& bucket) {
  bucket.pending.wait();
  const bool in_place = scatter_ || bucket_view_;
  if (!scatter_ && bucket.gradients.scalar_type() != sent_type_)
    bucket.gradients.copy_(bucket.sent);
  else if (divides_first() && !in_place)
    bucket.gradients.copy_(bucket.sent);
  else if (!divides_first() && in_place)
    bucket.mine.div_(data_.size());
  else if (!divides_first())
    at::div_out(bucket.gradients, bucket.sent, at::scalar_to_tensor(data_.size()));
  bucket.sent.reset();
  bucket.pending = {};
}

void Reducer::finish() {
  if (buckets_.empty()) return;
  if (!synchronize_) throw std::logic_error("finish() after a begin() without synchronisation");
  while (launched_ < buckets_.size()) launch(launched_);
  if (is_hooked())
    hook_->finish();
  else
    for (auto& bucket : buckets_) finish_plain(bucket);
  synchronize_ = false;
}

}  // namespace orch::train
