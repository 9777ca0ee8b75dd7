#pragma once

#include <memory>
#include <optional>

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/model/parameters.h"

namespace orch::train {

// A range of the flat gradient buffer that is sent at once.
struct BucketRange {
  std::size_t first = 0, end = 0;  // parameters
  ElementRange range;
};

struct BucketOptions {
  double bytes = 25 * 1048576.0;
  double first_bytes = 1048576.0;  // small, so that communication begins early
  std::string alone;               // a parameter that gets its own bucket
};
std::vector<BucketRange> buckets_of(const ParameterLayout& layout, std::int64_t element_bytes,
                                    const BucketOptions& options);
// A rank's part of every bucket, if each rank owns an equal part.
std::vector<ElementRange> shard_of(const std::vector<BucketRange>& buckets, std::int64_t rank,
                                   std::int64_t ranks);

struct ReducerOptions {
  bool overlap = true;      // false: all is sent in finish()
  bool bucket_view = true;  // reduce in the gradients themselves, not in a copy
  bool scatter = false;     // each rank gets only the mean of its own part: see shard_of
  std::optional<at::ScalarType> sent_as;  // unset: the gradients' type
};

// An alternative way to send buckets.
class BucketHook {
 public:
  virtual ~BucketHook() = default;
  virtual void add_bucket(std::size_t first, std::size_t end) = 0;  // parameters
  virtual bool is_used_at(std::int64_t step) const = 0;
  virtual double launch(std::size_t bucket) = 0;  // returns the size of its buffers in bytes
  virtual void finish() = 0;                      // all buckets; afterwards gradients are the mean
};

// Averages gradients over ranks, while backward is running. Buckets are slices of the flat gradient
// buffer in its order, which is backward's; they are sent strictly in that order on every rank, in
// whatever order gradients become ready. In a group of one it does nothing.
class Reducer {
 public:
  // Both must outlive the reducer.
  Reducer(Parameters& parameters, CommGroup& data, std::vector<BucketRange> buckets,
          const ReducerOptions& options, std::unique_ptr<BucketHook> hook = {});

  // Call this before the backward of a micro-batch of a step (from 1), or of all of them if ready()
  // is called for the last one only. Without synchronize gradients are accumulated and not sent.
  void begin(std::int64_t step, bool synchronize);
  // The gradient of this micro-batch is complete. At most once per begin(); never for an unused
  // parameter, whose gradient is sent as it is.
  void ready(std::size_t parameter);
  // Call this after the last backward: sends the rest, waits, and stores the mean in the gradients.
  // Throws CommError. An overflow of fp16 compression is an infinity in the gradients, on every
  // rank.
  void finish();

  double buffer_bytes() const { return buffer_bytes_; }  // in the last step, besides the gradients

 protected:
  BucketHook* hook() const { return hook_.get(); }

 private:
  struct Bucket {
    std::size_t first = 0, end = 0;  // parameters
    at::Tensor gradients;            // a slice of the flat buffer
    at::Tensor mine;                 // the part whose mean this rank gets
    std::size_t waiting_for = 0;     // parameters not ready yet
    at::Tensor sent;                 // the gradients, or a copy
    PendingCollective pending;
  };

  void launch_ready();
  void launch(std::size_t bucket);
  void launch_plain(Bucket& bucket);
  void finish_plain(Bucket& bucket);
  // A sum computed in fp16 itself would overflow.
  bool divides_first() const {
    return sent_type_ == at::kHalf && parameters_.gradients().scalar_type() == at::kHalf;
  }
  bool is_hooked() const { return hook_ && hook_->is_used_at(step_); }

  Parameters& parameters_;
  CommGroup& data_;
  const bool overlap_, bucket_view_, scatter_;
  const at::ScalarType sent_type_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;  // by parameter
  std::vector<bool> is_ready_;
  std::unique_ptr<BucketHook> hook_;

  std::int64_t step_ = 0;
  bool synchronize_ = false;
  std::size_t launched_ = 0;  // number of buckets
  double buffer_bytes_ = 0;
};

}  // namespace orch::train
