#pragma once

#include <stdexcept>
#include <string>

namespace orch::train {

// A failure with a known class: gpu_memory, host_memory, nccl, data, nan, disk, node, bad_exit (see
// events in core/record/events/collect.h).
class ClassifiedFailure : public std::runtime_error {
 public:
  ClassifiedFailure(std::string kind, const std::string& message)
      : std::runtime_error(message), kind_(std::move(kind)) {}
  const std::string& kind() const { return kind_; }

 private:
  std::string kind_;
};

}  // namespace orch::train
