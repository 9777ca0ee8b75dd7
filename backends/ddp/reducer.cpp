#include "backends/ddp/reducer.h"

#include <ATen/ATen.h>

#include <stdexcept>

namespace orch::ddp {
namespace {

at::ScalarType sent_type(const train::Parameters& parameters, Compression compression) {
  const auto type = parameters.gradients().scalar_type();
  if (type != at::kFloat) return type;
  if (compression == Compression::fp16) return at::kHalf;
  return compression == Compression::bf16 ? at::kBFloat16 : type;
}

}  // namespace

Compression parse_compression(const std::string& name) {
  if (name == "none") return Compression::none;
  if (name == "fp16") return Compression::fp16;
  if (name == "bf16") return Compression::bf16;
  if (name == "powersgd") return Compression::powersgd;
  throw std::invalid_argument("compression '" + name +
                              "': there are none, fp16, bf16 and powersgd");
}

Reducer::Reducer(train::Parameters& parameters, train::Group& data, const ReducerOptions& options)
    : parameters_(parameters),
      data_(data),
      overlap_(options.overlap),
      bucket_view_(options.bucket_view),
      sent_type_(sent_type(parameters, options.compression)) {
  if (data.size() == 1) return;
  make_buckets(options);
  if (options.compression != Compression::powersgd) return;
  powersgd_ = std::make_unique<PowerSgdHook>(parameters, data, meter_, options.powersgd);
  for (const auto& bucket : buckets_) powersgd_->add_bucket(bucket.first, bucket.end);
}

void Reducer::make_buckets(const ReducerOptions& options) {
  const auto& flat = parameters_.gradients();
  const auto close = [&](std::size_t first, std::size_t end) {
    const auto from = parameters_[first].offset;
    const auto to = end < parameters_.size() ? parameters_[end].offset : flat.numel();
    auto& bucket = buckets_.emplace_back();
    bucket.first = first;
    bucket.end = end;
    bucket.gradients = flat.narrow(0, from, to - from);
  };
  std::size_t first = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    bucket_of_.push_back(buckets_.size());
    const auto elements = parameters_[i].offset + parameters_[i].count - parameters_[first].offset;
    const auto limit = buckets_.empty() ? options.first_bucket_bytes : options.bucket_bytes;
    if (static_cast<double>(elements) * static_cast<double>(flat.element_size()) < limit) continue;
    close(first, i + 1);
    first = i + 1;
  }
  if (first < parameters_.size()) close(first, parameters_.size());
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
  if (is_low_rank())
    buffer_bytes_ += powersgd_->launch(bucket, step_);
  else
    launch_plain(buckets_[bucket]);
  launched_ = bucket + 1;
}

// The sum is divided once, after it is complete: that rounds least, and for 2, 4, 8 ranks not at
// all. fp16 is divided before it is cast: the sum of quotients is in range whenever the mean is.
void Reducer::launch_plain(Bucket& bucket) {
  if (bucket.gradients.scalar_type() != sent_type_)
    bucket.sent = bucket.gradients.div(data_.size()).to(sent_type_);
  else
    bucket.sent = bucket_view_ ? bucket.gradients : bucket.gradients.clone();
  if (!bucket.sent.is_same(bucket.gradients))
    buffer_bytes_ += static_cast<double>(bucket.sent.nbytes());
  bucket.launched = meter_.all_reduce(data_, bucket.sent);
}

void Reducer::finish_plain(Bucket& bucket) {
  meter_.wait(bucket.launched);
  if (bucket.gradients.scalar_type() != sent_type_)
    bucket.gradients.copy_(bucket.sent);
  else if (bucket_view_)
    bucket.gradients.div_(data_.size());
  else
    at::div_out(bucket.gradients, bucket.sent, at::scalar_to_tensor(data_.size()));
  bucket.sent.reset();
  bucket.launched = {};
}

void Reducer::finish() {
  if (buckets_.empty()) return;
  if (!synchronize_) throw std::logic_error("finish() after a begin() without synchronisation");
  while (launched_ < buckets_.size()) launch(launched_);
  if (is_low_rank())
    powersgd_->finish();
  else
    for (auto& bucket : buckets_) finish_plain(bucket);
  meter_.end_step();
  synchronize_ = false;
}

std::vector<PowerSgdState> Reducer::states() {
  return powersgd_ ? powersgd_->states() : std::vector<PowerSgdState>{};
}

double Reducer::error_bytes() const { return powersgd_ ? powersgd_->error_bytes() : 0; }

}  // namespace orch::ddp
