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
  bool overlap = true;  // else each layer waits for its own reduction
  // The words' gradient is reduced when the head has made its part of it, and its memory is free
  // until the lookup makes the other one: less memory, and once more on the way.
  bool twice = false;
};

// Gradients that are reduced as soon as a layer's backward has made them, so that no rank has all
// of them: backward writes one of two buffers while the other one is on its way. The embedding's is
// there from the head's backward, which begins it, to the end, or only when it is written. Sums
// that are on the host are added up there, by a thread of its own.
class GradientRing final : public Sharding {
 public:
  // All outlive it. group: null for a rank that is alone.
  GradientRing(train::Group* group, train::Parameters& parameters,
               const std::vector<train::BucketRange>& units, const RingOptions& options,
               train::Profile& profile);

  void begin() override;
  void before(std::int64_t layer, train::Way way) override;
  void after(std::int64_t layer, train::Way way) override;
  // What this rank owns is then the sum over the micro-batches of the mean over the group.
  void finish() override;
  // Adding it up on the host has told it already.
  std::optional<double> squares_of(std::size_t unit) const override;
  void describe(std::map<std::string, std::string>& effective) const override;
  void count(std::map<std::string, double>& memory_items) const override;

 private:
  struct Buffer {
    at::Tensor flat;
    at::Tensor sent, mine;  // on their way
    std::size_t unit = 0;
    bool is_under_way = false;
    train::Worker::Ticket added = 0;
    train::Pending pending = {};
  };

  Buffer make_buffer(std::int64_t layer) const;
  void bind(Buffer& buffer, std::int64_t layer);
  void send(Buffer& buffer);
  void add_on_host(Buffer& buffer);
  void take(Buffer& buffer);
  void take_embedding();
  bool is_divided_last() const { return group_ && options_.sent_as == at::kFloat; }

  train::Group* const group_;
  train::Parameters& parameters_;
  const std::vector<train::BucketRange>& units_;
  const RingOptions options_;
  train::Profile& profile_;
  Buffer ring_[2], embedding_, final_norm_;
  std::size_t next_ = 0;
  std::size_t most_sent_ = 0;  // bytes of what was rounded for the way, at a time
  Buffer* at_hand_ = nullptr;
  std::vector<bool> is_begun_;   // by unit: there is a sum already
  std::vector<double> squares_;  // by unit
  train::Copies reduced_;
  train::Staging staging_;
  train::Worker worker_;  // the last: it ends before what it works on
};

}  // namespace orch::zero3
