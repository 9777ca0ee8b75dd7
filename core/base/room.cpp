#include "core/base/room.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "core/base/text.h"

namespace orch {
namespace {

// The number that a file holds; nothing if it holds "max".
std::optional<std::uint64_t> number_in(const fs::path& path) {
  const auto text = read_file(path);
  if (!text || text->empty() || !std::isdigit(static_cast<unsigned char>(text->front())))
    return std::nullopt;
  return std::strtoull(text->c_str(), nullptr, 10);
}

// "inactive_file 4096" in memory.stat: file pages, which the kernel frees on demand. In cgroup
// version 1 the values with total_ include the groups below.
std::uint64_t reclaimable(const fs::path& group) {
  const auto text = read_file(group / "memory.stat");
  if (!text) return 0;
  std::uint64_t own = 0, total = 0;
  for (const auto& line : split(*text, '\n'))
    for (const std::string_view key : {"inactive_file ", "active_file "}) {
      const auto value = [&](std::size_t from) {
        return std::strtoull(line.c_str() + from, nullptr, 10);
      };
      if (line.starts_with(key)) own += value(key.size());
      if (line.starts_with("total_" + std::string(key))) total += value(6 + key.size());
    }
  return std::max(own, total);
}

struct RoomVersion {
  const char *folder, *limit, *used;
};
constexpr RoomVersion kNew{"sys/fs/cgroup", "memory.max", "memory.current"};
constexpr RoomVersion kOld{"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                           "memory.usage_in_bytes"};

// A group's limit holds for all groups below it.
void look(const fs::path& root, const RoomVersion& version, std::string group, HostRoom& room) {
  for (;;) {
    const auto folder =
        root / version.folder / group.substr(std::min<std::size_t>(1, group.size()));
    const auto limit = number_in(folder / version.limit), used = number_in(folder / version.used);
    if (limit && used) {
      const auto taken = *used - std::min(*used, reclaimable(folder));
      const auto left =
          std::max<std::uint64_t>(1, *limit - std::min(*limit, taken));  // 0 means unknown
      if (room.bound.empty() || left < room.bytes)
        room = {left, std::string(version.limit) + " of " + (group.empty() ? "/" : group)};
    }
    if (group.empty()) return;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

std::optional<std::uint64_t> kilobytes(const std::string& text, std::string_view key) {
  auto at = text.find(std::string("\n") + std::string(key) + ":");
  if (at == std::string::npos) return std::nullopt;
  at = text.find_first_of("0123456789", at);
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(text.c_str() + at, nullptr, 10) * 1024;
}

// Lines of /proc/self/cgroup: "0::/a/b" of version 2, "7:memory:/a/b" of version 1.
HostRoom host_room(const fs::path& root) {
  HostRoom room;
  if (const auto text = read_file(root / "proc/meminfo"))
    if (const auto left = kilobytes(*text, "MemAvailable")) room = {*left, "MemAvailable"};
  const auto groups = read_file(root / "proc/self/cgroup");
  if (!groups) return room;
  for (const auto& line : split(*groups, '\n')) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    auto group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (line.starts_with("0::")) look(root, kNew, group, room);
    if (line.substr(first + 1, second - first - 1) == "memory") look(root, kOld, group, room);
  }
  return room;
}

}  // namespace orch
