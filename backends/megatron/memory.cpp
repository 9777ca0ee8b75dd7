#include <algorithm>

#include "backends/megatron/setup.h"

namespace orch::megatron {
namespace {

using namespace backend;

// Names of what is kept for one group of parameters.
struct Names {
  const char *weights, *gradients, *accumulation, *optimizer, *shard_gradients;
};

constexpr Names kLayers{"weights: layers", "gradients: layers",
                        "fp32 gradient accumulation: layers", "optimizer states: layers",
                        "fp32 gradients of the shard: layers"};
constexpr Names kEmbedding{"weights: embedding", "gradients: embedding",
                           "fp32 gradient accumulation: embedding", "optimizer states: embedding",
                           "fp32 gradients of the shard: embedding"};
constexpr Names kOther{"weights: positions, norms, padding", "gradients: positions, norms, padding",
                       "fp32 gradient accumulation: positions, norms, padding",
                       "optimizer states: positions, norms, padding",
                       "fp32 gradients of the shard: positions, norms, padding"};

struct Stages {
  std::int64_t first, last;
};

void emit_states(const Setup& setup, const Names& names, Stages stages, double params,
                 WorkSink& sink) {
  const auto add = [&](const char* name, double each, double shards) {
    const double bytes = each * params / shards;
    sink.memory(name, stages.first, stages.last, bytes, [&] {
      const auto whole = say(each, " B x ", params, " params");
      return shards > 1 ? say(whole, " / ", shards, " = ", Size{bytes})
                        : say(whole, " = ", Size{bytes});
    });
  };
  add(names.weights, setup.states.weights, 1);
  add(names.gradients, setup.states.gradients, 1);
  if (setup.separate_sum()) add(names.accumulation, 4, 1);
  add(names.optimizer, setup.states.optimizer(), setup.shards());
  if (setup.zero_stage == 1 && setup.gradient_bytes() < 4)
    add(names.shard_gradients, 4, setup.shards());
}

void emit_layer_states(const Setup& setup, WorkSink& sink) {
  for (std::int64_t first = 0; first < setup.pipeline;) {
    const std::int64_t layers = setup.partition.layers_on(first);
    std::int64_t next = first + 1;
    while (next < setup.pipeline && setup.partition.layers_on(next) == layers) ++next;
    emit_states(setup, kLayers, {first, next - 1},
                static_cast<double>(layers) * setup.model.layer_params(), sink);
    first = next;
  }
}

void emit_end_states(const Setup& setup, WorkSink& sink) {
  const auto& model = setup.model;
  const std::int64_t last = setup.pipeline - 1;
  emit_states(setup, kEmbedding, {0, 0}, model.embedding_params(), sink);
  if (last == 0)
    return emit_states(setup, kOther, {0, 0},
                       model.first_params() + model.padding_params() + model.last_params(), sink);
  emit_states(setup, kOther, {0, 0}, model.first_params() + model.padding_params(), sink);
  emit_states(setup, kEmbedding, {last, last}, model.embedding_params(), sink);
  emit_states(setup, kOther, {last, last}, model.last_params() + model.padding_params(), sink);
}

// Layer inputs or activations that a stage holds at its busiest. With full recomputation a stage
// also keeps its output until the gradient comes back.
double layers_in_flight(const Setup& setup, std::int64_t stage) {
  const auto chunks = static_cast<double>(setup.chunks);
  const double held = static_cast<double>(setup.partition.layers_on(stage)) / chunks;
  const auto flying =
      static_cast<double>(in_flight(stage, setup.pipeline, setup.chunks, setup.micro_batches));
  return flying * (setup.model.full() ? held + 1 : held);
}

void emit_flight(const Setup& setup, WorkSink& sink) {
  for (std::int64_t first = 0; first < setup.pipeline;) {
    const double layers = layers_in_flight(setup, first);
    std::int64_t next = first + 1;
    while (next < setup.pipeline && layers_in_flight(setup, next) == layers) ++next;
    emit_activations(setup.model, sink, first, next - 1, layers);
    first = next;
  }
  emit_peaks(setup.model, sink, setup.pipeline - 1);
}

void emit_buffers(const Setup& setup, WorkSink& sink) {
  const std::int64_t last = setup.pipeline - 1;
  const auto& model = setup.model;
  if (setup.pipeline > 1) {
    const double bytes = 2 * model.element * model.sbh();
    sink.memory("pipeline buffers", 0, last, bytes,
                [&] { return say("one to send, one to receive = ", Size{bytes}); });
  }
  if (setup.data == 1 || setup.zero_stage == 0) return;
  // DeepSpeed's reduction bucket; never larger than what there is to reduce.
  const double layers = static_cast<double>(setup.partition.portion());
  const double elements = std::min(5e8, layers * model.layer_params());
  const double bytes = elements * setup.states.gradients;
  sink.memory("communication buffers", 0, last, bytes, [&] {
    return say(setup.states.gradients, " B x ", elements, " elements of a bucket = ", Size{bytes});
  });
}

}  // namespace

void emit_memory(const Setup& setup, WorkSink& sink) {
  emit_layer_states(setup, sink);
  emit_end_states(setup, sink);
  emit_flight(setup, sink);
  emit_buffers(setup, sink);
}

}  // namespace orch::megatron
