#include "backends/runtime/loop/resume.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <future>
#include <thread>

#include "backends/runtime/host/failure.h"
#include "core/base/files.h"
#include "core/train/checkpoint/checksum.h"

namespace orch::train {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kLongestPause(500);

// In a thread that can be abandoned: another rank may die meanwhile.
std::future<checkpoint::LatestCheckpoint> begin(
    std::function<checkpoint::LatestCheckpoint()> look) {
  std::packaged_task<checkpoint::LatestCheckpoint()> task(std::move(look));
  auto found = task.get_future();
  std::thread(std::move(task)).detach();
  return found;
}

// Broadcasts the first rank's text.
std::string shared(World& world, const std::string& text) {
  const auto whole = at::TensorOptions().device(world.device());
  const auto size = at::full({1}, static_cast<std::int64_t>(text.size()), whole.dtype(at::kLong));
  world.world().broadcast(size, 0).wait();
  const auto length = size.item<std::int64_t>();
  world.check();
  const auto bytes = at::zeros({length}, at::TensorOptions().dtype(at::kByte));
  if (bytes.numel() == 0) return "";
  if (bytes.numel() == static_cast<std::int64_t>(text.size()))
    std::memcpy(bytes.data_ptr(), text.data(), text.size());
  const auto there = bytes.to(world.device());
  world.world().broadcast(there, 0).wait();
  const auto here = there.to(at::kCPU);
  world.check();
  return {static_cast<const char*>(here.data_ptr()), static_cast<std::size_t>(here.numel())};
}

// Covers the sizes and checksums of all its files, among other things.
std::string sum_of_manifest(const fs::path& checkpoint) {
  const auto text = read_file(checkpoint / "checkpoint.json");
  return text ? checkpoint::hex(checkpoint::checksum(*text)) : "";
}

}  // namespace

void wait_while(World& world, const std::function<bool()>& is_busy) {
  for (auto pause = 5ms;; pause = std::min(2 * pause, kLongestPause)) {
    const auto busy = at::full({1}, is_busy() ? 1.0 : 0.0,
                               at::TensorOptions().dtype(at::kFloat).device(world.device()));
    world.world().all_reduce(busy, Reduce::max).wait();
    const bool is_over = busy.item<float>() == 0;
    world.check();
    if (is_over) return;
    std::this_thread::sleep_for(pause);
  }
}

std::optional<checkpoint::CheckpointReader> find_checkpoint(
    World& world, std::function<checkpoint::LatestCheckpoint()> look, std::string_view otherwise) {
  const bool looks = world.rank() == 0 || world.is_alone();
  std::future<checkpoint::LatestCheckpoint> search;
  if (looks) search = begin(std::move(look));
  wait_while(world, [&] { return looks && search.wait_for(0s) != std::future_status::ready; });
  checkpoint::LatestCheckpoint found;
  if (looks) found = search.get();
  for (const auto& error : found.skipped)
    fmt::print(stderr, "skipped a checkpoint: {}\n", error.text());
  if (!found.reader && !found.skipped.empty())
    throw ClassifiedFailure(
        "data", fmt::format("no checkpoint can be read: {}: {}; {}", found.skipped.front().place,
                            found.skipped.front().fact, otherwise));
  if (found.reader) fmt::print("resuming from {}\n", found.path.string());
  const auto path = shared(world, found.reader ? found.path.string() : "");
  const auto sum = shared(world, found.reader ? sum_of_manifest(found.path) : "");
  if (looks || path.empty()) return std::move(found.reader);
  // Rank 0 has read all of it and verified checksums: the others only check that it is the same
  // checkpoint.
  auto opened = checkpoint::CheckpointReader::open(path, /*checksums=*/false);
  const auto why = !opened                        ? text(opened.error())
                   : sum_of_manifest(path) != sum ? path + ": its checkpoint.json differs"
                                                  : "";
  if (!why.empty())
    throw ClassifiedFailure(
        "data",
        "rank 0 has a checkpoint that this rank does not see: is the run folder shared by "
        "all nodes? " +
            why);
  return std::move(*opened);
}

}  // namespace orch::train
