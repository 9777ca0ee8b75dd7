#include "backends/ddp/setup.h"

namespace orch::ddp {

void Spec::work(const backend::RunView& run, backend::WorkSink& sink) const {
  const Setup setup(run);
  emit_work(setup, sink);
  emit_memory(setup, sink);
}

}  // namespace orch::ddp

ORCH_BACKEND(orch::ddp::Spec)
