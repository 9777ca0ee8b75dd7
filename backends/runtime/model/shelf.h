#pragma once

#include <vector>

#include "backends/runtime/host/copies.h"

namespace orch::train {

// Inputs of layers that wait for their backward in host memory: those of one micro-batch.
class Shelf {
 public:
  Shelf(at::Device device, std::size_t layers) : device_(device), copies_(device), all_(layers) {}

  // It goes to the host beside what follows; its memory on the device is free when it is there.
  void put(std::size_t layer, at::Tensor x);
  void fetch(std::size_t layer);       // it is on its way back
  at::Tensor take(std::size_t layer);  // for what follows on the current stream

  double bytes() const;
  std::int64_t bytes_on_their_way() const;  // back, at most at a time: two

 private:
  struct Place {
    at::Tensor host;  // pinned; the next micro-batch's too
    at::Tensor back;
    Moment there = {};
  };
  at::Device device_;
  Copies copies_;
  std::vector<Place> all_;
};

}  // namespace orch::train
