#pragma once

#include <string>

namespace orch::train {

// The energy counter of a GPU, by NVIDIA's management library (libnvidia-ml.so.1). That is opened
// at run time, so that nothing links against it.
class GpuEnergy {
 public:
  // The GPU at a PCI address, "0000:1B:00.0": CUDA's own numbers depend on CUDA_VISIBLE_DEVICES.
  // Without the library, or for a GPU without a counter (before Volta), there is none.
  explicit GpuEnergy(const std::string& pci_address);

  // Unique in the world: processes that share a GPU have the same. Empty: there is no counter.
  const std::string& id() const { return id_; }

  double joules() const;  // that all processes on the GPU used since this object was made

 private:
  using Device = void*;
  using Read = int (*)(Device, unsigned long long*);

  Device device_ = nullptr;
  Read read_ = nullptr;
  std::string id_;
  unsigned long long begun_at_ = 0;  // millijoules
};

}  // namespace orch::train
