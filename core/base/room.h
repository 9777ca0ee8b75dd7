#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/files.h"

namespace orch {

std::string host_name();  // "localhost" where the machine has no name

// The value of "Key:   123 kB", the format of /proc, in bytes.
std::optional<std::uint64_t> kilobytes(const std::string& text, std::string_view key);

// Host memory that this process may still allocate, and what limits it: the machine
// ("MemAvailable"), or a control group that the process is in ("memory.max of /slurm/job_7").
struct HostRoom {
  std::uint64_t bytes = 0;  // 0: unknown
  std::string bound;
};
HostRoom host_room(const fs::path& root = "/");

}  // namespace orch
