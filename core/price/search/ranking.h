#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "core/plan/tie.h"
#include "core/price/search/space.h"

namespace orch::search {

// What a search remembers of a configuration: enough to rank it, and where to find it again.
struct Score {
  double days = 0;       // to train
  double gpu_hours = 0;  // to train
  double memory = 0;     // peak, bytes
  double headroom = 0;   // share of the usable memory that stays free
  plan::Timing timing;   // of the days
  Place place;
};

Score score_of(const plan::Estimate& estimate, const plan::Partition* machine, const Place& place);

// Orders without equals: what is the same in all that counts is ordered by its place, so that the
// result does not depend on who came first.
bool faster(const Score& a, const Score& b);
bool cheaper(const Score& a, const Score& b);
bool roomier(const Score& a, const Score& b);
using Order = bool (*)(const Score&, const Score&);

// The best so many by an order, of which a block gives but one.
class TopList {
 public:
  TopList(Order before, std::size_t size) : before_(before), size_(size) {}

  bool wants(const Score& score) const;  // also of the block's best so far
  void offer(const Score& score);
  void end_block();
  void merge(const TopList& other);
  std::vector<Score> sorted() const;
  bool empty() const { return heap_.empty(); }

 private:
  bool has_place_for(const Score& score) const;
  void add(const Score& score);

  Order before_;
  std::size_t size_;
  std::vector<Score> heap_;  // the worst at its top
  std::optional<Score> of_block_;
};

// Configurations that no other one beats in days and memory (and GPU-hours, where they count)
// without being worse in another. Of equals the first in place stays.
class Front {
 public:
  explicit Front(bool gpu_hours) : gpu_hours_(gpu_hours) {}

  bool wants(const Score& score) const;
  void add(const Score& score);  // what it beats leaves
  void merge(const Front& other);
  std::vector<Score> sorted() const;  // by days

 private:
  bool beats(const Score& a, const Score& b) const;

  bool gpu_hours_;
  std::vector<Score> scores_;
  mutable std::size_t last_ = 0;  // what beat the last one likely beats the next one
};

// The best layouts, each at its best settings, by time and GPU-hours; the fastest of each part of
// the space; and the front. A configuration is offered in two steps, so that costly questions are
// asked only of those that would be kept.
class Ranking {
 public:
  Ranking(std::size_t size, bool gpu_hours);

  bool wants(const Score& score) const;
  void add(const Score& score);
  void end_block();  // the next score is of another layout
  void merge(const Ranking& other);

  std::vector<Score> fastest() const { return lists_[0].sorted(); }
  std::vector<Score> cheapest() const { return lists_[1].sorted(); }
  std::vector<Score> front() const { return front_.sorted(); }
  const std::map<std::uint32_t, Score>& parts() const { return parts_; }
  bool empty() const { return lists_[0].empty(); }

 private:
  bool leads_part(const Score& score) const;

  std::array<TopList, 2> lists_;  // by time, GPU-hours
  Front front_;
  std::map<std::uint32_t, Score> parts_;
};

}  // namespace orch::search
