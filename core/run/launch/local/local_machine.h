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
  unsigned long long start = 0;  // clock ticks since boot: together with the pid a unique name
  std::uint64_t resident = 0;    // bytes
};

// Nothing if the process does not exist (any more).
std::optional<Process> read_process(pid_t pid);

// All descendants of a process, in no order; zombies are left out.
std::vector<Process> descendants(pid_t of);

// The process's proportional share of the memory it uses; the resident size if the kernel does not
// report it.
std::uint64_t proportional_memory(const Process& process);

// --- the machine's resources ---

std::vector<int> usable_cores();  // in our own affinity mask
int gpu_count();                  // /dev/nvidia[0-9]+
// The number that a CUDA program would see: `own` if given, else our CUDA_VISIBLE_DEVICES, else
// all.
int visible_gpus(const std::string* own);

// A program that we may execute: a path, or a name that is looked up in PATH. Empty: not found.
fs::path find_program(const std::string& name);

// A port of the loopback interface that is unused now, below the range of ephemeral ports. 0: none
// is free.
int free_port(int seed);

}  // namespace orch::launch
