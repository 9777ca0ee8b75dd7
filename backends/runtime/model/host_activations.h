#pragma once

#include <vector>

#include "backends/runtime/host/copies.h"

namespace orch::train {

// Host memory for layer inputs of one micro-batch that wait for their backward.
class HostActivations {
 public:
  HostActivations(at::Device device, std::size_t layers)
      : device_(device), copies_(device), all_(layers) {}

  // Copies it to the host in parallel to the following work; then its device memory is freed.
  void put(std::size_t layer, at::Tensor x);
  void fetch(std::size_t layer);       // starts copying it back
  at::Tensor take(std::size_t layer);  // ready for the following work on the current stream

  double bytes() const;
  std::int64_t bytes_on_their_way() const;  // maximum copied back at a time: two

 private:
  struct Place {
    at::Tensor host;  // pinned; reused for the next micro-batch
    at::Tensor back;
    StreamEvent there = {};
  };
  at::Device device_;
  Copies copies_;
  std::vector<Place> all_;
};

}  // namespace orch::train
