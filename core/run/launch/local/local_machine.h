#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"

namespace orch::launch {

// --- processes, from /proc ---

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  unsigned long long start =
      0;                       // clock ticks since boot: with the pid, a name that is never reused
  std::uint64_t resident = 0;  // bytes
};

// Nothing if there is no such process (any more).
std::optional<Process> read_process(pid_t pid);

// All below a process, in no order; zombies are left out.
std::vector<Process> descendants(pid_t of);

// The process's own share of the memory it uses; resident size where the kernel does not tell.
std::uint64_t proportional_memory(const Process& process);

// --- what the machine has ---

std::vector<int> usable_cores();  // of our own affinity mask
int gpu_count();                  // /dev/nvidia[0-9]+
// As many as a CUDA program would see: own, else CUDA_VISIBLE_DEVICES of ours, else all.
int visible_gpus(const std::string* own);

// A program that we may execute: a path, or looked for in PATH. Empty: none.
fs::path find_program(const std::string& name);

// A port of the loopback that nobody listens on now, below the range from which the kernel gives
// out ports. 0: none is free.
int free_port(int seed);

}  // namespace orch::launch
