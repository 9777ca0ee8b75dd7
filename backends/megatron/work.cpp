#include <array>
#include <span>

#include "backends/megatron/offload.h"
#include "backends/megatron/setup.h"
#include "core/price/backend/handover.h"

namespace orch::megatron {
namespace {

using namespace backend;

// When complete weights are gathered with zero_stage = 3. A layer's are freed after its forward;
// recomputation and backward follow each other, so one gather serves both. Parameters outside of
// layers stay until their micro-batch is done.
constexpr Passes kOfLayers{1, 0, 1, 0}, kOfEnds{1, 0, 0, 0};

// Megatron-FSDP: gradients are reduced to their shards with every micro-batch, layer by layer.
void emit_scatter(const MegatronSetup& setup, double params, Passes gathers, WorkSink& sink,
                  const MeshGroup& group) {
  const auto add = [&](const char* name, std::uint32_t which, double each, Passes passes,
                       std::uint32_t hidden) {
    sink.op(during(collective(name, which, each * params, group), passes, hidden),
            [&] { return say(each, " B x ", params, " params over ", group.size, " ranks"); });
  };
  const double weights = setup.states.weights;
  add("gradient reduce-scatter", ORCH_REDUCE_SCATTER, setup.gradient_bytes(), {0, 0, 1, 0},
      setup.overlap_grad_reduce);
  if (setup.zero_stage == 3)
    add("weight all-gather", ORCH_ALL_GATHER, weights, gathers, setup.overlap_param_gather);
  else
    add("weight all-gather", ORCH_ALL_GATHER, weights, {0, 0, 0, 1},
        setup.overlap_param_gather ? ORCH_UNDER_FORWARD : ORCH_OPEN);
}

void emit_reduction(const MegatronSetup& setup, double params, WorkSink& sink,
                    const MeshGroup& group) {
  const double gradients = params * setup.gradient_bytes(), weights = params * setup.states.weights;
  const double calls =
      params / (setup.zero_stage == 0 ? setup.engine.whole_bucket : setup.engine.bucket);
  const auto formula = [&](double each) {
    return say(each, " B x ", params, " params over ", group.size, " ranks");
  };
  const auto add = [&](const char* name, std::uint32_t which, double bytes, std::uint32_t hidden) {
    sink.op(during(collective(name, which, bytes, group, calls), {0, 0, 0, 1}, hidden),
            [&] { return formula(bytes / params); });
  };
  if (setup.zero_stage == 0)
    return add("gradient all-reduce", ORCH_ALL_REDUCE, gradients, setup.overlap_grad_reduce);
  add("gradient reduce-scatter", ORCH_REDUCE_SCATTER, gradients, setup.overlap_grad_reduce);
  add("weight all-gather", ORCH_ALL_GATHER, weights,
      setup.overlap_param_gather ? ORCH_UNDER_FORWARD : ORCH_OPEN);
}

void emit_moved(std::uint32_t kind, const char* name, double each, double params, Passes passes,
                WorkSink& sink, bool hidden = false) {
  sink.op(during(moved(kind, name, each * params), passes, hidden),
          [&] { return say(each, " B x ", params, " params"); });
}

// On the host (ZeRO-Offload, Ren et al. 2021): gradients are copied from the device with every
// micro-batch, during backward; the host updates its shard, and 16-bit weights are copied back. Our
// trainer copies them once, after summing and reduction, while the host works on earlier ones,
// which hides the way back too.
void emit_update(const MegatronSetup& setup, double shard, WorkSink& sink) {
  const auto& states = setup.states;
  const Passes step{0, 0, 0, 1};
  if (!setup.offload_optimizer)
    return emit_moved(ORCH_MEMORY, "optimizer", states.step_traffic(), shard, step, sink);
  const bool lean = setup.model.lean;
  emit_moved(ORCH_COPY, "gradients to host", lean ? states.gradients : states.weights, shard,
             lean ? step : Passes{0, 0, 1, 0}, sink, true);
  emit_moved(ORCH_HOST, "optimizer on the host", 4 + 2 * (4 + states.moments) + states.weights,
             shard, step, sink);
  emit_moved(ORCH_COPY, "updated weights to device", states.weights, shard, step, sink, lean);
}

// Our trainer adds within the product: only the sum is read and written. Megatron-FSDP copies
// backward's result to the send buffer, and adds what arrives to the shard.
void emit_accumulation(const MegatronSetup& setup, double params, WorkSink& sink,
                       const MeshGroup& group) {
  const double made = setup.model.lean ? 0 : setup.states.weights, sum = setup.gradient_bytes();
  const Passes backward{0, 0, 1, 0};
  if (setup.scatters_each())
    emit_moved(ORCH_MEMORY, "gradients to what is sent", made + sum, params, backward, sink);
  if (setup.micro_batches > 1)
    emit_moved(ORCH_MEMORY, "gradient accumulation", (setup.scatters_each() ? sum : made) + 2 * sum,
               params / setup.shards(group, 2), backward, sink);
}

// The work for every parameter of a rank: accumulation per micro-batch; reduction per step, or with
// each of them; update per step.
void emit_training(const MegatronSetup& setup, double params, Passes gathers, WorkSink& sink,
                   const MeshGroup& group) {
  emit_accumulation(setup, params, sink, group);
  if (group.size > 1 && setup.scatters_each())
    emit_scatter(setup, params, gathers, sink, group);
  else if (group.size > 1)
    emit_reduction(setup, params, sink, group);
  emit_update(setup, params / setup.shards(group), sink);
}
void emit_training(const MegatronSetup& setup, double params, Passes gathers, WorkSink& sink) {
  emit_training(setup, params, gathers, sink, setup.data_group());
}

// With sequence parallelism each rank has gradients from its own rows for replicated parameters:
// they are added up once per step, in one buffer. Those of head norms are added up in any case.
void emit_shared_gradients(const MegatronSetup& setup, double params, WorkSink& sink,
                           double in_any_case = 0) {
  if (!setup.model.sequence_parallel)
    params = setup.model.lean && setup.tensor > 1 ? in_any_case : 0;
  if (params == 0) return;
  const double bytes = params * setup.gradient_bytes() / setup.shards();
  sink.op(
      during(collective("shared gradient all-reduce", ORCH_ALL_REDUCE, bytes, setup.tensor_group(),
                        0.1),
             {0, 0, 0, 1}),
      [&] { return say(setup.gradient_bytes(), " B x ", params, " params that all ranks have"); });
}

// First and last stage each hold the embedding and add up its gradient: only the shard that each
// rank updates, if both cut it alike.
void emit_tied_reduction(const MegatronSetup& setup, WorkSink& sink) {
  if (setup.pipeline == 1 || !setup.model.sizes.tied) return;
  const double shards = setup.model.lean ? setup.shards() : 1;
  const double params =
      setup.model.padded_vocab * setup.model.hidden / (setup.model.tensor_parallel * shards);
  const double bytes = params * setup.gradient_bytes();
  sink.op(
      during(collective("tied embedding all-reduce", ORCH_ALL_REDUCE, bytes, setup.ends_group()),
             {0, 0, 0, 1}),
      [&] {
        return say(setup.gradient_bytes(), " B x ", params, " params, first and last stage");
      });
}

// A rank that receives a share of the rows gathers the others' within its node.
void emit_arrival(const MegatronSetup& setup, Passes passes, WorkSink& sink) {
  const auto& model = setup.model;
  if (setup.tensor == 1 || model.sequence_parallel || !model.lean) return;
  transformer_parts::tensor_collective(model, sink, "sequence all-gather", ORCH_ALL_GATHER, passes);
}

void emit_sums(const MegatronSetup& setup, double numbers, WorkSink& sink) {
  if (!setup.model.lean || !setup.states.adafactor) return;
  emit_statistics(sink, numbers, setup.tensor_group());
  if (setup.zero_stage == 1) emit_statistics(sink, numbers, setup.data_group());
}

// The embedding's statistics are made equal at both ends.
void emit_tied_statistics(const MegatronSetup& setup, double numbers, WorkSink& sink) {
  const bool summed = setup.tensor > 1 || (setup.zero_stage == 1 && setup.data > 1);
  if (!setup.model.lean || !setup.states.adafactor || setup.pipeline == 1 || !summed ||
      !setup.model.sizes.tied)
    return;
  emit_statistics(sink, numbers, setup.ends_group());
}

enum { kLayer, kWords, kHead, kToNext, kToPrevious, kStage, kStep, kPredicting, kDense, kBlocks };

// Overlaps the products of neighbouring layers: only offloaded layers, as a share of all.
void emit_offload(const MegatronSetup& setup, const Transformer& model, WorkSink& sink) {
  const double each = layer_away(setup, model), layers = setup.model.layers;
  if (each == 0) return;
  const double share = setup.away_modules == 0 ? layers_away(setup, layers) / layers : 1;
  sink.op(
      during(moved(ORCH_COPY, "activations to host and back", each * share), {1, 0, 1, 0}, true),
      [&] { return say(share, " of the layers x ", PrintedBytes{each}, " each way"); });
}

void emit_layers(const MegatronSetup& setup, const char* name, const Transformer& model,
                 double experts, WorkSink& sink) {
  sink.block(name);
  emit_layer(model, sink);
  emit_offload(setup, model, sink);
  emit_sums(setup, layer_statistics(model), sink);
  emit_training(setup, model.layer_params() - experts, kOfLayers, sink);
  if (experts > 0) emit_training(setup, experts, kOfLayers, sink, setup.expert_group());
  emit_shared_gradients(setup, model.shared_params(), sink, model.head_norm_params());
}

// Multi-token prediction (Gloeckle et al. 2024, as in DeepSeek-V3): a further layer reads the last
// one's output and the next token's embedding through one product, and has the LM head again.
void emit_prediction(const MegatronSetup& setup, WorkSink& sink) {
  sink.block("multi-token prediction");
  if (setup.mtp_layers == 0) return;
  const auto& model = setup.model;
  const double h = model.hidden, t = model.tensor_parallel;
  transformer_parts::product(model, sink, "embedding and output", h / t, 2 * h);
  emit_head(model, sink);
  emit_training(setup, 2 * h * h / t, kOfEnds, sink);
}

void emit_blocks(const MegatronSetup& setup, WorkSink& sink) {
  const auto& model = setup.model;
  const double words = model.embedding_params() + model.padding_params();
  // A copy of the word embedding, or a separate matrix.
  const bool has_head = setup.pipeline > 1 || !model.sizes.tied;
  const double norms = model.sizes.norm_width();
  const double of_words = word_statistics(model), of_first = first_statistics(model);
  emit_layers(setup, "layer", setup.layer(), setup.dealt_params(), sink);
  sink.block("embedding");
  emit_embedding(model, sink);
  emit_training(setup, words + model.first_params(), kOfEnds, sink);
  emit_shared_gradients(
      setup, model.sizes.position_params() + norms * (model.sizes.embedding_norm ? 1 : 0), sink);
  emit_tied_reduction(setup, sink);
  emit_sums(setup, of_words + of_first, sink);
  emit_tied_statistics(setup, of_words, sink);
  sink.block("LM head");
  emit_head(model, sink);
  emit_training(setup, model.last_params() + (has_head ? words : 0), kOfEnds, sink);
  emit_shared_gradients(setup, norms, sink);
  emit_tied_reduction(setup, sink);
  emit_sums(setup, 2 + (has_head ? of_words : 0), sink);
  emit_tied_statistics(setup, of_words, sink);
  sink.block("to next stage");
  emit_send(model, sink, "send activations", {1, 0, 0, 0}, setup.pipeline_group());
  emit_arrival(setup, {0, 0, 1, 0}, sink);  // for the gradient that comes back
  sink.block("to previous stage");
  emit_send(model, sink, "send gradients", {0, 0, 1, 0}, setup.pipeline_group());
  emit_arrival(setup, {1, 0, 0, 0}, sink);
  sink.block("pipeline");
  sink.op(during(make_op(ORCH_STAGE_OVERHEAD, "stage overhead"), {1, 0, 1, 0}),
          [&] { return say("hand-over of each micro-batch, each way"); });
  sink.block("all ranks");
  emit_agreement(model, sink, setup.world_group());
  emit_prediction(setup, sink);
  if (setup.dense) emit_layers(setup, "dense layer", *setup.dense, 0, sink);
}

std::array<double, kBlocks> counts_of(const MegatronSetup& setup, std::int64_t stage) {
  const bool first = stage == 0, last = stage == setup.pipeline - 1;
  const auto sent = handovers(setup.pipeline, setup.chunks, stage);
  const auto v = static_cast<double>(setup.chunks);
  std::array<double, kBlocks> counts{};
  counts[kLayer] = static_cast<double>(setup.layers_on(stage));
  counts[kDense] = static_cast<double>(setup.dense_on(stage));
  counts[kWords] = first;
  counts[kHead] = last;
  counts[kToNext] = sent.to_next;
  counts[kToPrevious] = sent.to_previous;
  counts[kStage] = setup.pipeline > 1 && setup.engine.waits_at_stages ? v : 0;
  counts[kStep] = 1;
  counts[kPredicting] = static_cast<double>(setup.predicting_on(stage));
  return counts;
}

void emit_stages(const MegatronSetup& setup, WorkSink& sink) {
  auto next_counts = counts_of(setup, 0);
  for (std::int64_t first = 0; first < setup.pipeline;) {
    const auto counts = next_counts;
    std::int64_t next = first + 1;
    for (; next < setup.pipeline; ++next)
      if (next_counts = counts_of(setup, next); next_counts != counts) break;
    sink.stages(first, next - 1, std::span(counts).first(setup.dense ? kBlocks : kDense));
    first = next;
  }
}

}  // namespace

void emit_schedule(const MegatronSetup& setup, WorkSink& sink) {
  sink.schedule({sizeof(orch_schedule), setup.model.recompute, setup.pipeline, setup.micro_batches,
                 setup.chunks, setup.dtype, setup.fill_bubbles});
}

void emit_work(const MegatronSetup& setup, WorkSink& sink) {
  emit_blocks(setup, sink);
  emit_stages(setup, sink);
}

}  // namespace orch::megatron
