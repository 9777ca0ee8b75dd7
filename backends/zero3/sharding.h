#pragma once

#include <map>
#include <optional>
#include <string>

#include "backends/runtime/model/options.h"

namespace orch::zero3 {

// How an engine moves weights, or gradients, around the layers of a step, if they are not complete
// on every rank: each subclass defines when they move. This base class has all of them and moves
// nothing.
class Sharding {
 public:
  virtual ~Sharding() = default;
  virtual void begin() {}                                                  // begins a step
  virtual void begin_backward(std::int64_t /*step*/, bool /*is_last*/) {}  // of a micro-batch
  virtual void before(std::int64_t /*layer*/, train::Direction) {}
  virtual void after(std::int64_t /*layer*/, train::Direction) {}
  virtual void ready(std::size_t /*parameter*/) {}  // its gradient is complete
  virtual void finish() {
  }  // after the last backward, or before the weights change. Throws CommError
  virtual void updated(bool /*overlapped*/) {}  // the weights that this rank owns have changed
  // For the owned part of a unit's gradient, if already known.
  virtual std::optional<double> squares_of(std::size_t /*unit*/) const { return std::nullopt; }
  // Reports the settings in use, and bytes besides weights and gradients.
  virtual void describe(std::map<std::string, std::string>& /*effective*/) const {}
  virtual void count(std::map<std::string, double>& /*memory_items*/) const {}
};

}  // namespace orch::zero3
