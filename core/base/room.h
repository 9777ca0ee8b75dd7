#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/files.h"

namespace orch {

std::string host_name();  // "localhost" where it has none

// "Key:   123 kB" of a string as /proc has it, in bytes.
std::optional<std::uint64_t> kilobytes(const std::string& text, std::string_view key);

// Host memory that this process may still take, and what bounds it: what the machine has left
// ("MemAvailable"), or the limit of a control group it is in ("memory.max of /slurm/job_7").
struct HostRoom {
  std::uint64_t bytes = 0;  // 0: not known
  std::string bound;
};
HostRoom host_room(const fs::path& root = "/");

}  // namespace orch
