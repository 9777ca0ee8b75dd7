#pragma once

#include <map>
#include <optional>
#include <string>

#include "backends/runtime/model/options.h"

namespace orch::zero3 {

// What an engine does with weights, or with gradients, around the layers of a step, where they are
// not whole on every rank: each form says when they move. This one has all of them and moves
// nothing.
class Sharding {
 public:
  virtual ~Sharding() = default;
  virtual void begin() {}                                                  // a step
  virtual void begin_backward(std::int64_t /*step*/, bool /*is_last*/) {}  // of a micro-batch
  virtual void before(std::int64_t /*layer*/, train::Way) {}
  virtual void after(std::int64_t /*layer*/, train::Way) {}
  virtual void ready(std::size_t /*parameter*/) {}  // its gradient
  virtual void finish() {
  }  // after the last backward, or before the weights change. Throws CommError
  virtual void updated(bool /*overlapped*/) {}  // the weights that this rank owns
  // Of the owned part of a unit's gradient, where it is known already.
  virtual std::optional<double> squares_of(std::size_t /*unit*/) const { return std::nullopt; }
  // What becomes of what was asked for, and bytes beside weights and gradients.
  virtual void describe(std::map<std::string, std::string>& /*effective*/) const {}
  virtual void count(std::map<std::string, double>& /*memory_items*/) const {}
};

}  // namespace orch::zero3
