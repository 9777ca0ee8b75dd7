// Checkpoints compared with the disk: the same bytes written and synced by one plain loop, like dd
// conv=fsync, and read back by one. And the time of the checksum alone.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/train/checkpoint/checkpoint.h"
#include "core/train/checkpoint/checksum.h"
#include "core/train/checkpoint/index.h"
#include "core/train/checkpoint/manifest.h"

namespace {

using namespace orch;
using checkpoint::TensorDtype;
using checkpoint::TensorPiece;

constexpr std::int64_t kTensors = 64;
constexpr std::int64_t kElements = 1 << 20;
constexpr std::size_t kBytes = kTensors * kElements * sizeof(float);
constexpr std::size_t kChunk = 1 << 20;

// 256 MiB in tensors of 4 MiB; in the folder ORCH_BENCH_FOLDER, because disks differ.
class BenchFolder {
 public:
  BenchFolder() {
    const char* where = std::getenv("ORCH_BENCH_FOLDER");
    path_ = (where ? fs::path(where) : fs::temp_directory_path()) /
            fmt::format("orch-checkpoint-{}", ::getpid());
    fs::create_directories(path_);
  }
  ~BenchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TensorPiece tensor(std::int64_t i) {
  return TensorPiece::whole(fmt::format("weights/{}", i), TensorDtype::f32,
                            {1024, kElements / 1024});
}

const checkpoint::SavedState& state() {
  static const auto saved = [] {
    checkpoint::SavedState all;
    unsigned seed = 1;
    for (std::int64_t i = 0; i < kTensors; ++i) {
      std::vector<std::byte> data(kElements * sizeof(float));
      for (auto& byte : data)
        byte = static_cast<std::byte>((seed = seed * 1664525 + 1013904223) >> 24);
      all.pieces.push_back({tensor(i), std::move(data)});
    }
    return all;
  }();
  return saved;
}

void count(benchmark::State& run) {
  run.SetBytesProcessed(run.iterations() * static_cast<std::int64_t>(kBytes));
}

void checksum(benchmark::State& run) {
  const auto& pieces = state().pieces;
  for (auto _ : run) {
    checkpoint::Checksum sum;
    for (const auto& piece : pieces) sum.add(piece.data);
    benchmark::DoNotOptimize(sum.value());
  }
  count(run);
}

void copy(benchmark::State& run) {
  std::vector<std::byte> to(kElements * sizeof(float));
  const auto& pieces = state().pieces;
  for (auto _ : run)
    for (const auto& piece : pieces) {
      std::memcpy(to.data(), piece.data.data(), to.size());
      benchmark::DoNotOptimize(to.data());
      benchmark::ClobberMemory();
    }
  count(run);
}

void write_plainly(benchmark::State& run) {
  const BenchFolder folder;
  const auto file = folder.path() / "plain";
  for (auto _ : run) {
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    for (const auto& piece : state().pieces)
      for (std::size_t at = 0; at < piece.data.size(); at += kChunk)
        if (::write(fd, piece.data.data() + at, kChunk) != static_cast<ssize_t>(kChunk))
          std::exit(1);
    if (::fsync(fd) != 0 || ::close(fd) != 0) std::exit(1);
    run.PauseTiming();
    fs::remove(file);
    run.ResumeTiming();
  }
  count(run);
}

void write_checkpoint(benchmark::State& run) {
  const BenchFolder folder;
  checkpoint::CheckpointFacts facts;
  checkpoint::WriteOptions options;
  options.keep = 0;
  for (auto _ : run) {
    ++facts.step;
    if (!checkpoint::write(folder.path(), facts, state(), options)) std::exit(1);
    run.PauseTiming();
    fs::remove_all(checkpoint::list(folder.path()).front());
    run.ResumeTiming();
  }
  count(run);
}

void read_plainly(benchmark::State& run) {
  const BenchFolder folder;
  if (!checkpoint::write(folder.path(), {}, state(), {})) std::exit(1);
  const auto file = checkpoint::list(folder.path()).front() / "rank-0.safetensors";
  std::vector<std::byte> to(kElements * sizeof(float));
  for (auto _ : run) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    while (::read(fd, to.data(), to.size()) > 0) benchmark::DoNotOptimize(to.data());
    ::close(fd);
  }
  count(run);
}

// Opened with all checksums, or without; then every tensor is read.
template <bool checksums, TensorDtype dtype>
void read_checkpoint(benchmark::State& run) {
  const BenchFolder folder;
  if (!checkpoint::write(folder.path(), {}, state(), {})) std::exit(1);
  const auto path = checkpoint::list(folder.path()).front();
  std::vector<std::byte> to(kElements * checkpoint::bytes_of(dtype));
  for (auto _ : run) {
    const auto reader = checkpoint::CheckpointReader::open(path, checksums);
    for (std::int64_t i = 0; i < kTensors; ++i) {
      auto wanted = tensor(i);
      wanted.dtype = dtype;
      if (!reader || !reader->read(wanted, to)) std::exit(1);
    }
  }
  count(run);
}

// A thousand tensors, cut over 4,096 ranks.
checkpoint::Manifest many_ranks() {
  constexpr std::int64_t kRanks = 4096, kRow = 1000, kEach = 4096 * 4096, kAll = kRow * kEach;
  checkpoint::Manifest manifest;
  manifest.facts.ranks = kRanks;
  for (std::int64_t rank = 0; rank < kRanks; ++rank) {
    const auto begin = kAll * rank / kRanks, end = kAll * (rank + 1) / kRanks;
    std::vector<TensorPiece> pieces;
    for (auto i = begin / kEach; i * kEach < end; ++i) {
      auto piece = TensorPiece::whole(fmt::format("weights/{}", i), TensorDtype::f32, {4096, 4096});
      piece.begin = std::max(begin - i * kEach, std::int64_t{0});
      piece.end = std::min(end - i * kEach, kEach);
      pieces.push_back(std::move(piece));
    }
    if (!manifest.add({static_cast<std::uint64_t>(end - begin) * 4, 0, 0}, pieces)) std::exit(1);
  }
  return manifest;
}

void write_manifest(benchmark::State& run) {
  for (auto _ : run) benchmark::DoNotOptimize(checkpoint::checkpoint_json(many_ranks()));
}

void read_manifest(benchmark::State& run) {
  const auto text = checkpoint::checkpoint_json(many_ranks());
  for (auto _ : run) {
    const auto manifest = checkpoint::parse_checkpoint_json(text, "checkpoint.json");
    if (!manifest || !checkpoint::TensorIndex::make(manifest->state)) std::exit(1);
  }
  run.counters["bytes"] = static_cast<double>(text.size());
}

void measure(const char* name, benchmark::internal::Function* function) {
  benchmark::RegisterBenchmark(name, function)->Unit(benchmark::kMillisecond)->UseRealTime();
}

const bool registered = [] {
  measure("checkpoint: memcpy of 256 MiB", copy);
  measure("checkpoint: checksum of it (XXH64)", checksum);
  measure("checkpoint: written plainly and synced", write_plainly);
  measure("checkpoint: written as a checkpoint", write_checkpoint);
  measure("checkpoint: read plainly, cached", read_plainly);
  measure("checkpoint: read, cached, sizes checked", read_checkpoint<false, TensorDtype::f32>);
  measure("checkpoint: opened with checksums and read, cached",
          read_checkpoint<true, TensorDtype::f32>);
  measure("checkpoint: read as bf16, cached", read_checkpoint<false, TensorDtype::bf16>);
  measure("checkpoint: checkpoint.json of 1,000 tensors on 4,096 ranks, made", write_manifest);
  measure("checkpoint: the same, read and checked", read_manifest);
  return true;
}();

}  // namespace
