#include <algorithm>

#include "backends/zero3/setup.h"

namespace orch::zero3 {
namespace {

using namespace backend;

void add(WorkSink& sink, const char* name, double each, double params, double shards,
         std::uint32_t place = ORCH_DEVICE) {
  emit_kept(sink, name, 0, 0, each, params, shards, place);
}

// A framework's: sharded from the stage on that names them; on the host if offloaded.
void emit_states(const Setup& setup, WorkSink& sink) {
  const double params = setup.params();
  const bool host_optimizer = setup.offload != Offload::none;
  if (setup.offload == Offload::full)
    add(sink, "weights", setup.stored_weight(), params, setup.shards(3), ORCH_HOST_MEMORY);
  else
    add(sink, "weights", setup.stored_weight(), params, setup.shards(3));
  if (!host_optimizer || setup.stage == 1)
    add(sink, "gradients", setup.states.gradients, params, setup.shards(2));
  if (!host_optimizer)
    return add(sink, "optimizer states", setup.optimizer_bytes(), params, setup.shards(1));
  add(sink, "optimizer states", setup.fsdp ? setup.states.moments : 4 + setup.states.moments,
      params, setup.shards(1), ORCH_HOST_MEMORY);
  add(sink, "fp32 gradients", 4, params, setup.shards(1), ORCH_HOST_MEMORY);
}

// Ours: units that live on the host have their states there, with offload = 'full' all of them;
// what comes and goes passes through three slices in each direction.
void emit_own_states(const Setup& setup, WorkSink& sink) {
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
double words_gathered(const Setup& setup) {
  const auto& model = setup.model;
  return model.embedding_params() + (setup.fsdp ? model.head_params() : 0);
}

// DeepSpeed gathers matrix by matrix.
double largest_matrix(const Setup& setup) {
  const auto& sizes = setup.model.sizes;
  const double up = sizes.up_width(static_cast<double>(sizes.ffn_hidden));
  const double wide =
      std::max({up, sizes.q_width() + sizes.kv_width(), static_cast<double>(sizes.vocab)});
  return setup.model.hidden * wide / setup.model.tensor_parallel;
}

// Weights that are whole for a while: the layer in use, those fetched ahead, the embedding.
double gathered_params(const Setup& setup) {
  const auto& model = setup.model;
  if (setup.keeps_all) return setup.model.params();
  const double layer = model.layer_params(), words = words_gathered(setup);
  const double ahead = static_cast<double>(setup.prefetch) * layer;
  if (setup.fsdp) return ahead + layer + words;
  return std::min(ahead + std::max(layer, words), kMostLive + largest_matrix(setup));
}

// Gradients that are whole for a while: of FSDP's largest unit, or a bucket and the next matrix.
double unreduced_params(const Setup& setup) {
  const double unit = std::max(setup.model.layer_params(), words_gathered(setup));
  return setup.fsdp ? unit : std::min(unit, kBucket + largest_matrix(setup));
}

// Of the ends' gradients what counts beside the layers'. Reduced twice, the words' is there with
// the logits, and not when a layer is computed again.
double kept_ends(const Setup& setup, double each) {
  const double words = setup.end_params() - setup.model.last_params();
  const double more =
      recomputed_layer(setup.model) + layer_gradients(setup.model) - logits_memory(setup.model);
  if (!setup.scatters_twice || more <= 0) return setup.end_params();
  return setup.model.last_params() + std::max(0.0, words - more / each);
}

// Slots of weights; gradients of two layers and of both ends, and rounded for the way. A rank that
// has all parts uses those on its device where they are; parts from the host come before they are
// gathered.
void emit_own_buffers(const Setup& setup, WorkSink& sink) {
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

void emit_buffers(const Setup& setup, WorkSink& sink) {
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

void emit_inputs(WorkSink& sink, const char* name, double count, double each, std::uint32_t place) {
  sink.memory(
      name, 0, 0, count * each,
      [&] { return say(count, " inputs x ", Size{each}, " = ", Size{count * each}); }, place);
}

// On the host: all but the last layer's, and while they are used two more on their way back.
void emit_checkpoints(const Setup& setup, WorkSink& sink) {
  const double layers = setup.model.layers, each = setup.checkpoint_bytes();
  if (!setup.model.full()) return emit_activations(setup.model, sink, 0, 0, layers);
  if (!setup.offload_activations)
    return emit_inputs(sink, "activations", layers, each, ORCH_DEVICE);
  if (!setup.model.lean) return emit_inputs(sink, "activations", layers, each, ORCH_HOST_MEMORY);
  emit_inputs(sink, "activations", std::min(3.0, layers), each, ORCH_DEVICE);
  emit_inputs(sink, "activations on the host", layers - 1, each, ORCH_HOST_MEMORY);
}

}  // namespace

void emit_memory(const Setup& setup, WorkSink& sink) {
  if (setup.model.lean)
    emit_own_states(setup, sink);
  else
    emit_states(setup, sink);
  emit_checkpoints(setup, sink);
  emit_peaks(setup.model, sink, 0);
  if (setup.model.narrow > 0)  // of the layer in use, and transposed
    add(sink, "weights that products read", 2 * setup.model.narrow, setup.model.layer_params(), 1);
  emit_buffers(setup, sink);
  const int shared = setup.shard_ranks > 1, mirrored = setup.shard_ranks < setup.ranks;
  // Ours: all ranks; two for each rank's layers and replicas; one way for weights, one for
  // gradients.
  const int own = (setup.tensor * setup.ranks > 1) + 2 * (setup.tensor > 1 && setup.ranks > 1) +
                  2 * shared + mirrored;
  emit_communicators(sink, 0, setup.model.lean ? own : (setup.tensor > 1) + shared + mirrored);
}

}  // namespace orch::zero3
