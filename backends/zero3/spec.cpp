#include "backends/zero3/setup.h"

namespace orch::zero3 {

void Spec::work(const backend::RunView& run, backend::WorkSink& sink) const {
  const Setup setup(run);
  emit_work(setup, sink);
  emit_memory(setup, sink);
}

}  // namespace orch::zero3

ORCH_BACKEND(orch::zero3::Spec)
