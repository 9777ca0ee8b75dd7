#include <algorithm>

#include "backends/zero3/setup.h"
#include "core/train/pipeline/schedule.h"

namespace orch::zero3 {
namespace {

using namespace backend;

void add(WorkSink& sink, const char* name, double each, double params, double shards,
         std::uint32_t place = ORCH_DEVICE) {
  emit_kept(sink, name, 0, 0, each, params, shards, place);
}

// For a framework: states are sharded from their stage on; in host memory if offloaded.
void emit_states(const Zero3Setup& setup, const StageRange& part, WorkSink& sink) {
  const auto keep = [&](const char* name, double each, std::int64_t from_stage,
                        std::uint32_t place = ORCH_DEVICE) {
    emit_kept(sink, name, part.first, part.last, each, part.params, setup.shards(from_stage),
              place);
  };
  const bool host_optimizer = setup.offload != Offload::none;
  keep("weights", setup.stored_weight(), 3,
       setup.offload == Offload::full ? ORCH_HOST_MEMORY : ORCH_DEVICE);
  if (!host_optimizer || setup.stage == 1) keep("gradients", setup.states.gradients, 2);
  if (!host_optimizer) return keep("optimizer states", setup.optimizer_bytes(), 1);
  keep("optimizer states", setup.fsdp ? setup.states.moments : 4 + setup.states.moments, 1,
       ORCH_HOST_MEMORY);
  keep("fp32 gradients", 4, 1, ORCH_HOST_MEMORY);
}

// For our trainer: units in host memory have their states there, with offload = 'full' all of them;
// transfers use three slices in each direction.
void emit_own_states(const Zero3Setup& setup, WorkSink& sink) {
  const double params = setup.params(), away = setup.params_away(), here = params - away;
  const bool full = setup.offload == Offload::full;
  const auto put = [&](const char* name, double each, double count, std::int64_t stage,
                       std::uint32_t place) {
    if (each * count > 0) add(sink, name, each, count, setup.shards(stage), place);
  };
  put("weights", setup.stored_weight(), full ? here : params, 3, ORCH_SETTLED);
  put("gradients", setup.states.gradients, full ? here : params, 2, ORCH_SETTLED);
  put("optimizer states", setup.optimizer_bytes(), here, 1, ORCH_SETTLED);
  if (away == 0) return;
  put("optimizer states on the host", 4 + setup.states.moments, away, 1, ORCH_HOST_MEMORY);
  if (full) put("weights on the host", setup.states.weights, away, 3, ORCH_HOST_MEMORY);
  if (full) put("gradients on the host", 4, away, 2, ORCH_HOST_MEMORY);
  if (setup.states.adafactor && !full) return;
  const double unit = std::max(setup.model.layer_params(), setup.ends_away() * setup.end_params());
  const double slice = std::min(static_cast<double>(kStaged), unit / setup.shards(1));
  const double sent = setup.shard_ranks > 1 ? setup.sent_gradient() : 4;
  add(sink, "staging on the host", full ? sent : 4 + setup.states.weights, 3 * slice, 1,
      ORCH_HOST_MEMORY);
}

// The largest of embedding and head that a framework gathers at once: FSDP's root has both.
double words_gathered(const Zero3Setup& setup) {
  const auto& model = setup.model;
  return model.embedding_params() + (setup.fsdp ? model.head_params() : 0);
}

// DeepSpeed gathers matrix by matrix.
double largest_matrix(const Zero3Setup& setup) {
  const auto& sizes = setup.model.sizes;
  const double up = sizes.up_width(static_cast<double>(sizes.ffn_hidden));
  const double wide =
      std::max({up, sizes.q_width() + sizes.kv_width(), static_cast<double>(sizes.vocab)});
  return setup.model.hidden * wide / setup.model.tensor_parallel;
}

// Weights that are temporarily complete: the layer in use, prefetched ones, the embedding.
double gathered_params(const Zero3Setup& setup) {
  const auto& model = setup.model;
  if (setup.keeps_all) return setup.model.params();
  const double layer = model.layer_params(), words = words_gathered(setup);
  const double ahead = static_cast<double>(setup.prefetch) * layer;
  if (setup.fsdp) return ahead + layer + words;
  return std::min(ahead + std::max(layer, words), kMostLive + largest_matrix(setup));
}

// Gradients that are temporarily complete: those of FSDP's largest unit, or a bucket and the next
// matrix.
double unreduced_params(const Zero3Setup& setup) {
  const double unit = std::max(setup.model.layer_params(), words_gathered(setup));
  return setup.fsdp ? unit : std::min(unit, kBucket + largest_matrix(setup));
}

// The part of the ends' gradients that counts besides the layers'. If reduced twice, the word
// embedding's exists with the logits, and not while a layer is recomputed.
double kept_ends(const Zero3Setup& setup, double each) {
  const double words = setup.end_params() - setup.model.last_params();
  const double more =
      recomputed_layer(setup.model) + layer_gradients(setup.model) - logits_memory(setup.model);
  if (!setup.scatters_twice || more <= 0) return setup.end_params();
  return setup.model.last_params() + std::max(0.0, words - more / each);
}

// Slots of weights; gradients of two layers and of both ends, and rounded copies for sending. A
// rank that has all parts uses those on its device in place; parts in host memory are copied to the
// device before they are gathered.
void emit_own_buffers(const Zero3Setup& setup, WorkSink& sink) {
  const double layer = setup.model.layer_params(), ends = setup.end_params();
  const bool alone = setup.shard_ranks == 1;
  if (setup.moves_weights()) {
    const double gathered = setup.slots() * layer * (alone && setup.layers_away() == 0 ? 0 : 1) +
                            ends * (alone ? setup.ends_away() : 1);
    const double fetched =
        alone || setup.offload != Offload::full
            ? 0
            : (setup.slots() * layer + ends * setup.ends_away()) / setup.shards(3);
    add(sink, "gathered weights", setup.states.weights, gathered + fetched, 1, ORCH_SETTLED);
  }
  const double sent = setup.sent_gradient(), each = alone || sent == 4 ? 4 : 4 + sent;
  if (setup.moves_gradients())
    add(sink, "gradients before reduction", each, 2 * layer + kept_ends(setup, each), 1,
        ORCH_SETTLED);
}

// With a pipeline, weights stay complete, and gradients are summed completely, in fp32, until the
// step's last backward.
void emit_staged_buffers(const Zero3Setup& setup, const StageRange& part, WorkSink& sink) {
  if (setup.shard_ranks == 1) return;
  emit_kept(sink, "gathered weights", part.first, part.last, setup.states.weights, part.params);
  emit_kept(sink, "gradients before reduction", part.first, part.last, setup.states.gradients,
            part.params);
}

void emit_buffers(const Zero3Setup& setup, WorkSink& sink) {
  if (setup.model.lean) return emit_own_buffers(setup, sink);
  if (setup.shard_ranks == 1 && setup.offload != Offload::full) return;
  if (setup.stage == 3) {
    add(sink, "gathered weights", setup.states.weights, gathered_params(setup), 1);
    add(sink, "gradients before reduction", setup.states.weights, unreduced_params(setup), 1);
  } else {
    add(sink, "communication buffers", setup.states.weights,
        std::min(kBucket, setup.model.params()), 1);
  }
}

void emit_inputs(WorkSink& sink, const char* name, double count, double each, std::uint32_t place,
                 std::int64_t stage = 0) {
  sink.memory(
      name, stage, stage, count * each,
      [&] {
        return say(count, " inputs x ", PrintedBytes{each}, " = ", PrintedBytes{count * each});
      },
      place);
}

// In host memory: all but the last layer's; two more on the device while they are copied back.
void emit_checkpoints(const Zero3Setup& setup, WorkSink& sink) {
  const double layers = setup.model.layers, each = setup.checkpoint_bytes();
  if (!setup.model.full()) return emit_activations(setup.model, sink, 0, 0, layers);
  if (!setup.offload_activations)
    return emit_inputs(sink, "activations", layers, each, ORCH_DEVICE);
  if (!setup.model.lean) return emit_inputs(sink, "activations", layers, each, ORCH_HOST_MEMORY);
  emit_inputs(sink, "activations", std::min(3.0, layers), each, ORCH_DEVICE);
  emit_inputs(sink, "activations on the host", layers - 1, each, ORCH_HOST_MEMORY);
}

// The activations of a pipeline's micro-batches in flight, and the output of each for the next
// stage, until its gradient comes back.
void emit_flight(const Zero3Setup& setup, std::int64_t stage, WorkSink& sink) {
  const pipeline::PipelineShape shape{setup.pipeline, setup.chunks, setup.micro_batches, false};
  const auto chunks = static_cast<double>(pipeline::in_flight(shape, stage));
  const double layers =
      chunks * static_cast<double>(setup.layers_on(stage)) / static_cast<double>(setup.chunks);
  const double each = setup.checkpoint_bytes();
  const bool ends = stage + 1 == setup.pipeline && setup.chunks == 1;
  if (!setup.model.full())
    emit_activations(setup.model, sink, stage, stage, layers);
  else
    emit_inputs(sink, "activations", layers, each,
                setup.offload_activations ? ORCH_HOST_MEMORY : ORCH_DEVICE, stage);
  if (!ends) emit_inputs(sink, "outputs of the stage", chunks, each, ORCH_DEVICE, stage);
}

void emit_all_states(const Zero3Setup& setup, WorkSink& sink) {
  if (setup.model.lean) return emit_own_states(setup, sink);
  for (const auto& part : parts_of(setup)) emit_states(setup, part, sink);
}

void emit_all_activations(const Zero3Setup& setup, WorkSink& sink) {
  if (!setup.staged()) return emit_checkpoints(setup, sink);
  for (std::int64_t stage = 0; stage < setup.pipeline; ++stage) emit_flight(setup, stage, sink);
}

void emit_all_buffers(const Zero3Setup& setup, WorkSink& sink) {
  if (!setup.staged()) return emit_buffers(setup, sink);
  for (const auto& part : parts_of(setup)) emit_staged_buffers(setup, part, sink);
}

}  // namespace

std::vector<StageRange> parts_of(const Zero3Setup& setup) {
  if (!setup.staged()) return {{0, 0, setup.params()}};
  const std::int64_t last = setup.pipeline - 1;
  std::vector<StageRange> parts;
  for (std::int64_t stage = 0; stage <= last; ++stage) {
    const auto layers = static_cast<double>(setup.layers_on(stage));
    const double params = layers * setup.model.layer_params() +
                          (stage == 0 ? setup.front_params() : 0) +
                          (stage == last ? setup.back_params() : 0);
    const bool inside = stage > 1 && stage < last;
    if (inside && parts.back().params == params)
      parts.back().last = stage;
    else
      parts.push_back({stage, stage, params});
  }
  return parts;
}

void emit_memory(const Zero3Setup& setup, WorkSink& sink) {
  const std::int64_t last = setup.pipeline - 1;
  emit_all_states(setup, sink);
  emit_all_activations(setup, sink);
  emit_peaks(setup.model, sink, last);
  if (setup.model.narrow > 0)  // of the layer in use, and its transpose
    emit_kept(sink, "weights that products read", 0, last, 2 * setup.model.narrow,
              setup.model.layer_params());
  emit_all_buffers(setup, sink);
  const int shared = setup.shard_ranks > 1, mirrored = setup.shard_ranks < setup.ranks;
  // Our trainer: all ranks; two for each rank's layers and replicas; one for weights in each
  // direction, one for gradients.
  const int own = (setup.tensor * setup.ranks > 1) + 2 * (setup.tensor > 1 && setup.ranks > 1) +
                  2 * shared + mirrored;
  const int others = (setup.tensor > 1) + shared + mirrored + setup.staged();
  emit_communicators(sink, last, setup.model.lean ? own : others);
}

}  // namespace orch::zero3
