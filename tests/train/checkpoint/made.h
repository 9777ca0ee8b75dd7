#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/train/checkpoint/checkpoint.h"

namespace made {

using namespace orch;
using checkpoint::CheckpointFacts;
using checkpoint::SavedPiece;
using checkpoint::SavedState;
using checkpoint::TensorDtype;
using checkpoint::TensorPiece;

template <class T>
std::vector<std::byte> bytes(const std::vector<T>& values) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

template <class T>
std::vector<T> values(const std::vector<std::byte>& data) {
  std::vector<T> out(data.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), data.data(), data.size());
  return out;
}

// The indices in the whole tensor of a piece's elements, computed by division: the simple way.
inline std::vector<std::int64_t> global_indices(const TensorPiece& piece) {
  std::vector<std::int64_t> out;
  for (auto element = piece.begin; element < piece.end; ++element) {
    std::int64_t left = element, index = 0, stride = 1;
    for (auto dim = piece.shape.size(); dim-- > 0;) {
      index += (piece.offsets[dim] + left % piece.sizes[dim]) * stride;
      left /= piece.sizes[dim];
      stride *= piece.shape[dim];
    }
    out.push_back(index);
  }
  return out;
}

// A tensor whose elements are `base` plus their index.
inline std::vector<float> counted(const TensorPiece& piece, float base) {
  std::vector<float> out;
  for (const auto index : global_indices(piece)) out.push_back(base + static_cast<float>(index));
  return out;
}

inline SavedPiece saved(const TensorPiece& piece, float base = 0) {
  return {piece, bytes(counted(piece, base))};
}

inline TensorPiece box(std::string name, std::vector<std::int64_t> shape,
                       std::vector<std::int64_t> offsets, std::vector<std::int64_t> sizes) {
  auto piece = TensorPiece::whole(std::move(name), TensorDtype::f32, sizes);
  piece.shape = std::move(shape);
  piece.offsets = std::move(offsets);
  return piece;
}

inline TensorPiece range(TensorPiece piece, std::int64_t begin, std::int64_t end) {
  piece.begin = begin;
  piece.end = end;
  return piece;
}

inline CheckpointFacts at_step(std::int64_t step, int ranks = 1) {
  CheckpointFacts facts;
  facts.step = step;
  facts.ranks = ranks;
  return facts;
}

// A checkpoint of one rank: `elements` floats that begin with the step.
inline SavedState simple(std::int64_t step, std::int64_t elements = 100) {
  return {{saved(TensorPiece::whole("weights/w", TensorDtype::f32, {elements}),
                 static_cast<float>(step))}};
}

// Writes each rank's share, the last rank first, so that rank 0 finds all others'.
inline Status write_all(const fs::path& folder, CheckpointFacts facts,
                        const std::vector<SavedState>& shares, const std::string& attempt = "a") {
  facts.ranks = static_cast<int>(shares.size());
  for (int rank = facts.ranks - 1; rank >= 0; --rank) {
    checkpoint::WriteOptions options;
    options.rank = rank;
    options.attempt = attempt;
    options.wait_seconds = 0;
    if (auto status =
            checkpoint::write(folder, facts, shares[static_cast<std::size_t>(rank)], options);
        !status)
      return status;
  }
  return {};
}

inline std::vector<float> read(const checkpoint::CheckpointReader& reader,
                               const TensorPiece& wanted) {
  std::vector<std::byte> to(static_cast<std::size_t>(wanted.end - wanted.begin) * 4);
  if (auto status = reader.read(wanted, to); !status)
    throw std::runtime_error(text(status.error()));
  return values<float>(to);
}

// Runs it in a separate process; its result is the exit code.
template <class Work>
pid_t in_process(Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  return child;
}

inline int exit_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace made
