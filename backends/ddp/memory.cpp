#include <algorithm>

#include "backends/ddp/setup.h"

namespace orch::ddp {
namespace {

using namespace backend;

void add(WorkSink& sink, const char* name, double each, double params,
         std::uint32_t place = ORCH_DEVICE) {
  sink.memory(
      name, 0, 0, each * params,
      [&] { return say(each, " B x ", params, " params = ", Size{each * params}); }, place);
}

// Error feedback keeps what compression lost, for every compressed matrix.
double compressed_elements(const Setup& setup) {
  double elements = 0;
  for (const auto& matrix : layer_matrices(setup.model.sizes))
    if (setup.powersgd.compresses(matrix)) elements += setup.model.layers * matrix.elements();
  for (const auto& matrix : end_matrices(setup.model.sizes))
    if (setup.powersgd.compresses(matrix)) elements += matrix.elements();
  return elements;
}

}  // namespace

void emit_memory(const Setup& setup, WorkSink& sink) {
  const double params = setup.model.params();
  const auto& states = setup.states;
  const auto place = setup.model.lean ? ORCH_SETTLED : ORCH_DEVICE;
  add(sink, "weights", states.weights, params, place);
  add(sink, "gradients", states.gradients, params, place);
  add(sink, "optimizer states", states.optimizer(), params, place);
  if (setup.ranks > 1 && setup.compression == Compression::powersgd)
    add(sink, "PowerSGD error feedback", states.gradients, compressed_elements(setup));
  emit_activations(setup.model, sink, 0, 0, setup.model.layers);
  emit_peaks(setup.model, sink, 0);
  if (setup.ranks == 1) return;
  emit_communicators(sink, 0, 1);
  if (!setup.bucket_view) return add(sink, "communication buffers", states.gradients, params);
  // Two buckets on their way at a time, in a copy if compressed.
  const double bytes = std::min(2 * setup.bucket, params * states.gradients);
  sink.memory("communication buffers", 0, 0, bytes,
              [&] { return say("two buckets = ", Size{bytes}); });
}

}  // namespace orch::ddp
