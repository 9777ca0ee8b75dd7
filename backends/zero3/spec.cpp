#include "backends/zero3/setup.h"

namespace orch::zero3 {
namespace {

class Spec final : public backend::BackendSpec {
 public:
  std::string name() const override { return "zero3"; }
  std::string version() const override { return "0.1.0"; }
  std::string doc() const override {
    return "States sharded over data-parallel ranks (ZeRO), on the device or the host";
  }
  std::vector<backend::StrategySpec> strategies() const override { return zero3::strategies(); }
  void check(const backend::RunView& run, backend::Problems& problems) const override {
    zero3::check(run, problems);
  }
  void work(const backend::RunView& run, backend::WorkSink& sink) const override {
    const Setup setup(run);
    emit_work(setup, sink);
    emit_memory(setup, sink);
  }
};

}  // namespace
}  // namespace orch::zero3

ORCH_BACKEND(orch::zero3::Spec)
