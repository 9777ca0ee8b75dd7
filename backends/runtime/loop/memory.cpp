#include "backends/runtime/loop/memory.h"

#include "core/base/room.h"

#ifdef ORCH_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#endif

namespace orch::train {
namespace {

// A value of /proc/self/status.
std::int64_t status_bytes(const char* key) {
  const auto status = read_file("/proc/self/status");
  return status ? static_cast<std::int64_t>(kilobytes(*status, key).value_or(0)) : 0;
}

#ifdef ORCH_CUDA
auto reserved(at::Device device) {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
  return stats.reserved_bytes[0];  // [0]: total of all pools
}
#endif

}  // namespace

std::int64_t peak_memory_bytes(at::Device device) {
#ifdef ORCH_CUDA
  if (device.is_cuda()) return reserved(device).peak;
#endif
  return device.is_cpu() ? status_bytes("VmHWM") : 0;
}

std::int64_t current_memory_bytes(at::Device device) {
#ifdef ORCH_CUDA
  if (device.is_cuda()) return reserved(device).current;
#endif
  return device.is_cpu() ? status_bytes("VmRSS") : 0;
}

std::string device_name(at::Device device) {
#ifdef ORCH_CUDA
  if (device.is_cuda()) return at::cuda::getDeviceProperties(device.index())->name;
#endif
  return device.str();
}

}  // namespace orch::train
