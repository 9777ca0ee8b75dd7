#include "backends/measure/device.h"

#include <unistd.h>

#include "backends/runtime/loop/memory.h"

#ifdef ORCH_CUDA
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#endif

namespace orch::measure {
namespace {

#ifdef ORCH_CUDA
struct GpuMemory {
  double free = 0, total = 0;
};

GpuMemory gpu_memory(at::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  std::size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return {static_cast<double>(free), static_cast<double>(total)};
}
#endif

}  // namespace

void synchronize([[maybe_unused]] at::Device device) {
#ifdef ORCH_CUDA
  if (!device.is_cuda()) return;
  const c10::cuda::CUDAGuard guard(device);
  c10::cuda::device_synchronize();
#endif
}

double bytes_taken(at::Device device) {
#ifdef ORCH_CUDA
  if (device.is_cuda()) {
    const auto memory = gpu_memory(device);
    return memory.total - memory.free;
  }
#endif
  return static_cast<double>(train::current_memory_bytes(device));
}

double bytes_in_all([[maybe_unused]] at::Device device) {
#ifdef ORCH_CUDA
  if (device.is_cuda()) return gpu_memory(device).total;
#endif
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace orch::measure
