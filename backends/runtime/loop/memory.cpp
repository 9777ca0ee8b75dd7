#include "backends/runtime/loop/memory.h"

#include <cstdlib>

#include "core/base/room.h"

#ifdef ORCH_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>
#endif

namespace orch::train {
namespace {

// A value of /proc/self/status.
std::int64_t status_bytes(const char* key) {
  const auto status = read_file("/proc/self/status");
  return status ? static_cast<std::int64_t>(kilobytes(*status, key).value_or(0)) : 0;
}

#ifdef ORCH_CUDA
constexpr int kLongestAddress = 32;

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

std::string pci_address(at::Device device) {
#ifdef ORCH_CUDA
  char address[kLongestAddress] = {};
  if (device.is_cuda())
    return cudaDeviceGetPCIBusId(address, sizeof address, device.index()) == cudaSuccess ? address
                                                                                         : "";
#endif
  const char* test = std::getenv("ORCH_TEST_GPU");
  return device.is_cpu() && test != nullptr ? test : "";
}

}  // namespace orch::train
