#include "core/run/launch/local/local_machine.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "core/base/descriptor.h"
#include "core/base/number.h"
#include "core/base/room.h"
#include "core/base/text.h"

namespace orch::launch {
namespace {

std::optional<pid_t> as_pid(const std::string& name) {
  const auto pid = number_from<pid_t>(name);
  return pid && *pid > 0 ? pid : std::nullopt;
}

std::vector<Process> all_processes() {
  std::vector<Process> all;
  std::error_code ignored;
  for (fs::directory_iterator it("/proc", ignored), end; it != end; it.increment(ignored)) {
    if (ignored) break;
    const auto pid = as_pid(it->path().filename().string());
    if (!pid) continue;
    if (auto process = read_process(*pid); process && process->state != 'Z')
      all.push_back(*process);
  }
  return all;
}

bool is_gpu(const std::string& name) {
  constexpr std::string_view prefix = "nvidia";
  return name.starts_with(prefix) && name.size() > prefix.size() &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<Process> read_process(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!text) return std::nullopt;
  // The name in parentheses may contain anything, including parentheses: the fields begin after the
  // last one.
  const auto close = text->rfind(')');
  if (close == std::string::npos) return std::nullopt;
  Process process;
  process.pid = pid;
  long pages = 0;
  const int got = std::sscanf(text->c_str() + close + 1,
                              " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                              "%*d %*d %llu %*u %ld",
                              &process.state, &process.parent, &process.start, &pages);
  if (got != 4) return std::nullopt;
  process.resident = static_cast<std::uint64_t>(std::max(0L, pages)) *
                     static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return process;
}

std::vector<Process> descendants(pid_t of) {
  std::multimap<pid_t, Process> children;
  for (const auto& process : all_processes()) children.emplace(process.parent, process);
  std::vector<Process> found;
  std::vector<pid_t> open = {of};
  while (!open.empty()) {
    const auto [first, last] = children.equal_range(open.back());
    open.pop_back();
    for (auto child = first; child != last; ++child) {
      found.push_back(child->second);
      open.push_back(child->second.pid);
    }
  }
  return found;
}

std::uint64_t proportional_memory(const Process& process) {
  const auto text = read_file("/proc/" + std::to_string(process.pid) + "/smaps_rollup");
  if (!text) return process.resident;
  return kilobytes(*text, "Pss").value_or(process.resident);
}

std::vector<int> usable_cores() {
  constexpr int kMost = 8192;
  std::vector<int> cores;
  cpu_set_t* set = CPU_ALLOC(kMost);
  const auto size = CPU_ALLOC_SIZE(kMost);
  CPU_ZERO_S(size, set);
  if (::sched_getaffinity(0, size, set) == 0)
    for (int core = 0; core < kMost; ++core)
      if (CPU_ISSET_S(core, size, set)) cores.push_back(core);
  CPU_FREE(set);
  return cores;
}

int gpu_count() {
  int count = 0;
  std::error_code ignored;
  for (fs::directory_iterator it("/dev", ignored), end; it != end; it.increment(ignored)) {
    if (ignored) break;
    count += is_gpu(it->path().filename().string());
  }
  return count;
}

int visible_gpus(const std::string* own) {
  const char* inherited = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!own && !inherited) return gpu_count();
  const std::string list = own ? *own : inherited;
  if (trim(list).empty() || list.starts_with("-")) return 0;
  return static_cast<int>(split(list, ',').size());
}

fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return is_program(name) ? fs::absolute(name) : fs::path();
  const char* path = std::getenv("PATH");
  for (const auto& folder : split(path ? path : "/usr/bin:/bin", ':'))
    if (const auto candidate = fs::path(folder.empty() ? "." : folder) / name;
        is_program(candidate))
      return fs::absolute(candidate);
  return {};
}

int free_port(int seed) {
  constexpr int kFirst = 20000;
  constexpr int kPorts = 10000;
  for (int i = 0; i < kPorts; ++i) {
    const int port = kFirst + static_cast<int>((static_cast<unsigned>(seed) + i) % kPorts);
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) return 0;
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
      return port;
  }
  return 0;
}

}  // namespace orch::launch
