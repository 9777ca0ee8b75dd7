#pragma once

#include "backends/megatron/partition.h"
#include "core/backend/spec.h"
#include "core/backend/states.h"
#include "core/backend/transformer.h"

namespace orch::megatron {

// A run's settings, read once.
struct Setup {
  explicit Setup(const backend::RunView& run);

  std::int64_t tensor, pipeline, data, chunks, micro_batches;
  backend::Transformer model;
  backend::States states;
  Partition partition;
  std::int64_t zero_stage;
  bool deepspeed_engine, offload_optimizer, fp32_accumulate, overlap_grad_reduce;
  bool overlap_param_gather, fill_bubbles;
  bool fused_kernels;
  std::int64_t vocab_multiple;
  const char* dtype;

  backend::Group data_group() const { return {data, tensor}; }
  backend::Group pipeline_group() const { return {pipeline, tensor * data}; }
  // The same tensor-parallel slice of the first and of the last stage.
  backend::Group ends_group() const { return {2, tensor * data * (pipeline - 1)}; }
  double shards() const { return zero_stage == 1 ? static_cast<double>(data) : 1; }
  // Gradients are summed in fp32, beside those that backward makes in 16 bit.
  bool separate_sum() const { return fp32_accumulate && states.gradients < 4; }
  double gradient_bytes() const { return fp32_accumulate ? 4 : states.gradients; }
  backend::Group tensor_group() const { return {tensor, 1}; }
  backend::Group world_group() const { return {tensor * data * pipeline, 1}; }
};

std::vector<backend::StrategySpec> strategies();
void check(const backend::RunView& run, backend::Problems& problems);
void emit_work(const Setup& setup, backend::WorkSink& sink);
void emit_memory(const Setup& setup, backend::WorkSink& sink);

}  // namespace orch::megatron
