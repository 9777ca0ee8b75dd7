#include <algorithm>

#include "backends/ddp/setup.h"

namespace orch::ddp {
namespace {

using namespace backend;

// Error feedback stores what compression lost, for every compressed matrix.
double compressed_elements(const DdpSetup& setup) {
  double elements = 0;
  for (const auto& matrix : layer_matrices(setup.model.sizes))
    if (setup.powersgd.compresses(matrix)) elements += setup.model.layers * matrix.elements();
  for (const auto& matrix : end_matrices(setup.model.sizes))
    if (setup.powersgd.compresses(matrix)) elements += matrix.elements();
  return elements;
}

}  // namespace

void emit_memory(const DdpSetup& setup, WorkSink& sink) {
  const double params = setup.model.params();
  const auto& states = setup.states;
  const auto place = setup.model.lean ? ORCH_SETTLED : ORCH_DEVICE;
  emit_kept(sink, "weights", 0, 0, states.weights, params, 1, place);
  emit_kept(sink, "gradients", 0, 0, states.gradients, params, 1, place);
  emit_kept(sink, "optimizer states", 0, 0, states.optimizer(), params, 1, place);
  if (setup.ranks > 1 && setup.compression == Compression::powersgd)
    emit_kept(sink, "PowerSGD error feedback", 0, 0, states.gradients, compressed_elements(setup));
  emit_activations(setup.model, sink, 0, 0, setup.model.layers);
  emit_peaks(setup.model, sink, 0);
  if (setup.ranks == 1) return;
  emit_communicators(sink, 0, 1);
  if (!setup.bucket_view)
    return emit_kept(sink, "communication buffers", 0, 0, states.gradients, params);
  // Two buckets are sent at a time, from a copy if compressed.
  const double bytes = std::min(2 * setup.bucket, params * states.gradients);
  sink.memory("communication buffers", 0, 0, bytes,
              [&] { return say("two buckets = ", PrintedBytes{bytes}); });
}

}  // namespace orch::ddp
