#pragma once

// The messages between pipeline stages, for authors of backends.

#include <cstdint>

#include "core/price/backend/ops.h"
#include "core/price/backend/share.h"
#include "core/price/backend/spec.h"
#include "core/price/backend/words.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

// The number of sends of a stage in the forward and in the backward of one micro-batch. With
// interleaving, the last stage sends all chunks but its last one on to the first stage, and the
// first one sends their gradients back.
struct SendCounts {
  double to_next = 0, to_previous = 0;
};
inline SendCounts handovers(std::int64_t stages, std::int64_t chunks, std::int64_t stage) {
  if (stages == 1) return {};
  const auto v = static_cast<double>(chunks);
  return {stage == stages - 1 ? v - 1 : v, stage == 0 ? v - 1 : v};
}

// Each tensor-parallel rank sends its slice, and the receivers gather over the faster links inside
// their node (Narayanan et al. 2021, scatter/gather).
inline void emit_send(const Transformer& model, WorkSink& sink, const char* name, Passes passes,
                      const MeshGroup& stages) {
  const double bytes = model.element * model.sbh() / model.tensor_parallel;
  sink.op(during(collective(name, ORCH_SEND, bytes, stages), passes), [&] {
    return say(model.element, " B x s*b*h / t = ", PrintedBytes{bytes},
               " to the neighbouring stage");
  });
}

}  // namespace orch::backend

#pragma GCC visibility pop
