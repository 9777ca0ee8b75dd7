#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/train/checkpoint/concatenation.h"

namespace orch::checkpoint {

// What lies where, of a state that is whole: every element of every tensor is there exactly once.
class Index {
 public:
  // Fails, naming the tensor, where boxes or segments overlap or leave a gap, where a segment ends
  // inside an element, and where a tensor has two shapes or types.
  static Result<Index> make(const Concatenation& state);

  const std::map<std::string, std::vector<PlacedBox>>& tensors() const { return tensors_; }
  // Those with bytes of a box.
  std::span<const Segment> segments(const PlacedBox& box) const;

 private:
  std::map<std::string, std::vector<PlacedBox>> tensors_;
  std::vector<Segment> segments_;  // by begin
};

}  // namespace orch::checkpoint
