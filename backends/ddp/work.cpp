#include <algorithm>
#include <array>
#include <span>

#include "backends/ddp/setup.h"

namespace orch::ddp {
namespace {

using namespace backend;

constexpr Passes kStep{0, 0, 0, 1};
constexpr double kTraffic = 300;     // equivalent bytes per element that PowerSGD compresses
constexpr double kStillSent = 0.45;  // of DDP's bytes, with PyTorch's hook between 16 A100

void emit_all_reduce(const DdpSetup& setup, const char* name, double each, double elements,
                     double calls, WorkSink& sink) {
  const double bytes = each * elements;
  sink.op(
      during(collective(name, ORCH_ALL_REDUCE, bytes, setup.group(), calls), kStep, setup.overlap),
      [&] { return say(each, " B x ", elements, " elements = ", PrintedBytes{bytes}); });
}

// In buckets, the first of which is sent during backward.
void emit_plain(const DdpSetup& setup, double params, WorkSink& sink) {
  const bool half = setup.sends_half();
  const double each = half ? 2 : setup.states.gradients;
  const double calls = params * setup.states.gradients / setup.bucket;
  if (half) {
    // Conversion to 16 bit and back: fp32 read, 16 bit written, and the reverse.
    const double cast = 2 * (setup.states.gradients + 2), bytes = cast * params;
    sink.op(during(moved(ORCH_MEMORY, "gradient casts", bytes), kStep),
            [&] { return say(cast, " B x ", params, " params = ", PrintedBytes{bytes}); });
  }
  emit_all_reduce(setup, "gradient all-reduce", each, params, calls, sink);
}

// P = M Q, Q = M' P and P Q' are three products of the size of the gradient times the rank. The
// hook reads or writes M 13 times (error added, copy, both products, decompression, new error, copy
// back) in small kernels, one column after the other: on 8 A100 it took 0.23 ns per element, the
// time of 300 bytes.
void emit_products(const DdpSetup& setup, Matrix matrix, WorkSink& sink) {
  const double rank = setup.powersgd.rank;
  auto products = during(gemm("PowerSGD products", matrix.rows, rank, matrix.columns), kStep);
  products.step = 3;
  sink.op(products, [&] {
    return say("3 x [", matrix.rows, ", ", matrix.columns, "] x [", matrix.columns, ", ", rank,
               "]");
  });
  const double bytes = kTraffic * matrix.elements();
  sink.op(during(moved(ORCH_MEMORY, "PowerSGD passes", bytes), kStep),
          [&] { return say(kTraffic, " B x ", matrix.elements(), " = ", PrintedBytes{bytes}); });
}

// params: without the gaps between tensors, which are not sent in this case.
void emit_powersgd(const DdpSetup& setup, std::span<const Matrix> matrices, double params,
                   WorkSink& sink) {
  double factors = 0, whole = params;
  const double at_least = setup.model.lean ? 0 : kStillSent;
  for (const auto& matrix : matrices) {
    if (!setup.powersgd.compresses(matrix)) continue;
    emit_products(setup, matrix, sink);
    factors += std::max(setup.powersgd.sent(matrix), at_least * matrix.elements());
    whole -= matrix.elements();
  }
  const double each = setup.states.gradients;
  const double buckets = params * each / setup.bucket;
  if (factors > 0)
    emit_all_reduce(setup, "PowerSGD factors all-reduce", each, factors, 2 * buckets, sink);
  emit_all_reduce(setup, "uncompressed gradient all-reduce", each, whole, buckets, sink);
}

void emit_training(const DdpSetup& setup, std::span<const Matrix> matrices, double params,
                   double exact, WorkSink& sink) {
  if (setup.micro_batches > 1) {
    const double each = setup.states.accumulate_traffic();
    sink.op(during(moved(ORCH_MEMORY, "gradient accumulation", each * params), {0, 0, 1, 0}),
            [&] { return say(each, " B x ", params, " params"); });
  }
  if (setup.ranks > 1) {
    if (setup.compression == Compression::powersgd)
      emit_powersgd(setup, matrices, exact, sink);
    else
      emit_plain(setup, params, sink);
  }
  const double each = setup.states.step_traffic();
  sink.op(during(moved(ORCH_MEMORY, "optimizer", each * params), kStep),
          [&] { return say(each, " B x ", params, " params"); });
}

}  // namespace

void emit_schedule(const DdpSetup& setup, WorkSink& sink) {
  sink.schedule(
      {sizeof(orch_schedule), setup.model.recompute, 1, setup.micro_batches, 1, setup.dtype, 0});
}

void emit_work(const DdpSetup& setup, WorkSink& sink) {
  const auto& model = setup.model;
  sink.block("layer");
  emit_layer(model, sink);
  emit_training(setup, layer_matrices(model.sizes), model.layer_params(),
                model.sizes.layer_params(), sink);
  sink.block("embedding and LM head");
  emit_embedding(model, sink);
  emit_head(model, sink);
  emit_training(setup, end_matrices(model.sizes),
                model.params() - model.layers * model.layer_params(), model.sizes.end_params(),
                sink);
  emit_agreement(model, sink, setup.group());
  sink.stages(0, 0, std::array{model.layers, 1.0});
}

}  // namespace orch::ddp
