#include "backends/megatron/setup.h"

namespace orch::megatron {

void Spec::work(const backend::RunView& run, backend::WorkSink& sink) const {
  const Setup setup(run);
  emit_work(setup, sink);
  emit_memory(setup, sink);
}

}  // namespace orch::megatron

ORCH_BACKEND(orch::megatron::Spec)
