#include "backends/runtime/host/memory.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "backends/runtime/host/failure.h"
#include "backends/runtime/host/pool.h"
#include "core/base/room.h"
#include "core/base/units.h"

#ifdef ORCH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#endif

namespace orch::train {
namespace {

struct Pages {
  void* at = nullptr;
  std::size_t bytes = 0;
};

Pages take(std::int64_t elements, at::ScalarType dtype) {
  const auto bytes =
      std::max<std::size_t>(1, static_cast<std::size_t>(elements) * at::elementSize(dtype));
  auto* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    throw ClassifiedFailure("host_memory",
                            fmt::format("cannot allocate {} of host memory",
                                        format_bytes(Bytes(static_cast<double>(bytes)))));
  ::madvise(at, bytes, MADV_HUGEPAGE);
  constexpr std::size_t kPage = 2 << 20;
  host_pool().run(static_cast<std::int64_t>((bytes + kPage - 1) / kPage), [&](std::int64_t page) {
    const auto begin = static_cast<std::size_t>(page) * kPage;
    std::memset(static_cast<char*>(at) + begin, 0, std::min(kPage, bytes - begin));
  });
  return {at, bytes};
}

at::Tensor wrap(const Pages& pages, std::int64_t elements, at::ScalarType dtype, bool pinned) {
  const auto free = [pages, pinned](void*) {
#ifdef ORCH_CUDA
    if (pinned) cudaHostUnregister(pages.at);
#else
    (void)pinned;
#endif
    ::munmap(pages.at, pages.bytes);
  };
  return at::from_blob(pages.at, {elements}, free, at::TensorOptions().dtype(dtype));
}

}  // namespace

at::Tensor host_zeros(std::int64_t elements, at::ScalarType dtype) {
  return wrap(take(elements, dtype), elements, dtype, false);
}

at::Tensor pinned_zeros(std::int64_t elements, at::ScalarType dtype, at::Device device) {
  const auto pages = take(elements, dtype);
  if (!device.is_cuda()) return wrap(pages, elements, dtype, false);
#ifdef ORCH_CUDA
  const c10::cuda::CUDAGuard guard(device);
  if (const auto code = cudaHostRegister(pages.at, pages.bytes, cudaHostRegisterDefault);
      code != cudaSuccess) {
    ::munmap(pages.at, pages.bytes);
    throw ClassifiedFailure(
        "host_memory", fmt::format("cannot pin {} of host memory: {}; ulimit -l shows the limit",
                                   format_bytes(Bytes(static_cast<double>(pages.bytes))),
                                   cudaGetErrorString(code)));
  }
#endif
  return wrap(pages, elements, dtype, true);
}

void require_host_memory(double bytes, int ranks) {
  const auto room = host_room();
  if (room.bound.empty() || bytes * ranks <= static_cast<double>(room.bytes)) return;
  const auto size = [](double count) { return format_bytes(Bytes(count)); };
  throw ClassifiedFailure(
      "host_memory",
      fmt::format("{} of host memory are needed{}, and {} are available ({}): use more "
                  "nodes, or keep more on the device",
                  size(bytes * ranks),
                  ranks > 1 ? fmt::format(" by {} ranks", ranks) : std::string(),
                  size(static_cast<double>(room.bytes)), room.bound));
}

}  // namespace orch::train
