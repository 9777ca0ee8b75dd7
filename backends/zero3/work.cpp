#include <array>

#include "backends/zero3/setup.h"

namespace orch::zero3 {
namespace {

using namespace backend;

constexpr double kBucket = 5e8;  // elements per collective of stages 1 and 2, DeepSpeed's default

struct Emitter {
  const Setup& setup;
  WorkSink& sink;

  void add(const orch_op& op, Passes passes, double each, double params, bool hidden = false) {
    sink.op(during(op, passes, hidden),
            [&] { return say(each, " B x ", params, " params = ", Size{each * params}); });
  }

  // kind: ORCH_MEMORY, ORCH_COPY or ORCH_HOST.
  void move(std::uint32_t kind, const char* name, double each, double params, Passes passes,
            bool hidden = false) {
    add(moved(kind, name, each * params), passes, each, params, hidden);
  }

  void exchange(const char* name, std::uint32_t which, double each, double params, Group group,
                Passes passes, bool hidden) {
    if (group.size == 1) return;
    const double calls = setup.stage == 3 ? 1 : params / kBucket;
    add(collective(name, which, each * params, group, calls), passes, each, params, hidden);
  }
};

double in_backward(bool yes) { return yes ? 1 : 0; }

// Stage 3: gathered before use and freed after. Recomputation and backward of a layer follow each
// other, so one gather serves both. From host memory a shard first crosses PCIe.
void emit_gather(Emitter& emit, double params, bool again) {
  const auto& setup = emit.setup;
  const Passes passes{1, 0, in_backward(again), 0};
  const bool hidden = setup.prefetch > 0;
  if (setup.offload == Offload::full)
    emit.move(ORCH_COPY, "weights to device", setup.states.weights, params / setup.shards(3),
              passes, hidden);
  emit.exchange("weight all-gather", ORCH_ALL_GATHER, setup.states.weights, params,
                setup.shard_group(), passes, hidden);
}

// Stage 1 reduces once per step, stages 2 and 3 after every micro-batch.
void emit_reduction(Emitter& emit, double params) {
  const auto& setup = emit.setup;
  const Passes passes = setup.stage == 1 ? Passes{0, 0, 0, 1} : Passes{0, 0, 1, 0};
  const double each = setup.states.weights;  // reduced in the format of the products
  emit.exchange("gradient reduce-scatter", ORCH_REDUCE_SCATTER, each, params, setup.shard_group(),
                passes, setup.overlap);
  emit.exchange("gradient all-reduce between replicas", ORCH_ALL_REDUCE, each,
                params / setup.shards(2), setup.replica_group(), passes, setup.overlap);
}

void emit_accumulation(Emitter& emit, double params) {
  const auto& setup = emit.setup;
  if (setup.micro_batches == 1 || (setup.offload != Offload::none && setup.stage > 1)) return;
  emit.move(ORCH_MEMORY, "gradient accumulation", setup.states.accumulate_traffic(),
            params / setup.shards(2), {0, 0, 1, 0});
}

// ZeRO-Offload (Ren et al. 2021): gradients go to the host as they are reduced, the host adds them
// up and updates the shard, and 16-bit weights come back.
void emit_host_update(Emitter& emit, double shard) {
  const auto& setup = emit.setup;
  const auto& states = setup.states;
  const bool each_time = setup.stage > 1;
  const Passes passes = each_time ? Passes{0, 0, 1, 0} : Passes{0, 0, 0, 1};
  emit.move(ORCH_COPY, "gradients to host", states.gradients, shard, passes,
            each_time && setup.overlap);
  if (each_time && setup.micro_batches > 1)
    emit.move(ORCH_HOST, "gradient accumulation on the host", states.gradients + 8, shard,
              {0, 0, 1, 0}, setup.overlap);
  // fp32 gradients, master weights and moments in, the latter two out, 16-bit weights out.
  emit.move(ORCH_HOST, "optimizer on the host", 4 + 2 * (4 + states.moments) + states.weights,
            shard, {0, 0, 0, 1});
  if (setup.offload == Offload::optimizer)
    emit.move(ORCH_COPY, "updated weights to device", states.weights, shard, {0, 0, 0, 1});
}

void emit_update(Emitter& emit, double params) {
  const auto& setup = emit.setup;
  const double shard = params / setup.shards(1);
  if (setup.offload == Offload::none)
    emit.move(ORCH_MEMORY, "optimizer", setup.states.step_traffic(), shard, {0, 0, 0, 1});
  else
    emit_host_update(emit, shard);
  if (setup.stage < 3)
    emit.exchange("updated weight all-gather", ORCH_ALL_GATHER, setup.states.weights, params,
                  setup.shard_group(), {0, 0, 0, 1}, false);
}

void emit_training(Emitter& emit, double params) {
  emit_accumulation(emit, params);
  emit_reduction(emit, params);
  emit_update(emit, params);
}

void emit_blocks(const Setup& setup, WorkSink& sink) {
  Emitter emit{setup, sink};
  const auto& model = setup.model;
  const double ends = model.embedding_params() + model.first_params() + model.last_params();
  sink.block("layer");
  emit_layer(model, sink);
  if (setup.offload_activations)
    sink.op(during(moved(ORCH_COPY, "checkpoint to host and back", setup.checkpoint_bytes()),
                   {1, 0, 1, 0}, true),
            [&] { return say(Size{setup.checkpoint_bytes()}, " each way"); });
  if (setup.stage == 3) emit_gather(emit, model.layer_params(), setup.regather);
  emit_training(emit, model.layer_params());
  sink.block("embedding");
  emit_embedding(model, sink);
  if (setup.stage == 3) emit_gather(emit, ends, setup.regather && !setup.keeps_embedding);
  emit_training(emit, ends);
  sink.block("LM head");
  emit_head(model, sink);
  // The head uses the embedding's weights, freed meanwhile; its backward follows at once.
  if (setup.stage == 3 && !setup.keeps_embedding)
    emit_gather(emit, model.embedding_params(), false);
}

}  // namespace

void emit_work(const Setup& setup, WorkSink& sink) {
  orch_schedule schedule{};
  schedule.recompute = setup.model.recompute;
  schedule.stages = schedule.chunks = 1;
  schedule.micro_batches = setup.micro_batches;
  schedule.dtype = setup.dtype;
  sink.schedule(schedule);
  emit_blocks(setup, sink);
  sink.stages(0, 0, std::array{setup.model.layers, 1.0, 1.0});
}

}  // namespace orch::zero3
