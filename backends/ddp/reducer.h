#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/ddp/meter.h"
#include "backends/ddp/powersgd_hook.h"
#include "backends/runtime/comm/comm.h"
#include "backends/runtime/model/parameters.h"

namespace orch::ddp {

enum class Compression { none, fp16, bf16, powersgd };
Compression parse_compression(const std::string& name);  // throws std::invalid_argument

struct ReducerOptions {
  double bucket_bytes = 25 * 1048576.0;
  double first_bucket_bytes = 1048576.0;        // small, so that the network begins early
  bool overlap = true;                          // else all is sent in finish()
  bool bucket_view = true;                      // reduce in the gradients themselves, not in a copy
  Compression compression = Compression::none;  // fp16, bf16: none if gradients have 16 bits anyhow
  PowerSgdOptions powersgd;
};

// Makes gradients their mean over ranks, while backward goes on. Buckets are slices of the flat
// gradient buffer in its order, which is backward's; they are sent strictly in that order on every
// rank, whatever order gradients get ready in. Alone in its group it does nothing.
class Reducer {
 public:
  // Both outlive the reducer.
  Reducer(train::Parameters& parameters, train::Group& data, const ReducerOptions& options);

  // Before the backward of each micro-batch of a step (from 1). Without synchronize gradients are
  // only added up: nothing is sent.
  void begin(std::int64_t step, bool synchronize);
  // The gradient of this micro-batch is complete. At most once per begin(); never for one that is
  // not used, whose gradient takes part as it is.
  void ready(std::size_t parameter);
  // After the last backward: sends what was not, waits, and leaves the mean in the gradients.
  // Throws CommError. An overflow of fp16 compression is an infinity in the gradients, on every
  // rank.
  void finish();

  const ReducerStats& stats() const { return meter_.stats(); }
  // For checkpoints; see PowerSgdHook::states.
  std::vector<PowerSgdState> states();
  double buffer_bytes() const { return buffer_bytes_; }  // at the last step, beside the gradients
  double error_bytes() const;

  std::size_t bucket_count() const { return buckets_.size(); }
  std::int64_t bucket_elements(std::size_t bucket) const {
    return buckets_[bucket].gradients.numel();
  }

 private:
  struct Bucket {
    std::size_t first = 0, end = 0;  // parameters
    at::Tensor gradients;            // a slice of the flat buffer
    std::size_t waiting_for = 0;     // parameters not ready yet
    at::Tensor sent;                 // the gradients, or a copy
    Launched launched;
  };

  void make_buckets(const ReducerOptions& options);
  void launch_ready();
  void launch(std::size_t bucket);
  void launch_plain(Bucket& bucket);
  void finish_plain(Bucket& bucket);
  bool is_low_rank() const { return powersgd_ && powersgd_->compresses_at(step_); }

  train::Parameters& parameters_;
  train::Group& data_;
  const bool overlap_, bucket_view_;
  const at::ScalarType sent_type_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;  // by parameter
  std::vector<bool> is_ready_;
  std::unique_ptr<PowerSgdHook> powersgd_;
  Meter meter_;

  std::int64_t step_ = 0;
  bool synchronize_ = false;
  std::size_t launched_ = 0;  // buckets
  double buffer_bytes_ = 0;
};

}  // namespace orch::ddp
