// orch_fuzz: foreign bytes, changed at random, through one of orch's doors.
//
// A worker passes input after input through the door and stores in shared memory which one it is
// at.
// This process watches it: a worker that dies, hangs or takes too much memory has found something.
// Because input n of a seed is always the same, the watcher makes it again, writes it to a file,
// and
// lets another worker continue behind it.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>

#include "core/app/app.h"
#include "core/base/text.h"
#include "tests/fuzz/door.h"
#include "tests/fuzz/mutate.h"

// With sanitizers: one allocation beyond a GiB is a finding, little of the freed memory is kept,
// and leaks are left to the unit tests (the check takes longer than a second of inputs).
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=1024:quarantine_size_mb=16:detect_leaks=0";
}

namespace orch::fuzz {
namespace {

constexpr double kMostSeconds = 300;  // for one input without computation; the machine may be busy
constexpr std::size_t kMostFindings = 20;

struct FuzzOptions {
  std::string door;
  std::uint64_t seed = 1;
  std::uint64_t inputs = ~std::uint64_t{0};
  double seconds = 1e9;
  double hang = 5;             // seconds of CPU time for one input
  double memory = 1.5e9;       // bytes of a worker
  std::string findings = ".";  // a folder
  // A single input:
  std::string file;
  std::uint64_t input = kNone;
  static constexpr auto kNone = ~std::uint64_t{0};
};

// State that worker and watcher share.
struct SharedCounters {
  std::atomic<std::uint64_t> at;  // the present input
  std::atomic<bool> done;
};

double now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

int go_through(const Door& door, std::span<const std::byte> bytes) {
  const auto input = unpack({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  try {
    door.enter(input);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: thrown: %s\n", std::string(door.name).c_str(), error.what());
    return 1;
  }
}

[[noreturn]] void work(const Door& door, const Mutator& mutator, const FuzzOptions& options,
                       double until, std::uint64_t from, SharedCounters& shared) {
  for (auto n = from; n < options.inputs && now() < until && !app::interrupted(); ++n) {
    shared.at = n;
    const auto bytes = pack(mutator.make(options.seed, n));
    if (go_through(door, std::as_bytes(std::span(bytes))) != 0) ::_exit(1);
  }
  shared.done = true;
  ::_exit(0);
}

double resident_bytes(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Why the worker ended, or had to be ended; empty: it was done.
std::string watch(pid_t worker, const FuzzOptions& options, const SharedCounters& shared) {
  clockid_t cpu = CLOCK_MONOTONIC;
  ::clock_getcpuclockid(worker, &cpu);
  auto at = ~std::uint64_t{0};
  double since = 0, cpu_since = 0;
  std::string why;
  while (true) {
    int status = 0;
    if (::waitpid(worker, &status, WNOHANG) == worker) {
      if (!why.empty()) return why;
      if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
      return WEXITSTATUS(status) == 0 ? "" : "ended; why stands above";
    }
    if (const auto next = shared.at.load(); next != at)
      at = next, since = now(), cpu_since = now(cpu);
    if (!shared.done && now(cpu) - cpu_since > options.hang) why = "hangs, and computes";
    if (!shared.done && now() - since > kMostSeconds) why = "hangs, and waits";
    if (resident_bytes(worker) > options.memory) why = "takes more and more memory";
    if (!why.empty()) ::kill(worker, SIGKILL);
    ::usleep(20'000);
  }
}

std::optional<std::string> worker_fails(const Door& door, const Mutator& mutator,
                                        const FuzzOptions& options, double until,
                                        std::uint64_t from, SharedCounters& shared) {
  shared.at = from, shared.done = false;
  std::fflush(nullptr);
  const auto worker = ::fork();
  if (worker < 0) return "cannot fork";
  if (worker == 0) work(door, mutator, options, until, from, shared);
  auto why = watch(worker, options, shared);
  return why.empty() ? std::nullopt : std::optional(std::move(why));
}

void tell(const Door& door, const Mutator& mutator, const FuzzOptions& options, std::uint64_t n,
          const std::string& why) {
  const auto file =
      fs::path(options.findings) / fmt::format("{}-{}-{}", door.name, options.seed, n);
  std::ofstream(file, std::ios::binary) << pack(mutator.make(options.seed, n));
  std::fprintf(stderr,
               "finding: door %s, seed %llu, input %llu: %s\n  again: orch_fuzz %s --file %s\n",
               std::string(door.name).c_str(), static_cast<unsigned long long>(options.seed),
               static_cast<unsigned long long>(n), why.c_str(), std::string(door.name).c_str(),
               file.c_str());
}

int fuzz(const Door& door, const FuzzOptions& options) {
  auto* shared = static_cast<SharedCounters*>(::mmap(
      nullptr, sizeof(SharedCounters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  enter_room();
  const Mutator mutator(door.seeds());
  const auto began = now(), until = began + options.seconds;
  std::uint64_t next = 0;
  std::size_t findings = 0;
  while (findings < kMostFindings && next < options.inputs && now() < until) {
    const auto why = worker_fails(door, mutator, options, until, next, *shared);
    next = shared->at + 1;
    if (!why) break;
    ++findings;
    tell(door, mutator, options, shared->at, *why);
  }
  fmt::print("{}: {} inputs of seed {} in {:.0f} s, {} findings\n", door.name, next, options.seed,
             now() - began, findings);
  return findings == 0 ? 0 : 1;
}

// Replays one input with all output: from a file, or by its number. In a worker, which a debugger
// has to follow: the parent must remove its room.
int replay(const Door& door, const FuzzOptions& options) {
  auto bytes = options.file.empty() ? std::string() : text_of(options.file);
  enter_room();
  if (options.file.empty()) bytes = pack(Mutator(door.seeds()).make(options.seed, options.input));
  show = true;
  const auto worker = ::fork();
  if (worker == 0) ::_exit(go_through(door, std::as_bytes(std::span(bytes))));
  int status = 0;
  ::waitpid(worker, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// A door with flaws, to check that each of them is found.
const Door kPlanted{"planted",
                    [] {
                      return std::vector<Input>{{{"", "gpus = 8, nodes = 2\n"}}};
                    },
                    [](const Input& input) {
                      const auto& text = input.front().bytes;
                      if (text.find("= 1e308") != text.npos) std::abort();
                      if (text.find("\x1b[31m") != text.npos) throw FuzzFinding("a colour");
                      if (text.find("= 2147483648") != text.npos)
                        for (std::vector<std::string> all;; all.emplace_back(1 << 20, 'x')) {
                        }
                      for (volatile bool hangs = text.find("nodes = -0") != text.npos; hangs;) {
                      }
                    }};

int usage() {
  std::string names;
  for (const auto& door : doors()) names += " " + std::string(door.name);
  fmt::print(stderr,
             "usage: orch_fuzz DOOR [--inputs N] [--seconds N] [--seed N] [--hang SECONDS] "
             "[--memory BYTES] "
             "[--findings FOLDER]\n"
             "       orch_fuzz DOOR --file INPUT, or --input N [--seed N]\ndoors:{}\n",
             names);
  return 2;
}

int main_in(const std::vector<std::string>& words) {
  FuzzOptions options;
  for (std::size_t i = 1; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return usage();
    const auto& value = words[i + 1];
    if (words[i] == "--inputs")
      options.inputs = std::stoull(value);
    else if (words[i] == "--seconds")
      options.seconds = std::stod(value);
    else if (words[i] == "--seed")
      options.seed = std::stoull(value);
    else if (words[i] == "--hang")
      options.hang = std::stod(value);
    else if (words[i] == "--memory")
      options.memory = std::stod(value);
    else if (words[i] == "--findings")
      options.findings = value;
    else if (words[i] == "--file")
      options.file = fs::absolute(value);
    else if (words[i] == "--input")
      options.input = std::stoull(value);
    else
      return usage();
  }
  options.findings = fs::absolute(options.findings);
  std::vector<Door> all(doors().begin(), doors().end());
  all.push_back(kPlanted);
  for (const auto& door : all)
    if (!words.empty() && door.name == words[0]) {
      const bool one = !options.file.empty() || options.input != FuzzOptions::kNone;
      return one ? replay(door, options) : fuzz(door, options);
    }
  return usage();
}

}  // namespace
}  // namespace orch::fuzz

int main(int argc, char** argv) {
  try {
    return orch::fuzz::main_in({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orch_fuzz: %s\n", error.what());
    return 2;
  }
}
