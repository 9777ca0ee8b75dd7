#include <algorithm>

#include "backends/zero3/setup.h"

namespace orch::zero3 {
namespace {

using namespace backend;

void add(WorkSink& sink, const char* name, double each, double params, double shards,
         std::uint32_t place = ORCH_DEVICE) {
  const double bytes = each * params / shards;
  sink.memory(
      name, 0, 0, bytes,
      [&] {
        const auto whole = say(each, " B x ", params, " params");
        return shards > 1 ? say(whole, " / ", shards, " = ", Size{bytes})
                          : say(whole, " = ", Size{bytes});
      },
      place);
}

// Sharded from the stage on that names them; on the host if offloaded.
void emit_states(const Setup& setup, WorkSink& sink) {
  const double params = setup.params();
  const bool lean = setup.model.lean;
  const bool host_optimizer = setup.offload != Offload::none;
  if (setup.offload == Offload::full)
    add(sink, "weights", setup.states.weights, params, setup.shards(3), ORCH_HOST_MEMORY);
  else
    add(sink, "weights", setup.stored_weight(), params, setup.shards(3));
  if (!host_optimizer || setup.stage == 1 || lean)
    add(sink, "gradients", setup.states.gradients, params, setup.shards(2));
  if (!host_optimizer)
    return add(sink, "optimizer states", setup.optimizer_bytes(), params, setup.shards(1));
  add(sink, lean ? "optimizer states on the host" : "optimizer states", 4 + setup.states.moments, params,
      setup.shards(1), ORCH_HOST_MEMORY);
  if (!lean) add(sink, "fp32 gradients", 4, params, setup.shards(1), ORCH_HOST_MEMORY);
}

// Weights that are whole for a while: the layer in use, those fetched ahead, the embedding.
double gathered_params(const Setup& setup) {
  const auto& model = setup.model;
  if (!setup.regather) return setup.model.params();
  const double layer = model.layer_params(), embedding = model.embedding_params();
  const double ahead = static_cast<double>(setup.prefetch) * layer;
  return ahead + (setup.keeps_embedding ? layer + embedding : std::max(layer, embedding));
}

// Slots of weights; gradients of two layers and of both ends, and rounded for the way.
void emit_own_buffers(const Setup& setup, WorkSink& sink) {
  const double layer = setup.model.layer_params(), ends = setup.end_params();
  if (setup.stage == 3)
    add(sink, "gathered weights", setup.states.weights, setup.slots() * layer + ends, 1);
  const double sent = setup.sent_gradient(), each = sent < 4 ? 4 + sent : 4;
  if (setup.stage > 1) add(sink, "gradients before reduction", each, 2 * layer + ends, 1);
}

void emit_buffers(const Setup& setup, WorkSink& sink) {
  if (setup.ranks == 1 || setup.shard_ranks == 1) return;
  if (setup.model.lean) return emit_own_buffers(setup, sink);
  const double largest = std::max(setup.model.layer_params(), setup.model.embedding_params());
  if (setup.stage == 3) {
    add(sink, "gathered weights", setup.states.weights, gathered_params(setup), 1);
    add(sink, "gradients before reduction", setup.states.weights, largest, 1);
  } else {
    add(sink, "communication buffers", setup.states.weights, std::min(5e8, setup.model.params()),
        1);
  }
}

void emit_checkpoints(const Setup& setup, WorkSink& sink) {
  if (!setup.model.full()) return emit_activations(setup.model, sink, 0, 0, setup.model.layers);
  const double each = setup.checkpoint_bytes(), bytes = setup.model.layers * each;
  sink.memory(
      "activations", 0, 0, bytes,
      [&] { return say(setup.model.layers, " inputs x ", Size{each}, " = ", Size{bytes}); },
      setup.offload_activations ? ORCH_HOST_MEMORY : ORCH_DEVICE);
}

}  // namespace

void emit_memory(const Setup& setup, WorkSink& sink) {
  emit_states(setup, sink);
  emit_checkpoints(setup, sink);
  emit_peaks(setup.model, sink, 0);
  emit_buffers(setup, sink);
  const int shared = setup.shard_ranks > 1, mirrored = setup.shard_ranks < setup.ranks;
  // Ours: all ranks; two for each rank's layers and replicas; one way for weights, one for gradients.
  const int own = (setup.tensor * setup.ranks > 1) + 2 * (setup.tensor > 1) + 2 * shared + mirrored;
  emit_communicators(sink, 0, setup.model.lean ? own : (setup.tensor > 1) + shared + mirrored);
}

}  // namespace orch::zero3
