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
struct RunScore {
  double days = 0;       // to train on all tokens
  double gpu_hours = 0;  // to train on all tokens
  double memory = 0;     // peak, bytes
  double headroom = 0;   // free share of the usable memory
  plan::Timing timing;   // for comparing days
  SpacePlace place;
};

RunScore score_of(const plan::Estimate& estimate, const plan::Partition* machine,
                  const SpacePlace& place);

// Strict orders: configurations that are equal in all that counts are ordered by their place in the
// space, so that the result does not depend on the threads' timing.
bool faster(const RunScore& a, const RunScore& b);
bool cheaper(const RunScore& a, const RunScore& b);
bool roomier(const RunScore& a, const RunScore& b);
using ScoreOrder = bool (*)(const RunScore&, const RunScore&);

// The best N configurations by an order, at most one of each block.
class TopList {
 public:
  TopList(ScoreOrder before, std::size_t size) : before_(before), size_(size) {}

  bool wants(const RunScore& score) const;  // compares with the block's best so far, too
  void offer(const RunScore& score);
  void end_block();
  void merge(const TopList& other);
  std::vector<RunScore> sorted() const;
  bool empty() const { return heap_.empty(); }

 private:
  bool has_place_for(const RunScore& score) const;
  void add(const RunScore& score);

  ScoreOrder before_;
  std::size_t size_;
  std::vector<RunScore> heap_;  // the worst is at the top
  std::optional<RunScore> of_block_;
};

// The Pareto front: configurations for which no other one is better in days and memory (and
// GPU-hours, where they count) without being worse in one of them. Among equals the first in the
// space is kept.
class ParetoFront {
 public:
  explicit ParetoFront(bool gpu_hours) : gpu_hours_(gpu_hours) {}

  bool wants(const RunScore& score) const;
  void add(const RunScore& score);  // removes those that it beats
  void merge(const ParetoFront& other);
  std::vector<RunScore> sorted() const;  // by days

 private:
  bool beats(const RunScore& a, const RunScore& b) const;

  bool gpu_hours_;
  std::vector<RunScore> scores_;
  mutable std::size_t last_ = 0;  // the one that beat the last score likely beats the next one
};

// The best layouts, each with its best settings, by time and GPU-hours; the fastest of each part of
// the space; and the front. A configuration is offered in two steps, so that expensive questions
// are asked only about those that would be kept.
class Ranking {
 public:
  Ranking(std::size_t size, bool gpu_hours);

  bool wants(const RunScore& score) const;
  void add(const RunScore& score);
  void end_block();  // the next score belongs to another layout
  void merge(const Ranking& other);

  std::vector<RunScore> fastest() const { return lists_[0].sorted(); }
  std::vector<RunScore> cheapest() const { return lists_[1].sorted(); }
  std::vector<RunScore> front() const { return front_.sorted(); }
  const std::map<std::uint32_t, RunScore>& parts() const { return parts_; }
  bool empty() const { return lists_[0].empty(); }

 private:
  bool leads_part(const RunScore& score) const;

  std::array<TopList, 2> lists_;  // by time, by GPU-hours
  ParetoFront front_;
  std::map<std::uint32_t, RunScore> parts_;
};

}  // namespace orch::search
