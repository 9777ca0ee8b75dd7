#include "backends/runtime/host/gpu_energy.h"

#include <dlfcn.h>

namespace orch::train {
namespace {

// nvml.h: functions return 0 on success. Names with _v2 are those that its macros make of the
// documented ones.
constexpr int kSuccess = 0;
constexpr unsigned kLongestId = 96;

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

}  // namespace

// The library stays open: other parts of the process (NCCL) use it too.
GpuEnergy::GpuEnergy(const std::string& pci_address) {
  void* library = pci_address.empty() ? nullptr : ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return;
  const auto init = symbol<int (*)()>(library, "nvmlInit_v2");
  const auto find =
      symbol<int (*)(const char*, Device*)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
  const auto name = symbol<int (*)(Device, char*, unsigned)>(library, "nvmlDeviceGetUUID");
  read_ = symbol<Read>(library, "nvmlDeviceGetTotalEnergyConsumption");
  if (!init || !find || !name || !read_ || init() != kSuccess) return;
  char id[kLongestId] = {};
  if (find(pci_address.c_str(), &device_) != kSuccess || read_(device_, &begun_at_) != kSuccess ||
      name(device_, id, sizeof id) != kSuccess)
    return;
  id_ = id;
}

double GpuEnergy::joules() const {
  unsigned long long now = 0;
  if (id_.empty() || read_(device_, &now) != kSuccess || now < begun_at_) return 0;
  return 1e-3 * static_cast<double>(now - begun_at_);
}

}  // namespace orch::train
