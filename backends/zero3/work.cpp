#include <algorithm>
#include <array>
#include <span>

#include "backends/zero3/setup.h"
#include "core/price/backend/handover.h"

namespace orch::zero3 {
namespace {

using namespace backend;

struct Zero3Work {
  const Zero3Setup& setup;
  WorkSink& sink;

  void add(const orch_op& op, Passes passes, double each, double params,
           std::uint32_t hidden = ORCH_OPEN) {
    sink.op(during(op, passes, hidden),
            [&] { return say(each, " B x ", params, " params = ", PrintedBytes{each * params}); });
  }

  // kind: ORCH_MEMORY, ORCH_COPY or ORCH_HOST.
  void move(std::uint32_t kind, const char* name, double each, double params, Passes passes,
            std::uint32_t hidden = ORCH_OPEN) {
    if (params > 0) add(moved(kind, name, each * params), passes, each, params, hidden);
  }

  void exchange(const char* name, std::uint32_t which, double each, double params, MeshGroup group,
                Passes passes, std::uint32_t hidden) {
    if (group.size == 1) return;
    const double calls = setup.stage == 3 ? 1 : params / kBucket;
    add(collective(name, which, each * params, group, calls), passes, each, params, hidden);
  }
};

// A framework gathers for each forward, and for backward if weights were freed; with a pipeline
// once per step.
Passes gathers(const Zero3Setup& setup, bool freed) {
  if (setup.staged()) return {0, 0, 0, 1};
  return {1, 0, freed ? 1.0 : 0.0, 0};
}

// Our own trainer gathers only what is not there: the last layers of forward are the first of
// backward, and vice versa; the embedding stays for a step (for a micro-batch, as in FSDP).
Passes own_gathers(const Zero3Setup& setup) {
  // A single rank uses those on its device in place.
  const double layers = setup.model.layers * (setup.shard_ranks == 1 ? setup.layers_away() : 1);
  const double left = std::max(0.0, layers - setup.slots());
  const auto rounds = static_cast<double>(setup.micro_batches);
  if (setup.keeps_all || layers == 0) return {1, 0, 0, 0};
  return {(layers + (rounds - 1) * left) / (layers * rounds), 0, left / layers, 0};
}
Passes own_end_gathers(const Zero3Setup& setup) {
  return {setup.fsdp ? 1 : 1 / static_cast<double>(setup.micro_batches), 0, 0, 0};
}

// Stage 3: gathered before use and freed afterwards. Recomputation and backward of a layer follow
// each other, so one gather serves both. A shard in host memory first crosses PCIe.
void emit_gather(Zero3Work& emit, double params, double away, Passes passes, bool ahead = true) {
  const auto& setup = emit.setup;
  const bool hidden = setup.prefetch > 0 && ahead;
  const std::uint32_t under = !hidden          ? ORCH_OPEN
                              : setup.staged() ? ORCH_UNDER_FORWARD
                                               : ORCH_HIDDEN;
  if (setup.offload == Offload::full)
    emit.move(ORCH_COPY, "weights to device", setup.stored_weight(),
              away * params / setup.shards(3), passes, hidden && !setup.waits_for_copies());
  emit.exchange("weight all-gather", ORCH_ALL_GATHER, setup.states.weights, params,
                setup.shard_group(), passes, under);
}

// Stage 1 reduces once per step, as with a pipeline, stages 2 and 3 after every micro-batch.
void emit_scatter(Zero3Work& emit, double params, Passes passes) {
  const auto& setup = emit.setup;
  emit.exchange("gradient reduce-scatter", ORCH_REDUCE_SCATTER, setup.sent_gradient(), params,
                setup.shard_group(), passes, setup.overlap);
}

void emit_reduction(Zero3Work& emit, double params) {
  const auto& setup = emit.setup;
  const bool once = setup.stage == 1 || setup.staged();
  const Passes passes = once ? Passes{0, 0, 0, 1} : Passes{0, 0, 1, 0};
  const bool lean = setup.model.lean;
  const double each = setup.sent_gradient();
  emit_scatter(emit, params, passes);
  if (lean)  // once, after all micro-batches
    emit.exchange("gradient all-reduce between replicas", ORCH_ALL_REDUCE, 4,
                  params / setup.shards(2), setup.replica_group(), {0, 0, 0, 1}, false);
  else
    emit.exchange("gradient all-reduce between replicas", ORCH_ALL_REDUCE, each,
                  params / setup.shards(2), setup.replica_group(), passes, setup.overlap);
}

// Our trainer: complete gradients are added within the product; parts, when they arrive, to the
// previous sum. The buffer that they are computed in is cleared first, and they are rounded for
// sending.
void emit_own_accumulation(Zero3Work& emit, double params, double away) {
  const auto& setup = emit.setup;
  if (!setup.moves_gradients())
    return emit.move(ORCH_MEMORY, "gradient accumulation", 8, params, {0, 0, 1, 0});
  const bool alone = setup.shard_ranks == 1;
  const double sent = alone ? 4 : setup.sent_gradient(), rounded = sent < 4 ? 4 + sent : 0;
  const double added = setup.offload == Offload::full ? (1 - away) * (sent + 8) : sent + 8;
  emit.move(ORCH_MEMORY, "gradient accumulation", 4 + rounded + added / setup.shards(2), params,
            {0, 0, 1, 0});
}

void emit_accumulation(Zero3Work& emit, double params, double away) {
  const auto& setup = emit.setup;
  if (setup.model.lean) return emit_own_accumulation(emit, params, away);
  if (setup.micro_batches == 1 || (setup.offload != Offload::none && setup.stage > 1)) return;
  emit.move(ORCH_MEMORY, "gradient accumulation", setup.states.accumulate_traffic(),
            params / (setup.staged() ? 1 : setup.shards(2)), {0, 0, 1, 0});
}

// Bytes through the host's memory: fp32 gradients, master weights and moments read, the latter two
// written, 16-bit weights written, except for FSDP, which casts when it gathers.
double host_update_bytes(const Zero3Setup& setup) {
  return 4 + 2 * (4 + setup.states.moments) + (setup.fsdp ? 0 : setup.states.weights);
}

// ZeRO-Offload (Ren et al. 2021): gradients are copied to the host as they are reduced, the host
// adds them up and updates the shard, and 16-bit weights are copied back.
void emit_host_update(Zero3Work& emit, double shard) {
  const auto& setup = emit.setup;
  const auto& states = setup.states;
  const bool each_time = setup.stage > 1;
  const Passes passes = each_time ? Passes{0, 0, 1, 0} : Passes{0, 0, 0, 1};
  emit.move(ORCH_COPY, "gradients to host", states.gradients, shard, passes,
            each_time && setup.overlap && !setup.waits_for_copies());
  if (each_time && setup.micro_batches > 1)
    emit.move(ORCH_HOST, "gradient accumulation on the host", states.gradients + 8, shard,
              {0, 0, 1, 0}, setup.overlap);
  emit.move(ORCH_HOST, "optimizer on the host", host_update_bytes(setup), shard, {0, 0, 0, 1});
  if (setup.offload == Offload::optimizer)
    emit.move(ORCH_COPY, "updated weights to device", states.weights, shard, {0, 0, 0, 1});
}

void emit_sums_on_host(Zero3Work& emit, double shard, bool adds) {
  const auto& setup = emit.setup;
  const double sent = setup.shard_ranks > 1 ? setup.sent_gradient() : 4;
  emit.move(ORCH_COPY, "gradients to host", sent, shard, {0, 0, 1, 0}, setup.overlap);
  emit.move(ORCH_HOST, "gradient accumulation on the host", sent + (adds ? 8 : 4), shard,
            {0, 0, 1, 0}, setup.overlap);
}

// The head's part of the word embedding's gradient: the lookup's follows.
void emit_words_again(Zero3Work& emit, double params) {
  const auto& setup = emit.setup;
  emit_scatter(emit, params, {0, 0, 1, 0});
  if (setup.offload == Offload::full && setup.ends_away() == 1)
    emit_sums_on_host(emit, params / setup.shards(2), true);
}

// Our trainer: once the norm is known, in forward's order, during the next forward (Lian et al.
// 2025, SuperOffload, but without its rollback). Gradients wait for it on the device, or, with
// 'full', are added up and squared on the host as they arrive.
void emit_own_host_update(Zero3Work& emit, double shard) {
  const auto& setup = emit.setup;
  const auto& states = setup.states;
  const Passes at_end{0, 0, 0, 1};
  const bool adafactor = states.adafactor;
  const std::uint32_t late = setup.overlap && !adafactor ? ORCH_UNDER_FORWARD : ORCH_OPEN;
  if (setup.offload == Offload::full) {
    emit_sums_on_host(emit, shard, setup.micro_batches > 1);
  } else {
    emit.move(ORCH_COPY, "gradients to host", 4, shard, at_end, late);
    emit.move(ORCH_COPY, "updated weights to device", states.weights, shard, at_end, late);
  }
  emit.move(ORCH_HOST, "optimizer on the host", host_update_bytes(setup), shard, at_end, late);
}

// away: the part that the host updates.
void emit_update(Zero3Work& emit, double params, double away) {
  const auto& setup = emit.setup;
  const double shard = params / setup.shards(1);
  emit.move(ORCH_MEMORY, "optimizer", setup.states.step_traffic(), (1 - away) * shard,
            {0, 0, 0, 1});
  if (away > 0 && setup.model.lean) emit_own_host_update(emit, away * shard);
  if (away > 0 && !setup.model.lean) emit_host_update(emit, shard);
  if (setup.stage < 3)
    emit.exchange("updated weight all-gather", ORCH_ALL_GATHER, setup.states.weights, params,
                  setup.shard_group(), {0, 0, 0, 1},
                  setup.model.lean && setup.overlap ? ORCH_UNDER_FORWARD : ORCH_OPEN);
}

void emit_training(Zero3Work& emit, double params, double away) {
  emit_accumulation(emit, params, away);
  emit_reduction(emit, params);
  emit_update(emit, params, away);
}

void emit_sums(const Zero3Setup& setup, double numbers, WorkSink& sink) {
  if (!setup.model.lean || !setup.states.adafactor) return;
  emit_statistics(sink, numbers, {setup.tensor, 1});
  if (setup.shard_ranks > 1) emit_statistics(sink, numbers, {setup.ranks, setup.tensor});
}

// Each tensor-parallel rank has only the gradient of its own heads.
void emit_head_norms(const Zero3Setup& setup, WorkSink& sink) {
  const double params = setup.model.head_norm_params(), bytes = 4 * params / setup.shards(2);
  if (!setup.model.lean || setup.tensor == 1 || params == 0) return;
  sink.op(during(collective("shared gradient all-reduce", ORCH_ALL_REDUCE, bytes, {setup.tensor, 1},
                            0.1),
                 {0, 0, 0, 1}),
          [&] { return say("4 B x ", params, " params of the heads' norms"); });
}

void emit_blocks(const Zero3Setup& setup, WorkSink& sink) {
  Zero3Work emit{setup, sink};
  const auto& model = setup.model;
  const double ends = setup.front_params();
  const bool lean = model.lean;
  sink.block("layer");
  emit_layer(model, sink);
  if (setup.offload_activations)
    sink.op(during(moved(ORCH_COPY, "checkpoint to host and back", setup.checkpoint_bytes()),
                   {1, 0, 1, 0}, true),
            [&] { return say(PrintedBytes{setup.checkpoint_bytes()}, " each way"); });
  if (model.narrow > 0)  // a layer's operands are rounded where they are used
    emit.move(ORCH_MEMORY, "casts of weights for products", model.element + model.narrow,
              model.layer_params(), {1, 0, 1, 0});
  if (setup.stage == 3)
    emit_gather(emit, model.layer_params(), setup.layers_away(),
                lean ? own_gathers(setup) : gathers(setup, !setup.keeps_all));
  emit_training(emit, model.layer_params(), setup.layers_away());
  emit_sums(setup, layer_statistics(model), sink);
  emit_head_norms(setup, sink);
  sink.block("embedding");
  emit_embedding(model, sink);
  if (setup.stage == 3)
    emit_gather(emit, ends, setup.ends_away(),
                lean ? own_end_gathers(setup) : gathers(setup, !setup.keeps_all && !setup.fsdp),
                !lean);
  emit_training(emit, ends, setup.ends_away());
  if (lean && setup.scatters_twice) emit_words_again(emit, ends - model.last_params());
  emit_sums(setup, word_statistics(model) + first_statistics(model) + 2, sink);
  sink.block("LM head");
  emit_head(model, sink);
  // The head uses the embedding's weights, which were freed meanwhile; its backward follows at
  // once.
  if (setup.stage == 3 && !setup.fsdp && !lean && model.sizes.tied)
    emit_gather(emit, model.embedding_params(), setup.ends_away(), {1, 0, 0, 0});
  if (setup.staged()) {
    emit_gather(emit, setup.back_params(), 0, gathers(setup, false));
    emit_training(emit, setup.back_params(), 0);
  }
  sink.block("all ranks");
  emit_agreement(model, sink, {setup.tensor * setup.ranks, 1});
  if (!setup.staged()) return;
  sink.block("to next stage");
  emit_send(model, sink, "send activations", {1, 0, 0, 0}, setup.pipeline_group());
  sink.block("to previous stage");
  emit_send(model, sink, "send gradients", {0, 0, 1, 0}, setup.pipeline_group());
}

}  // namespace

void emit_schedule(const Zero3Setup& setup, WorkSink& sink) {
  sink.schedule({sizeof(orch_schedule), setup.model.recompute, setup.pipeline, setup.micro_batches,
                 setup.chunks, setup.dtype, 0});
}

void emit_work(const Zero3Setup& setup, WorkSink& sink) {
  emit_blocks(setup, sink);
  for (const auto& part : parts_of(setup)) {
    const auto sent = handovers(setup.pipeline, setup.chunks, part.first);
    const double front = part.first == 0, back = part.last == setup.pipeline - 1;
    const std::array counts{static_cast<double>(setup.layers_on(part.first)),
                            front,
                            back,
                            1.0,
                            sent.to_next,
                            sent.to_previous};
    sink.stages(part.first, part.last, std::span(counts).first(setup.staged() ? 6 : 4));
  }
}

}  // namespace orch::zero3
