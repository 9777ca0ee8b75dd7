#pragma once

#include <vector>

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/host/worker.h"
#include "backends/runtime/model/profile.h"
#include "backends/runtime/step/staging.h"
#include "backends/zero3/sharding.h"
#include "backends/zero3/units.h"

namespace orch::zero3 {

struct RingOptions {
  std::int64_t layers = 0;
  at::ScalarType sent_as = at::kFloat;
  bool overlap = true;  // false: each layer waits for its own reduction
  // The word embedding's gradient is reduced after the head's part is complete, and its memory is
  // free until the lookup computes the other part: less memory, but one more reduction.
  bool twice = false;
};

// Gradients that are reduced as soon as a layer's backward has computed them, so that no rank ever
// has all of them: backward writes to one of two buffers while the other is being reduced. The
// embedding's buffer exists from the head's backward, which begins it, to the end, or only while it
// is written. Sums in host memory are added up there, by a separate thread.
class GradientRing final : public Sharding {
 public:
  // All must outlive it. group: null for a single rank.
  GradientRing(train::CommGroup* group, train::Parameters& parameters,
               const std::vector<train::BucketRange>& units, const RingOptions& options,
               train::Profile& profile);

  void begin() override;
  void before(std::int64_t layer, train::Direction way) override;
  void after(std::int64_t layer, train::Direction way) override;
  // Afterwards what this rank owns is the sum over the micro-batches of the mean over the group.
  void finish() override;
  // Known from adding them up on the host.
  std::optional<double> squares_of(std::size_t unit) const override;
  void describe(std::map<std::string, std::string>& effective) const override;
  void count(std::map<std::string, double>& memory_items) const override;

 private:
  struct Buffer {
    at::Tensor flat;
    at::Tensor sent, mine;  // buffers being sent
    std::size_t unit = 0;
    bool is_under_way = false;
    train::Worker::Ticket added = 0;
    train::PendingCollective pending = {};
  };

  Buffer make_buffer(std::int64_t layer) const;
  void bind(Buffer& buffer, std::int64_t layer);
  void send(Buffer& buffer);
  void add_on_host(Buffer& buffer);
  void take(Buffer& buffer);
  void take_embedding();
  bool is_divided_last() const { return group_ && options_.sent_as == at::kFloat; }

  train::CommGroup* const group_;
  train::Parameters& parameters_;
  const std::vector<train::BucketRange>& units_;
  const RingOptions options_;
  train::Profile& profile_;
  Buffer ring_[2], embedding_, final_norm_;
  std::size_t next_ = 0;
  std::size_t most_sent_ = 0;  // maximum bytes of rounded copies for sending
  Buffer* at_hand_ = nullptr;
  std::vector<bool> is_begun_;   // by unit: true if a sum exists
  std::vector<double> squares_;  // by unit
  train::Copies reduced_;
  train::Staging staging_;
  train::Worker worker_;  // last member: destroyed before the data that it works on
};

}  // namespace orch::zero3
