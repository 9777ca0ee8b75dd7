#pragma once

// The flight recorder of a trainer: what each rank does now, and the last collectives it entered,
// in a file that is mapped into memory. Writing costs no system call, and the file outlives the
// process however it ends. Header-only and using libc alone, so that every trainer can include it.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/descriptor.h"

namespace orch::flight {

inline constexpr std::size_t kRing = 256;
inline constexpr char kMagic[8] = {'o', 'r', 'c', 'h', 'f', 'l', 't', '\n'};
inline constexpr std::uint32_t kVersion = 1;

// A file is one FlightPage, in the byte order of its machine.
struct alignas(64) Slot {
  std::atomic<std::uint64_t> sequence;  // 0: empty, or being written
  char kind[16];                        // all_reduce, ...
  char group[16];                       // data, tensor, pipeline, world, ...
  std::uint64_t bytes;
  std::int64_t start;             // nanoseconds since 1970
  std::atomic<std::int64_t> end;  // 0: the rank is still in it
};
struct FlightPage {
  char magic[8];
  std::uint32_t version;
  std::uint32_t ring;
  std::int32_t pid;
  std::int32_t rank;
  char host[64];
  std::int64_t opened;                  // nanoseconds since 1970
  std::atomic<std::int64_t> step;       // the current one; -1: none yet
  std::atomic<std::int64_t> step_time;  // when it began
  std::atomic<std::uint64_t> last;      // the highest sequence number given
  Slot slots[kRing];                    // number n is in slot n % kRing
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "the file is read by others");
static_assert(sizeof(Slot) == 64, "the layout is a promise to readers");

inline std::int64_t now() {
  timespec time = {};
  ::clock_gettime(CLOCK_REALTIME, &time);  // the vDSO serves it: no system call
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline std::string file_name(int rank) { return "rank-" + std::to_string(rank); }

// Writes one rank's file. Any number of threads may record at once. If the file could not be
// opened, nothing is recorded and error() has the reason: training must not end because its
// recorder failed.
class Recorder {
 public:
  Recorder() = default;
  // folder: attempts/<n>/flight.
  Recorder(const std::string& folder, int rank) { open(folder + "/" + file_name(rank), rank); }
  ~Recorder() {
    if (page_) ::munmap(page_, sizeof(FlightPage));
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  bool is_open() const { return page_ != nullptr; }
  int error() const { return error_; }  // errno

  void step(std::int64_t number) {
    if (!page_) return;
    page_->step_time.store(now(), std::memory_order_relaxed);
    page_->step.store(number, std::memory_order_release);
  }

  // Enters a collective; give the number to end(). Names longer than 15 are cut.
  std::uint64_t begin(std::string_view kind, std::string_view group, std::uint64_t bytes) {
    if (!page_) return 0;
    const auto number = page_->last.fetch_add(1, std::memory_order_relaxed) + 1;
    auto& slot = page_->slots[number % kRing];
    slot.sequence.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);  // else old fields could seem new
    put(slot.kind, kind);
    put(slot.group, group);
    slot.bytes = bytes;
    slot.start = now();
    slot.end.store(0, std::memory_order_relaxed);
    slot.sequence.store(number, std::memory_order_release);
    return number;
  }

  void end(std::uint64_t number) {
    if (!page_ || number == 0) return;
    auto& slot = page_->slots[number % kRing];
    if (slot.sequence.load(std::memory_order_relaxed) == number)  // else it was overwritten
      slot.end.store(now(), std::memory_order_release);
  }

 private:
  static void put(char (&to)[16], std::string_view from) {
    const auto size = from.size() < sizeof to - 1 ? from.size() : sizeof to - 1;
    std::memcpy(to, from.data(), size);
    std::memset(to + size, 0, sizeof to - size);
  }

  // Made beside its path and renamed, so that no reader sees a file without its header. All blocks
  // are allocated now: a full disk would otherwise cause a SIGBUS in the middle of training.
  void open(const std::string& path, int rank) {
    const auto temporary = path + ".new";
    const Descriptor file(::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file.is_open()) {
      error_ = errno;
      return;
    }
    error_ = ::posix_fallocate(file.get(), 0, sizeof(FlightPage));
    void* memory = MAP_FAILED;
    if (error_ == 0) {
      memory =
          ::mmap(nullptr, sizeof(FlightPage), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
      if (memory == MAP_FAILED) error_ = errno;
    }
    if (memory != MAP_FAILED) {
      fill(static_cast<FlightPage*>(memory), rank);
      if (::rename(temporary.c_str(), path.c_str()) != 0) error_ = errno;
    }
    if (error_ != 0) {
      if (memory != MAP_FAILED) ::munmap(memory, sizeof(FlightPage));
      page_ = nullptr;
      ::unlink(temporary.c_str());
    }
  }

  void fill(FlightPage* page, int rank) {
    page_ = page;
    page->version = kVersion;
    page->ring = kRing;
    page->pid = ::getpid();
    page->rank = rank;
    ::gethostname(page->host, sizeof page->host - 1);
    page->opened = now();
    page->step.store(-1, std::memory_order_relaxed);
    std::memcpy(page->magic, kMagic, sizeof kMagic);
  }

  FlightPage* page_ = nullptr;
  int error_ = 0;
};

// --- reading ---

struct Collective {
  std::uint64_t sequence = 0;
  std::string kind;
  std::string group;
  std::uint64_t bytes = 0;
  double start = 0;  // seconds since 1970
  double end = 0;    // 0: the rank is still in it

  bool inside() const { return end == 0; }
};

struct Recording {
  int pid = 0;
  int rank = 0;
  std::string host;
  std::int64_t step = -1;  // -1: none yet
  double step_time = 0;    // when the step began, seconds since 1970
  std::uint64_t last = 0;
  std::vector<Collective> collectives;  // sorted by sequence number, without unfinished writes
};

namespace internal {

template <std::size_t N>
std::string word(const char (&from)[N]) {
  std::string text(from, ::strnlen(from, N));
  for (auto& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

inline double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

// The slot as the first copy has it; nothing if the second copy shows that it was being written.
inline std::optional<Collective> read(const Slot& first, const Slot& second, std::uint64_t number) {
  if (first.sequence.load() != number || second.sequence.load() != number) return std::nullopt;
  return Collective{number,      word(first.kind),     word(first.group),
                    first.bytes, seconds(first.start), seconds(first.end.load())};
}

// Fills the page from the start of the file; false if the file is smaller or larger than a page.
inline bool copy(int fd, FlightPage& page) {
  struct stat facts = {};
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size != sizeof(FlightPage))
    return false;
  auto* to = reinterpret_cast<char*>(&page);
  std::size_t size = 0;
  while (size < sizeof(FlightPage)) {
    const auto got = ::pread(fd, to + size, sizeof(FlightPage) - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    size += static_cast<std::size_t>(got);
  }
  return std::memcmp(page.magic, kMagic, sizeof kMagic) == 0 && page.version == kVersion &&
         page.ring == kRing;
}

}  // namespace internal

// The content of a file; nothing if it is not a recording. Any bytes may be in it. It is copied,
// not mapped: a file that shrinks under a mapping kills its reader. It is copied twice: see
// internal::read.
inline std::optional<Recording> read(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return std::nullopt;
  const auto pages = std::make_unique<FlightPage[]>(2);
  const bool good = internal::copy(file.get(), pages[0]) && internal::copy(file.get(), pages[1]);
  if (!good) return std::nullopt;
  const auto& page = pages[0];
  Recording recording;
  recording.pid = page.pid;
  recording.rank = page.rank;
  recording.host = internal::word(page.host);
  recording.step = page.step.load();
  recording.step_time = internal::seconds(page.step_time.load());
  recording.last = page.last.load();
  const auto first = recording.last >= kRing ? recording.last - kRing + 1 : 1;
  for (std::uint64_t i = 0; i < kRing && first + i <= recording.last && first + i != 0; ++i) {
    const auto place = (first + i) % kRing;
    if (auto seen = internal::read(page.slots[place], pages[1].slots[place], first + i))
      recording.collectives.push_back(std::move(*seen));
  }
  return recording;
}

}  // namespace orch::flight
