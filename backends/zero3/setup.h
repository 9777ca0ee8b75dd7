#pragma once

#include "backends/zero3/mode.h"
#include "core/price/backend/ops.h"
#include "core/price/backend/spec.h"
#include "core/price/backend/states.h"
#include "core/price/backend/transformer.h"
#include "core/train/pipeline/partition.h"

namespace orch::zero3 {

// DeepSpeed's defaults, in parameters: for a collective in stages 1 and 2 and for any gradients
// (reduce_bucket_size), and for complete weights besides a matrix in use
// (stage3_max_live_parameters).
inline constexpr double kBucket = 5e8, kMostLive = 1e9;

// The settings of a run in common form, for any of the three strategies.
struct Zero3Setup : Mode {
  explicit Zero3Setup(const backend::BackendRun& run);

  backend::Transformer model;
  backend::StateBytes states;
  std::int64_t micro_batches = 1;
  std::int64_t ranks = 1;   // total number
  std::int64_t tensor = 1;  // ranks that share each layer
  std::int64_t pipeline = 1, chunks = 1;
  orch::pipeline::StagePartition partition = {};  // over all chunks; each end counts as a layer
  bool fp32_reduce = false;   // gradients are sent in fp32, not in the products' type
  bool fp32_weights = false;  // FSDP shards fp32 weights and gathers 16-bit copies
  bool offload_activations = false;
  bool scatters_twice = false;  // for the word embedding's gradient
  const char* dtype = "bf16";

  // With a pipeline, FSDP's weights are gathered for a step's first forward and gradients reduced
  // after its last backward (PyTorch's pipelining, with torchtitan's defaults).
  bool staged() const { return pipeline > 1; }
  std::int64_t layers_on(std::int64_t place) const {
    if (!staged()) return whole_layers();
    std::int64_t sum = 0;
    for (; place < pipeline * chunks; place += pipeline) sum += partition.layers_on(place);
    return sum;
  }
  backend::MeshGroup pipeline_group() const { return {pipeline, tensor * ranks}; }
  backend::MeshGroup shard_group() const { return {shard_ranks, tensor}; }
  backend::MeshGroup replica_group() const { return {ranks / shard_ranks, tensor * shard_ranks}; }
  double shards(std::int64_t from_stage) const {
    return stage >= from_stage ? static_cast<double>(shard_ranks) : 1;
  }
  // The share of the layers, and of the parameters before and behind them, in host memory. A
  // framework's is all or nothing.
  double layers_away() const {
    if (offload == Offload::none) return 0;
    return std::min(1.0, static_cast<double>(layers_on_host(whole_layers())) / model.layers);
  }
  double ends_away() const {
    if (offload == Offload::none || offload_fraction <= 0) return 0;
    return offload_fraction >= 1 ? 1 : behind_params() / end_params();
  }
  double params_away() const {
    return layers_away() * model.layers * model.layer_params() + ends_away() * end_params();
  }
  // FSDP2's offload: on one H200 a 2.7B model took 1.6 times the estimate without this (PyTorch
  // 2.11).
  bool waits_for_copies() const { return is_full() && !model.lean && fsdp; }
  // A layer's input for recomputation on this rank; DeepSpeed distributes it over the
  // tensor-parallel ranks.
  double checkpoint_bytes() const {
    return model.element * model.sbh() / (model.lean ? 1 : model.tensor_parallel);
  }
  // The share of the layers that our own trainer gathers at a time.
  double slots() const {
    return keeps_all ? model.layers : std::min(static_cast<double>(prefetch + 1), model.layers);
  }
  // Embedding, a separate head, positions or a norm, the final norm, and, in our own trainer, the
  // padding.
  double end_params() const {
    return model.embedding_params() + model.head_params() + model.first_params() +
           model.last_params() +
           (model.lean ? model.padding_params() + model.head_padding_params() : 0);
  }
  // Parameters behind the layers: the norm, and a separate head.
  double behind_params() const {
    return model.last_params() + model.head_params() +
           (model.lean ? model.head_padding_params() : 0);
  }
  // Parameters of the first stage besides its layers, and of the last one.
  double front_params() const { return end_params() - (staged() ? behind_params() : 0); }
  double back_params() const { return staged() ? behind_params() : 0; }
  std::int64_t whole_layers() const { return static_cast<std::int64_t>(model.layers); }
  double params() const { return model.layers * model.layer_params() + end_params(); }
  // Bytes per gradient when sent. Our own trainer sends complete ones in the type of their sum.
  double sent_gradient() const {
    return fp32_reduce || (model.lean && stage == 1) ? 4 : states.weights;
  }
  double stored_weight() const { return fp32_weights ? 4 : states.weights; }
  double optimizer_bytes() const { return states.moments + (fp32_weights ? 0 : states.master); }
};

// Stages that have the same number of parameters.
struct StageRange {
  std::int64_t first = 0, last = 0;
  double params = 0;
};
std::vector<StageRange> parts_of(const Zero3Setup& setup);

void check_setup(const backend::BackendRun& run, const Zero3Setup& setup,
                 backend::ProblemSink& problems);
void emit_schedule(const Zero3Setup& setup, backend::WorkSink& sink);
void emit_work(const Zero3Setup& setup, backend::WorkSink& sink);
void emit_memory(const Zero3Setup& setup, backend::WorkSink& sink);

}  // namespace orch::zero3
