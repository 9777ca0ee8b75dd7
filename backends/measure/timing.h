#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/runtime/comm/comm.h"

namespace orch::measure {

using Json = nlohmann::ordered_json;

// Measures times while the other ranks do the same, and collects them as JSON objects: {"op":
// "copy", "bytes": 1024, "seconds": 1e-6}. Times are the mean over the ranks of each rank's lower
// quartile.
class TimedDevice {
 public:
  // seconds: how long to repeat each measurement.
  TimedDevice(train::CommGroup& ranks, at::Device device, double seconds)
      : ranks_(ranks), device_(device), seconds_(seconds) {}

  at::Device device() const { return device_; }
  train::CommGroup& ranks() const { return ranks_; }

  // Must be called for the same work in the same order on every rank.
  double seconds_of(const std::function<void()>& call);
  double own_seconds_of(const std::function<void()>& call);  // of this rank alone, not the mean
  // For work in which ranks wait for each other: the same number of calls on every rank.
  double seconds_together(const std::function<void()>& call);

 private:
  double mean_over_ranks(double seconds);

  train::CommGroup& ranks_;
  at::Device device_;
  double seconds_;
};

}  // namespace orch::measure
