#include "backends/runtime/step/batches.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <vector>

#include "backends/runtime/host/failure.h"

namespace orch::train {
namespace {

void check(std::span<const std::int32_t> tokens, std::int64_t vocab, std::int64_t sample) {
  for (const auto token : tokens)
    if (token < 0 || token >= vocab)
      throw ClassifiedFailure(
          "data", fmt::format("sample {} has token {}, but the vocabulary of the model is "
                              "{}: use the tokenizer's vocabulary",
                              sample, token, vocab));
}

}  // namespace

std::int64_t micro_batches_of(std::int64_t global_batch, const plan::Run& run, const Mesh& mesh) {
  const std::int64_t replicas = mesh.data_size(), micro = run.batch.micro_batch;
  if (global_batch % (replicas * micro) == 0) return global_batch / (replicas * micro);
  throw ClassifiedFailure(
      "bad_exit", fmt::format("a batch of {} cannot be shared by {} replicas with "
                              "micro-batches of {}: start the number of ranks that was planned",
                              global_batch, replicas, micro));
}

MicroBatch read_batch(const data::Dataset& dataset, const plan::Run& run, const Mesh& mesh,
                      std::int64_t first, std::int64_t micro, std::int64_t step, bool with_tokens) {
  const auto seq = run.model.seq, count = run.batch.micro_batch;
  const auto device = mesh.world().device();
  first += (micro * mesh.data_size() + mesh.data_rank()) * count;
  if (!with_tokens) return {{}, {}, step, first, count * seq};
  std::vector<std::int32_t> sample(static_cast<std::size_t>(seq) + 1);
  const auto host = at::TensorOptions().dtype(at::kLong).pinned_memory(device.is_cuda());
  const auto both = at::empty({2, count * seq}, host);
  auto* tokens = both.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    try {
      dataset.read(first + i, sample);
    } catch (const std::exception& error) {
      throw ClassifiedFailure("data", error.what());
    }
    check(sample, run.model.vocab, first + i);
    std::copy(sample.begin(), sample.end() - 1, tokens + i * seq);
    std::copy(sample.begin() + 1, sample.end(), tokens + (count + i) * seq);
  }
  const auto moved = both.to(device, /*non_blocking=*/true);
  return {moved.select(0, 0), moved.select(0, 1), step, first, count * seq};
}

}  // namespace orch::train
