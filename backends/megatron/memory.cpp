#include <algorithm>
#include <cmath>

#include "backends/megatron/offload.h"
#include "backends/megatron/setup.h"
#include "core/train/pipeline/schedule.h"

namespace orch::megatron {
namespace {

using namespace backend;

// Names of the memory items of one group of parameters.
struct MemoryNames {
  const char *weights, *gradients, *accumulation, *optimizer, *shard_gradients;
};

#define ORCH_NAMES_OF(what)                                                    \
  {                                                                            \
    "weights: " what, "gradients: " what, "fp32 gradient accumulation: " what, \
        "optimizer states: " what, "fp32 gradients of the shard: " what        \
  }
constexpr MemoryNames kLayers = ORCH_NAMES_OF("layers"), kExperts = ORCH_NAMES_OF("experts"),
                      kEmbedding = ORCH_NAMES_OF("embedding"),
                      kOther = ORCH_NAMES_OF("positions, norms, padding"),
                      kPrediction = ORCH_NAMES_OF("multi-token prediction");
#undef ORCH_NAMES_OF

struct StageLayers {
  std::int64_t first, last;
};

// Adds master weights, moments and the sum of gradients, all in fp32.
void add_host(const MegatronSetup& setup, StageLayers stages, double params, double shards,
              WorkSink& sink) {
  // Our trainer's gradients stay where they are summed.
  const bool lean = setup.model.lean;
  const double each = (lean ? 4 : 8) + setup.states.moments, mine = params / shards;
  emit_kept(sink, lean ? "optimizer states on the host" : "optimizer states and gradients",
            stages.first, stages.last, each, mine, 1, ORCH_HOST_MEMORY);
}

void emit_states(const MegatronSetup& setup, const MemoryNames& names, StageLayers stages,
                 double params, WorkSink& sink, const MeshGroup& group) {
  const double all_shards = setup.shards(group), of_gradients = setup.shards(group, 2);
  const auto add = [&](const char* name, double each, double shards) {
    emit_kept(sink, name, stages.first, stages.last, each, params, shards,
              setup.model.lean ? ORCH_SETTLED : ORCH_DEVICE);
  };
  add(names.weights, setup.states.weights, setup.shards(group, 3));
  add(names.gradients, setup.states.gradients, of_gradients);
  if (setup.separate_sum()) add(names.accumulation, 4, of_gradients);
  if (setup.offload_optimizer) return add_host(setup, stages, params, all_shards, sink);
  add(names.optimizer, setup.states.optimizer(), all_shards);
  if (setup.zero_stage == 1 && setup.engine.widens_shard) add(names.shard_gradients, 4, all_shards);
}
void emit_states(const MegatronSetup& setup, const MemoryNames& names, StageLayers stages,
                 double params, WorkSink& sink) {
  emit_states(setup, names, stages, params, sink, setup.data_group());
}

// The parameters of a layer, and of a dense one.
struct LayerSizes {
  explicit LayerSizes(const MegatronSetup& setup)
      : each(setup.layer().layer_params()), dense(setup.dense ? setup.dense->layer_params() : 0) {}
  double each, dense;
};

double layer_params(const MegatronSetup& setup, const LayerSizes& sizes, std::int64_t stage) {
  const double rest = setup.dense ? static_cast<double>(setup.dense_on(stage)) * sizes.dense : 0;
  return static_cast<double>(setup.layers_on(stage)) * sizes.each + rest;
}

void emit_layer_states(const MegatronSetup& setup, WorkSink& sink) {
  const LayerSizes sizes(setup);
  const double experts = setup.dealt_params();
  for (std::int64_t first = 0; first < setup.pipeline;) {
    const std::int64_t layers = setup.layers_on(first), dense = setup.dense_on(first);
    std::int64_t next = first + 1;
    while (next < setup.pipeline && setup.layers_on(next) == layers &&
           setup.dense_on(next) == dense)
      ++next;
    const double count = static_cast<double>(layers);
    const double params = layer_params(setup, sizes, first);
    emit_states(setup, kLayers, {first, next - 1}, params - count * experts, sink);
    if (const double narrow = setup.model.narrow; narrow > 0)  // as they are, and transposed
      emit_kept(sink, "weights that products read", first, next - 1, 2 * narrow,
                setup.zero_stage == 3 ? sizes.each : params);
    if (experts > 0 && layers > 0)
      emit_states(setup, kExperts, {first, next - 1}, count * experts, sink, setup.expert_group());
    first = next;
  }
}

void emit_end_states(const MegatronSetup& setup, WorkSink& sink) {
  const auto& model = setup.model;
  const std::int64_t last = setup.pipeline - 1;
  if (setup.mtp_layers > 0)
    emit_states(setup, kPrediction, {last, last},
                2 * static_cast<double>(setup.mtp_layers) * model.hidden * model.hidden /
                    model.tensor_parallel,
                sink);
  emit_states(setup, kEmbedding, {0, 0},
              model.embedding_params() + (last == 0 ? model.head_params() : 0), sink);
  if (last == 0)
    return emit_states(setup, kOther, {0, 0},
                       model.first_params() + model.padding_params() + model.head_padding_params() +
                           model.last_params(),
                       sink);
  emit_states(setup, kOther, {0, 0}, model.first_params() + model.padding_params(), sink);
  emit_states(setup, kEmbedding, {last, last}, model.embedding_params(), sink);
  emit_states(setup, kOther, {last, last}, model.last_params() + model.padding_params(), sink);
}

// What a stage stores for each micro-batch in flight besides its layers' inputs, measured in such
// inputs. Our trainer stores each rank's share of the output.
double handed_over(const MegatronSetup& setup, std::int64_t stage) {
  if (!setup.model.lean) return setup.pipeline > 1 ? setup.engine.handed_over : 1;
  if (setup.pipeline == 1 || (stage + 1 == setup.pipeline && setup.chunks == 1)) return 0;
  // With sequence parallelism a layer's input is already a share.
  return setup.model.sequence_parallel ? 1 : 1 / static_cast<double>(setup.tensor);
}

// The maximum of layers in flight on a stage if its chunks differ, from the schedule. The maximum
// occurs before the first groups of micro-batches have passed: later ones repeat them.
std::int64_t layers_at_once(const MegatronSetup& setup, pipeline::PipelineShape shape,
                            std::int64_t stage) {
  shape.micro_batches =
      std::min(shape.micro_batches, 3 * shape.stages + shape.micro_batches % shape.stages);
  std::int64_t held = 0, most = 0;
  for (const auto& task : pipeline::tasks(shape, stage)) {
    const std::int64_t layers = setup.layers_of(stage, task.chunk);
    held += task.pass == pipeline::PipelinePass::forward ? layers : -layers;
    most = std::max(most, held);
  }
  return most;
}

// The maximum of chunks in flight on a stage, in chunks of mean size if they differ.
double chunks_in_flight(const MegatronSetup& setup, std::int64_t stage) {
  const pipeline::PipelineShape shape{setup.pipeline, setup.chunks, setup.micro_batches,
                                      setup.fill_bubbles};
  const std::int64_t layers = setup.uneven.empty() ? 0 : setup.partition.layers_on(stage);
  if (layers == 0) return static_cast<double>(pipeline::in_flight(shape, stage));
  return static_cast<double>(layers_at_once(setup, shape, stage) * setup.chunks) /
         static_cast<double>(layers);
}

// The layer inputs or activations stored at that time, without those of dense layers.
double layers_in_flight(const MegatronSetup& setup, std::int64_t stage) {
  const double held =
      static_cast<double>(setup.layers_on(stage)) / static_cast<double>(setup.chunks);
  return chunks_in_flight(setup, stage) *
         (held + (setup.model.full() ? handed_over(setup, stage) : 0));
}
double dense_in_flight(const MegatronSetup& setup, std::int64_t stage) {
  return chunks_in_flight(setup, stage) * static_cast<double>(setup.dense_on(stage)) /
         static_cast<double>(setup.chunks);
}

// The inputs of delayed products, and the gradients of their outputs.
void emit_put_off(const MegatronSetup& setup, WorkSink& sink) {
  if (!setup.fill_bubbles) return;
  const auto& model = setup.model;
  const pipeline::PipelineShape shape{setup.pipeline, 1, setup.micro_batches, true};
  const double widths =
      model.qkv_widths() + model.value_widths() + model.up_widths() + model.inner_widths();
  const double each = model.sbh() *
                      (8 + visited_bytes(model) + 2 * widths / model.tensor_parallel) *
                      model.element / 2;
  for (std::int64_t stage = 0; stage < setup.pipeline; ++stage) {
    const auto waiting = static_cast<double>(pipeline::put_off(shape, stage));
    const double layers = waiting * static_cast<double>(setup.partition.layers_on(stage));
    sink.memory("deferred products", stage, stage, layers * each, [&] {
      return say(layers, " layers of ", waiting, " micro-batches x ", PrintedBytes{each}, " = ",
                 PrintedBytes{layers * each});
    });
  }
}

// A layer, the bytes that it keeps for backward, and the part of them that is offloaded.
struct KeptLayer {
  KeptLayer(const MegatronSetup& setup, const Transformer& kind)
      : model(kind), bytes(kept_per_layer(kind)), away(layer_away(setup, kind)) {}
  const Transformer& model;
  double bytes, away;
};

// The part of these layers' activations that is offloaded to the host. The device stores the rest,
// and the prefetched activations of one layer.
void emit_away(const MegatronSetup& setup, const KeptLayer& layer, StageLayers stages,
               double layers, const char* name, WorkSink& sink) {
  const double each = layer.away, kept = layer.bytes;
  const double away = layers_away(setup, layers), back = std::min(1.0, away);
  const double here = layers * kept - (away - back) * each;
  sink.memory(name, stages.first, stages.last, here, [&] {
    return say(layers, " layers in flight x ", PrintedBytes{kept}, " less ", away - back, " x ",
               PrintedBytes{each}, " = ", PrintedBytes{here});
  });
  sink.memory(
      "activations on the host", stages.first, stages.last, away * each,
      [&] { return say(away, " layers x ", PrintedBytes{each}, " = ", PrintedBytes{away * each}); },
      ORCH_HOST_MEMORY);
}

void emit_kept_layers(const MegatronSetup& setup, const KeptLayer& layer, StageLayers stages,
                      double layers, const char* name, WorkSink& sink) {
  if (layer.away > 0) return emit_away(setup, layer, stages, layers, name, sink);
  emit_activations(layer.model, layer.bytes, sink, stages.first, stages.last, layers, name);
}

void emit_dense_flight(const MegatronSetup& setup, WorkSink& sink) {
  if (!setup.dense) return;
  const KeptLayer layer(setup, *setup.dense);
  for (std::int64_t stage = 0; stage < setup.pipeline; ++stage)
    if (setup.dense_on(stage) > 0)
      emit_kept_layers(setup, layer, {stage, stage}, dense_in_flight(setup, stage),
                       "activations of dense layers", sink);
}

void emit_flight(const MegatronSetup& setup, WorkSink& sink) {
  const KeptLayer layer(setup, setup.layer());
  double layers = layers_in_flight(setup, 0);
  for (std::int64_t first = 0; first < setup.pipeline;) {
    const double here = layers;
    std::int64_t next = first + 1;
    for (; next < setup.pipeline; ++next)
      if (layers = layers_in_flight(setup, next); layers != here) break;
    emit_kept_layers(setup, layer, {first, next - 1}, here, "activations", sink);
    first = next;
  }
  emit_dense_flight(setup, sink);
  emit_put_off(setup, sink);
  emit_peaks(setup.layer(), sink, setup.pipeline - 1);
}

double stage_params(const MegatronSetup& setup, const LayerSizes& sizes, std::int64_t stage) {
  const bool end = stage == 0 || stage + 1 == setup.pipeline;
  return layer_params(setup, sizes, stage) + (end ? setup.model.embedding_params() : 0);
}

// Memory used only during the update, when no micro-batch is in flight: what exceeds the
// activations.
void emit_after_step(const MegatronSetup& setup, const char* name, double each, WorkSink& sink) {
  const LayerSizes sizes(setup);
  const double kept = kept_per_layer(setup.model);
  for (std::int64_t stage = 0; stage < setup.pipeline; ++stage) {
    const double params = stage_params(setup, sizes, stage);
    const double gone = layers_in_flight(setup, stage) * kept;
    sink.memory(name, stage, stage, each * params - gone, [&] {
      return say(each, " B x ", params, " params less ", PrintedBytes{gone}, " of activations");
    });
  }
}

void emit_copies(const MegatronSetup& setup, WorkSink& sink) {
  if (setup.copied_gradients)
    emit_after_step(setup, "fp32 copies of gradients", 4 / setup.shards(), sink);
  if (setup.zero_stage == 1 && setup.engine.gathers_beside && setup.data > 1)
    emit_after_step(setup, "weights being gathered",
                    setup.states.weights * (1 + 1 / setup.shards()), sink);
}

// In our trainer, the word embedding's gradient of a micro-batch is completed before it is added.
// With one stage nothing else is left of the micro-batch by then; in a pipeline others are in
// flight.
void emit_words_gradient(const MegatronSetup& setup, WorkSink& sink) {
  if (!setup.model.lean || setup.pipeline == 1) return;
  const double params = setup.model.embedding_params() + setup.model.padding_params();
  emit_kept(sink, "gradient of the words", 0, 0, 4, params);
}

void emit_buffers(const MegatronSetup& setup, WorkSink& sink) {
  const std::int64_t last = setup.pipeline - 1;
  const auto& model = setup.model;
  if (setup.data == 1 || setup.zero_stage == 0 || !setup.engine.copies_buckets) return;
  // Never larger than the gradients to reduce.
  const double layers = static_cast<double>(setup.partition.portion());
  const double elements = std::min(setup.engine.bucket, layers * model.layer_params());
  const double bytes = elements * setup.states.gradients;
  sink.memory("communication buffers", 0, last, bytes, [&] {
    return say(setup.states.gradients, " B x ", elements,
               " elements of a bucket = ", PrintedBytes{bytes});
  });
}

// The number of vocabulary matrices, for lookup and logits.
double words_on(const MegatronSetup& setup, std::int64_t stage) {
  const auto& model = setup.model;
  const bool last = stage + 1 == setup.pipeline;
  return (stage == 0 ? model.embedding_params() : 0) +
         (last ? (setup.pipeline > 1 ? model.embedding_params() : model.head_params()) : 0);
}

// Temporarily complete with Megatron-FSDP: weights of the layer in use and of prefetched ones, half
// a billion parameters or one layer, and parameters outside of layers; gradients waiting for
// reduction, a billion or two layers, and those of the next layer.
void emit_whole(const MegatronSetup& setup, WorkSink& sink) {
  if (!setup.scatters_each() || setup.data == 1) return;
  constexpr double kAhead = 5e8, kQueued = 1e9;
  const LayerSizes sizes(setup);
  const double layer = sizes.each;
  const double ahead = layer * std::ceil(std::max(kAhead, layer) / layer);
  const double queue = std::max(kQueued, 2 * layer) + layer;
  for (std::int64_t stage = 0; stage < setup.pipeline; ++stage) {
    const double layers = layer_params(setup, sizes, stage), ends = words_on(setup, stage);
    if (setup.zero_stage == 3)
      emit_kept(sink, "gathered weights", stage, stage, setup.states.weights,
                std::min(layers, layer + ahead) + ends);
    emit_kept(sink, "gradients before reduction", stage, stage, setup.gradient_bytes(),
              std::min(layers + ends, queue));
  }
}

// What cuBLAS works in, 32 MiB on GPUs since Hopper: PyTorch has one, Transformer Engine another,
// and for products of experts one more for each of the four streams that it starts them on.
void emit_workspaces(const MegatronSetup& setup, WorkSink& sink) {
  if (!setup.engine.core) return;
  constexpr double kEach = 32.0 * (1 << 20);
  const int count = setup.layer().sizes.mixture() ? 6 : 2;
  sink.memory("workspaces of products", 0, setup.pipeline - 1, count * kEach,
              [&] { return say(count, " x ", PrintedBytes{kEach}); });
}

// Our trainer: gradients and updated weights pass through pinned slices, limited to a stage's
// share.
void emit_staging(const MegatronSetup& setup, WorkSink& sink) {
  if (!setup.offload_optimizer || !setup.model.lean || setup.states.adafactor) return;
  const LayerSizes sizes(setup);
  const double each = setup.states.gradients + setup.states.weights;
  for (std::int64_t stage = 0; stage < setup.pipeline; ++stage) {
    const double slice =
        std::min(static_cast<double>(kStaged), stage_params(setup, sizes, stage) / setup.shards());
    sink.memory(
        "staging on the host", stage, stage, 3 * each * slice,
        [&] {
          return say("3 slices x ", each, " B x ", slice, " = ", PrintedBytes{3 * each * slice});
        },
        ORCH_HOST_MEMORY);
  }
}

}  // namespace

void emit_memory(const MegatronSetup& setup, WorkSink& sink) {
  emit_layer_states(setup, sink);
  emit_end_states(setup, sink);
  emit_staging(setup, sink);
  emit_flight(setup, sink);
  emit_copies(setup, sink);
  emit_words_gradient(setup, sink);
  emit_buffers(setup, sink);
  emit_workspaces(setup, sink);
  emit_whole(setup, sink);
  const int groups = (setup.tensor > 1) + (setup.data > 1) + (setup.pipeline > 1) +
                     (setup.experts > 1) + (setup.model.context_parallel > 1) +
                     (setup.model.folded() && setup.expert_tensor > 1);
  emit_communicators(sink, setup.pipeline - 1,
                     groups > 1 ? groups + 1 : groups);  // and one of all ranks
}

}  // namespace orch::megatron
