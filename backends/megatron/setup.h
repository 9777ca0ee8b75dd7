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

using orch::pipeline::StagePartition;

// A run's settings, read once.
struct MegatronSetup {
  explicit MegatronSetup(const backend::BackendRun& run);

  const EngineTraits& engine;
  std::int64_t tensor, pipeline;
  std::int64_t data;           // ranks with the same weights: data x context parallelism
  std::int64_t experts;        // number of ranks that a layer's experts are distributed to
  std::int64_t expert_tensor;  // number of ranks that share each expert
  std::int64_t chunks, micro_batches;
  backend::Transformer model;  // the mean if layers differ
  // If only the first layers of a mixture have no experts: a layer with experts, and one without.
  std::optional<backend::Transformer> mixed, dense;
  std::vector<std::int64_t> dense_layers;  // on each of the first stages: dense ones come first
  backend::StateBytes states;
  std::int64_t mtp_layers;  // layers of multi-token prediction, on the last stage
  StagePartition partition;
  std::vector<std::int64_t>
      uneven;  // layers of each chunk, from uneven_chunks; empty: all are equal
  std::int64_t zero_stage;
  bool offload_activations;
  std::int64_t offload_layers;
  std::uint32_t away_modules = 0;  // modules that are offloaded; 0: all that a layer stores
  bool offload_optimizer, fp32_accumulate, overlap_grad_reduce, overlap_param_gather, fill_bubbles;
  bool copied_gradients;  // computed, summed and sent in 16 bit, and copied to fp32 for the update
  std::int64_t vocab_multiple;
  const char* dtype;
  // As given, before interpretation.
  std::string_view stage_layers, partition_rule, recompute_modules, offload_modules, cuda_graphs;
  bool asks_sequence_parallel, asks_fill_bubbles;

  backend::MeshGroup data_group() const { return {data, tensor}; }
  // Ranks that have the same experts. The ranks that share an expert are neighbours, then come
  // those with other experts.
  backend::MeshGroup expert_group() const {
    return {tensor * data / (expert_tensor * experts), expert_tensor * experts};
  }
  backend::MeshGroup pipeline_group() const { return {pipeline, tensor * data}; }
  // Ranks with the same tensor-parallel slice of the first and of the last stage.
  backend::MeshGroup ends_group() const { return {2, tensor * data * (pipeline - 1)}; }
  // The share of a group's states that each rank stores, if sharded from this stage on: 1 the
  // optimizer, 2 gradients, 3 weights.
  double shards(const backend::MeshGroup& group, std::int64_t from_stage = 1) const {
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
  // The number of dense layers on a stage of a mixture.
  std::int64_t dense_on(std::int64_t stage) const {
    return stage < static_cast<std::int64_t>(dense_layers.size())
               ? dense_layers[static_cast<std::size_t>(stage)]
               : 0;
  }
  std::int64_t predicting_on(std::int64_t stage) const {
    return stage + 1 == pipeline ? mtp_layers : 0;
  }
  std::int64_t layers_on(std::int64_t stage) const {
    return partition.layers_on(stage) - dense_on(stage) + predicting_on(stage);
  }
  // True if a part of a layer on this rank is shared by other ranks than those of data parallelism.
  bool has_own_group() const { return experts > 1 || expert_tensor != tensor; }
  double dealt_params() const {
    return has_own_group() ? layer().expert_params() / static_cast<double>(experts * expert_tensor)
                           : 0;
  }
  // Gradients are summed in fp32, in addition to those that backward computes in 16 bit.
  bool separate_sum() const { return fp32_accumulate && states.gradients < 4; }
  double gradient_bytes() const { return fp32_accumulate ? 4 : states.gradients; }
  backend::MeshGroup tensor_group() const { return {tensor, 1}; }
  backend::MeshGroup world_group() const { return {tensor * data * pipeline, 1}; }
};

void check_setup(const backend::BackendRun& run, const MegatronSetup& setup,
                 backend::ProblemSink& problems);
void emit_schedule(const MegatronSetup& setup, backend::WorkSink& sink);
void emit_work(const MegatronSetup& setup, backend::WorkSink& sink);
void emit_memory(const MegatronSetup& setup, backend::WorkSink& sink);

}  // namespace orch::megatron
