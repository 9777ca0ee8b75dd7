#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backends/megatron/engines.h"
#include "core/price/backend/spec.h"
#include "core/price/backend/states.h"
#include "core/price/backend/transformer.h"
#include "core/train/pipeline/partition.h"

namespace orch::megatron {

using orch::pipeline::Partition;

// A run's settings, read once.
struct Setup {
  explicit Setup(const backend::RunView& run);

  const EngineTraits& engine;
  std::int64_t tensor, pipeline;
  std::int64_t data;     // ranks that have the same weights: those of the data and of the context
  std::int64_t experts;  // ranks that a layer's experts are distributed to
  std::int64_t expert_tensor;  // ranks that share each of them
  std::int64_t chunks, micro_batches;
  backend::Transformer model;  // where layers differ, their mean
  // Of a mixture whose first layers have no experts: a layer that has, and one of those.
  std::optional<backend::Transformer> mixed, dense;
  backend::States states;
  Partition partition;
  std::vector<std::int64_t>
      uneven;  // layers of each chunk, as uneven_chunks has them; empty: all have as many
  std::int64_t zero_stage;
  bool offload_activations;
  std::int64_t offload_layers;
  std::uint32_t away_modules = 0;  // whose inputs go to the host; 0: all that a layer keeps
  bool offload_optimizer, fp32_accumulate, overlap_grad_reduce, overlap_param_gather, fill_bubbles;
  bool copied_gradients;  // made, summed and sent in 16 bit, and copied to fp32 for the update
  std::int64_t vocab_multiple;
  const char* dtype;
  // As asked, whatever becomes of it here.
  std::string_view stage_layers, partition_rule, recompute_modules, offload_modules;
  bool asks_sequence_parallel, asks_fill_bubbles;

  backend::Group data_group() const { return {data, tensor}; }
  // Ranks that have the same experts. Those that share one are neighbours, then come those that
  // have others.
  backend::Group expert_group() const {
    return {tensor * data / (expert_tensor * experts), expert_tensor * experts};
  }
  backend::Group pipeline_group() const { return {pipeline, tensor * data}; }
  // The same tensor-parallel slice of the first and of the last stage.
  backend::Group ends_group() const { return {2, tensor * data * (pipeline - 1)}; }
  // Of states of weights that such a group has each rank keeps so large a part of what is sharded
  // from this stage on: 1 the optimizer, 2 gradients, 3 weights.
  double shards(const backend::Group& group, std::int64_t from_stage = 1) const {
    return zero_stage >= from_stage ? static_cast<double>(group.size) : 1;
  }
  // Gradients are sharded, and so reduced with every micro-batch.
  bool scatters_each() const { return zero_stage > 1; }
  double shards() const { return shards(data_group()); }
  const backend::Transformer& layer() const { return mixed ? *mixed : model; }
  std::int64_t layers_of(std::int64_t stage, std::int64_t chunk) const {
    return uneven.empty() ? partition.layers_on(stage) / chunks
                          : uneven[static_cast<std::size_t>(chunk * pipeline + stage)];
  }
  // Of a stage's layers, those without experts where others have some: they come first.
  std::int64_t dense_on(std::int64_t stage) const;
  std::int64_t layers_on(std::int64_t stage) const {
    return partition.layers_on(stage) - dense_on(stage);
  }
  // Of a layer, on this rank, what other ranks than all those of the data have too.
  bool has_own_group() const { return experts > 1 || expert_tensor != tensor; }
  double dealt_params() const {
    return has_own_group() ? layer().expert_params() / static_cast<double>(experts * expert_tensor)
                           : 0;
  }
  // Gradients are summed in fp32, beside those that backward makes in 16 bit.
  bool separate_sum() const { return fp32_accumulate && states.gradients < 4; }
  double gradient_bytes() const { return fp32_accumulate ? 4 : states.gradients; }
  backend::Group tensor_group() const { return {tensor, 1}; }
  backend::Group world_group() const { return {tensor * data * pipeline, 1}; }
};

void check_setup(const backend::RunView& run, const Setup& setup, backend::Problems& problems);
void emit_work(const Setup& setup, backend::WorkSink& sink);
void emit_memory(const Setup& setup, backend::WorkSink& sink);

}  // namespace orch::megatron
