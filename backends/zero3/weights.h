#pragma once

#include <vector>

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/host/copies.h"
#include "backends/runtime/model/profile.h"
#include "backends/runtime/step/optimizer.h"
#include "backends/zero3/sharding.h"
#include "backends/zero3/units.h"

namespace orch::zero3 {

struct SlotOptions {
  at::ScalarType dtype = at::kFloat;  // type for the products
  std::int64_t layers = 0;
  std::int64_t ahead = 1;  // number of layers gathered ahead
  // A slot for every layer, filled in forward and released after backward, as in FSDP.
  bool keeps_all = false;
  bool frees_ends = false;  // embedding and final norm too; else they stay for a step
};

// Weights of which each rank has a part, on the device or in host memory, gathered into fixed
// slots: one for each layer that is in use or being gathered, one for the embedding, one for the
// final norm. All ranks gather in the same order, which follows from the order of layers alone. A
// part is sent only after the optimizer has updated it.
class GatheredWeights final : public Sharding {
 public:
  // All must outlive it. group: null for a rank that has all parts; those on its device need no
  // slot.
  GatheredWeights(train::CommGroup* group, train::Parameters& parameters,
                  train::Optimizer& optimizer, const std::vector<train::BucketRange>& units,
                  const SlotOptions& options, train::Profile& profile);

  void before(std::int64_t layer,
              train::Direction way) override;  // afterwards its weights are complete
  void after(std::int64_t layer, train::Direction way) override;
  void updated(bool overlapped) override;  // gathered weights are outdated
  void describe(std::map<std::string, std::string>& effective) const override;
  void count(std::map<std::string, double>& memory_items) const override;

 private:
  static constexpr std::int64_t kNone = -2;
  struct Slot {
    at::Tensor flat;
    at::Tensor part;     // this rank's part, while it is sent
    at::Tensor fetched;  // the same, copied from host memory
    std::int64_t layer = kNone;
    bool is_there = false;
    train::StreamEvent copied = {};
    train::PendingCollective pending = {};
  };

  Slot make_slot(std::int64_t layer) const;
  bool is_in_place(std::int64_t layer) const;  // needs no slot
  void bind(std::int64_t layer, const at::Tensor& flat);
  void gather(Slot& slot, std::size_t unit);
  std::vector<std::int64_t> wanted(std::int64_t layer, train::Direction way) const;
  Slot* find(std::int64_t layer);
  Slot& room_for(std::int64_t layer);
  void start(std::int64_t layer);
  void wait(std::int64_t layer);
  static void arrive(Slot& slot);  // waits for a running gather

  train::CommGroup* const group_;
  train::Parameters& parameters_;
  train::Optimizer& optimizer_;
  const std::vector<train::BucketRange>& units_;
  const SlotOptions options_;
  train::Profile& profile_;
  train::Copies copies_;
  std::vector<Slot> slots_;  // for layers
  Slot embedding_, final_norm_;
};

}  // namespace orch::zero3
