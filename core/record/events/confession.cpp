#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/base/text.h"
#include "core/record/events/collect.h"
#include "core/record/events/last_event.h"
#include "core/record/events/window.h"

namespace orch::events {
namespace {

using record::Symptom;

constexpr std::int64_t kEndOfOutput = 1 << 20;
constexpr std::int64_t kBeginning = 64 << 10;
constexpr std::size_t kLongestQuote = 200;
constexpr std::size_t kBefore = 80;  // characters of a longer line before what was found

struct Sign {
  Symptom symptom;
  std::string_view text;
  std::string_view also = {};  // must be in the same line
};

// What trainers, PyTorch, NCCL, SLURM and the driver write. Not in the list, because a bug of the
// trainer says the same and a second attempt would end alike: "illegal memory access",
// "unspecified launch failure", Xid 13, 31, 43 and 45. "Xid" by itself is in many a hash.
constexpr Sign kSigns[] = {
    {Symptom::gpu_memory, "CUDA out of memory"},
    {Symptom::gpu_memory, "HIP out of memory"},
    {Symptom::gpu_memory, "CUDA error: out of memory"},
    {Symptom::gpu_memory, "CUDA error: memory allocation"},
    {Symptom::gpu_memory, "CUDA_ERROR_OUT_OF_MEMORY"},
    {Symptom::gpu_memory, "cudaErrorMemoryAllocation"},
    {Symptom::gpu_memory, "torch.cuda.OutOfMemoryError"},
    {Symptom::gpu_memory, "torch.OutOfMemoryError"},
    {Symptom::gpu_memory, "c10::OutOfMemoryError"},
    {Symptom::gpu_memory, "CUBLAS_STATUS_ALLOC_FAILED"},
    {Symptom::gpu_memory, "Cuda failure", "'out of memory'"},       // NCCL's words for it
    {Symptom::host_memory, "oom-kill event"},                       // slurmstepd up to 20.11
    {Symptom::host_memory, "oom_kill event"},                       // and later
    {Symptom::host_memory, "exceeded memory limit", "slurmstepd"},  // without a cgroup
    {Symptom::host_memory, ": Out Of Memory", "srun: error: "},
    {Symptom::host_memory, "emory: Killed process"},  // Linux: "Out of memory", "cgroup out of …"
    {Symptom::host_memory, "oom-kill:constraint="},
    {Symptom::host_memory, "std::bad_alloc"},
    {Symptom::host_memory, "DefaultCPUAllocator: can't allocate memory"},
    {Symptom::host_memory, "DefaultCPUAllocator: not enough memory"},
    {Symptom::host_memory, "[Errno 12] Cannot allocate memory"},
    {Symptom::host_memory, "ArrayMemoryError: Unable to allocate"},
    {Symptom::node, "uncorrectable ECC error"},
    {Symptom::node, "GPU has fallen off the bus"},
    {Symptom::node, "GPU is lost"},
    {Symptom::node, "DUE TO NODE FAILURE"},
    {Symptom::node, "NODE FAILURE"},
    {Symptom::node, "NVRM: Xid", "): 48,"},   // double-bit ECC error
    {Symptom::node, "NVRM: Xid", "): 64,"},   // a row could not be remapped
    {Symptom::node, "NVRM: Xid", "): 74,"},   // NVLink
    {Symptom::node, "NVRM: Xid", "): 79,"},   // fallen off the bus
    {Symptom::node, "NVRM: Xid", "): 94,"},   // ECC error, contained
    {Symptom::node, "NVRM: Xid", "): 95,"},   // ECC error, not contained
    {Symptom::node, "NVRM: Xid", "): 119,"},  // the GPU's own processor does not answer
    {Symptom::nccl, "NCCL error"},
    {Symptom::nccl, "NCCL Error"},
    {Symptom::nccl, "ncclSystemError"},
    {Symptom::nccl, "ncclInternalError"},
    {Symptom::nccl, "ncclRemoteError"},
    {Symptom::nccl, "ncclUnhandledCudaError"},
    {Symptom::nccl, "Watchdog caught collective operation timeout"},
    {Symptom::nccl, "Got completion", "vendor err"},  // NET/IB
};

// A wrong call of NCCL is the trainer's fault, and not a passing one.
constexpr std::string_view kNotPassing[] = {"invalid usage", "invalid argument", "ncclInvalid"};

bool holds(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// Progress bars end their lines with a carriage return.
std::string_view line_at(std::string_view text, std::size_t at) {
  const auto before = text.find_last_of("\r\n", at);
  const auto begin = before == std::string_view::npos ? 0 : before + 1;
  const auto end = std::min(text.find_first_of("\r\n", at), text.size());
  return text.substr(begin, end - begin);
}

// A line without end is looked at around the sign only.
std::string_view near(std::string_view text, std::size_t at) {
  constexpr std::size_t reach = 4096;
  const auto from = at > reach ? at - reach : 0;
  return line_at(text.substr(from, 2 * reach), at - from);
}

bool counts(const Sign& sign, std::string_view line) {
  if (!holds(line, sign.also)) return false;
  if (sign.symptom != Symptom::nccl) return true;
  for (const auto word : kNotPassing)
    if (holds(line, word)) return false;
  return true;
}

// memmem: several times as fast as string_view::find, and there are many signs.
std::size_t next_of(std::string_view text, std::string_view word, std::size_t from) {
  const void* found = ::memmem(text.data() + from, text.size() - from, word.data(), word.size());
  if (!found) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t first_of(const Sign& sign, std::string_view text) {
  auto at = next_of(text, sign.text, 0);
  while (at != std::string_view::npos && !counts(sign, near(text, at)))
    at = next_of(text, sign.text, at + sign.text.size());
  return at;
}

std::string shorten(std::string_view line, std::size_t at) {
  std::size_t from = line.size() > kLongestQuote && at > kBefore ? at - kBefore : 0;
  if (line.size() > kLongestQuote) from = std::min(from, line.size() - kLongestQuote);
  // Not in the middle of a UTF-8 character.
  const auto inside = [&](std::size_t i) {
    return i < line.size() && (static_cast<unsigned char>(line[i]) & 0xc0) == 0x80;
  };
  for (int i = 0; i < 3 && inside(from); ++i) ++from;
  auto to = std::min(from + kLongestQuote, line.size());
  for (int i = 0; i < 3 && to > from && inside(to); ++i) --to;
  const auto cut = printable(trim(line.substr(from, to - from)));
  return (from > 0 ? "…" : "") + cut + (to < line.size() ? "…" : "");
}

record::Confession look(std::string_view text) {
  const Sign* first = nullptr;
  std::size_t first_at = 0;
  for (const auto& sign : kSigns) {
    if (first && first->symptom != Symptom::nccl && sign.symptom == Symptom::nccl) break;
    const auto at = first_of(sign, text);
    if (at == std::string_view::npos || (first && at >= first_at)) continue;
    first = &sign;
    first_at = at;
  }
  if (!first) return {};
  const auto line = line_at(text, first_at);
  return {first->symptom,
          shorten(line, static_cast<std::size_t>(text.data() + first_at - line.data()))};
}

}  // namespace

namespace {

record::Confession read_log(const fs::path& attempt_folder) {
  const Window file(attempt_folder / "stdout.log");
  if (!file.is_open()) return {};
  const auto from = std::max<std::int64_t>(0, file.size() - kEndOfOutput);
  auto confession = look(file.read(from, std::min(file.size(), kEndOfOutput)));
  if (confession.symptom == Symptom::none && from > 0) confession = look(file.read(0, kBeginning));
  return confession;
}

}  // namespace

record::Confession read_confession(const fs::path& attempt_folder) {
  auto event = read_failure(attempt_folder);
  const bool knows = event.symptom != Symptom::none && event.symptom != Symptom::nccl &&
                     event.symptom != Symptom::other;
  if (knows) return event;
  auto log = read_log(attempt_folder);
  // The trainer's own words for what both blame.
  const bool same = log.symptom == Symptom::none || log.symptom == Symptom::nccl;
  return event.symptom != Symptom::none && same ? event : log;
}

}  // namespace orch::events
