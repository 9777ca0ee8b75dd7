#include "backends/megatron/setup.h"

namespace orch::megatron {
namespace {

class Spec final : public backend::BackendSpec {
 public:
  std::string name() const override { return "megatron"; }
  std::string version() const override { return "0.1.0"; }
  std::string doc() const override {
    return "Layers split over the GPUs of a node, stages over nodes, batches over both";
  }
  std::vector<backend::StrategySpec> strategies() const override { return megatron::strategies(); }
  void check(const backend::RunView& run, backend::Problems& problems) const override {
    megatron::check(run, problems);
  }
  void work(const backend::RunView& run, backend::WorkSink& sink) const override {
    const Setup setup(run);
    emit_work(setup, sink);
    emit_memory(setup, sink);
  }
};

}  // namespace
}  // namespace orch::megatron

ORCH_BACKEND(orch::megatron::Spec)
