#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "backends/runtime/host/copies.h"

namespace orch::train {

// Numbers that come from the device to the host slice by slice, and others that go back: one slice
// in each direction is copied while the host works on a third.
class Staging {
 public:
  // Elements of a slice: enough for a copy at full speed, and few enough that all slots stay in the
  // processor's cache, so that less goes through its memory.
  static constexpr std::int64_t kMost = 1 << 22;

  explicit Staging(at::Device device);

  // Flat tensors on the device, at most kMost elements; all slices have the same types.
  struct Slice {
    at::Tensor down, up;  // up may be undefined
  };
  // Both pointers point to the slice's first element.
  using Work = std::function<void(std::size_t slice, const void* down, void* up)>;
  // All slices of some work, to be run in order after `after` is reached: the first copies start at
  // once.
  void begin(std::vector<Slice> slices, const StreamEvent& after);
  // Works on the next slices, while those behind them are copied. Returns when the host is done
  // with them, and the point at which the device will be.
  StreamEvent run(std::size_t count, const Work& work);

  double bytes() const;  // of pinned memory

 private:
  static constexpr std::size_t kSlots = 3;
  struct Slot {
    at::Tensor down, up;  // pinned
    StreamEvent fetched = {}, sent = {};
  };
  void make_room();
  void fetch(std::size_t slice);

  at::Device device_;
  std::vector<Slice> slices_;
  StreamEvent after_;
  std::size_t next_ = 0;
  Copies down_, up_;
  Slot slots_[kSlots];
};

}  // namespace orch::train
