#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "core/plan/tie.h"
#include "core/price/search/space.h"

namespace orch::search {

// What a search stores of a configuration: enough to rank it, and to find it again.
struct Score {
  double days = 0;       // to train on all tokens
  double gpu_hours = 0;  // to train on all tokens
  double memory = 0;     // peak, bytes
  double headroom = 0;   // free share of the usable memory
  plan::Timing timing;   // for comparing days
  Place place;
};

Score score_of(const plan::Estimate& estimate, const plan::Partition* machine, const Place& place);

// Strict orders: configurations that are equal in all that counts are ordered by their place in the
// space, so that the result does not depend on the threads' timing.
bool faster(const Score& a, const Score& b);
bool cheaper(const Score& a, const Score& b);
bool roomier(const Score& a, const Score& b);
using Order = bool (*)(const Score&, const Score&);

// The best N configurations by an order, at most one of each block.
class TopList {
 public:
  TopList(Order before, std::size_t size) : before_(before), size_(size) {}

  bool wants(const Score& score) const;  // compares with the block's best so far, too
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
  std::vector<Score> heap_;  // the worst is at the top
  std::optional<Score> of_block_;
};

// The Pareto front: configurations for which no other one is better in days and memory (and
// GPU-hours, where they count) without being worse in one of them. Among equals the first in the
// space is kept.
class Front {
 public:
  explicit Front(bool gpu_hours) : gpu_hours_(gpu_hours) {}

  bool wants(const Score& score) const;
  void add(const Score& score);  // removes those that it beats
  void merge(const Front& other);
  std::vector<Score> sorted() const;  // by days

 private:
  bool beats(const Score& a, const Score& b) const;

  bool gpu_hours_;
  std::vector<Score> scores_;
  mutable std::size_t last_ = 0;  // the one that beat the last score likely beats the next one
};

// The best layouts, each with its best settings, by time and GPU-hours; the fastest of each part of
// the space; and the front. A configuration is offered in two steps, so that expensive questions
// are asked only about those that would be kept.
class Ranking {
 public:
  Ranking(std::size_t size, bool gpu_hours);

  bool wants(const Score& score) const;
  void add(const Score& score);
  void end_block();  // the next score belongs to another layout
  void merge(const Ranking& other);

  std::vector<Score> fastest() const { return lists_[0].sorted(); }
  std::vector<Score> cheapest() const { return lists_[1].sorted(); }
  std::vector<Score> front() const { return front_.sorted(); }
  const std::map<std::uint32_t, Score>& parts() const { return parts_; }
  bool empty() const { return lists_[0].empty(); }

 private:
  bool leads_part(const Score& score) const;

  std::array<TopList, 2> lists_;  // by time, by GPU-hours
  Front front_;
  std::map<std::uint32_t, Score> parts_;
};

}  // namespace orch::search
