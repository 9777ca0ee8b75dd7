#include "backends/ddp/setup.h"

namespace orch::ddp {
namespace {

class Spec final : public backend::BackendSpec {
 public:
  std::string name() const override { return "ddp"; }
  std::string version() const override { return "0.1.0"; }
  std::string doc() const override {
    return "Replicas of the whole model that average their gradients";
  }
  std::vector<backend::StrategySpec> strategies() const override { return ddp::strategies(); }
  void check(const backend::RunView& run, backend::Problems& problems) const override {
    ddp::check(run, problems);
  }
  void work(const backend::RunView& run, backend::WorkSink& sink) const override {
    const Setup setup(run);
    emit_work(setup, sink);
    emit_memory(setup, sink);
  }
};

}  // namespace
}  // namespace orch::ddp

ORCH_BACKEND(orch::ddp::Spec)
