#pragma once

#include "backends/ddp/powersgd.h"
#include "core/price/backend/ops.h"
#include "core/price/backend/spec.h"
#include "core/price/backend/states.h"
#include "core/price/backend/transformer.h"

namespace orch::ddp {

// A run's settings, read once.
struct Setup {
  explicit Setup(const backend::RunView& run);

  backend::Transformer model;
  backend::States states;
  std::int64_t micro_batches = 1;
  std::int64_t ranks = 1;
  Compression compression = Compression::none;
  PowerSgd powersgd;
  double bucket = 25 * 1048576.0;  // bytes
  bool overlap = true;
  bool bucket_view = true;
  bool autocast = false;  // fp32 weights with 16-bit copies for the products
  const char* dtype = "bf16";

  backend::Group group() const { return {ranks, 1}; }
  bool sends_half() const {
    return compression == Compression::fp16 || compression == Compression::bf16;
  }
};

void emit_work(const Setup& setup, backend::WorkSink& sink);
void emit_memory(const Setup& setup, backend::WorkSink& sink);

class Spec final : public backend::BackendSpec {
 public:
  std::string name() const override { return "ddp"; }
  std::string version() const override { return "0.1.0"; }
  std::string doc() const override {
    return "Replicas of the whole model that average their gradients";
  }
  std::vector<backend::StrategySpec> strategies() const override;
  void check(const backend::RunView& run, backend::Problems& problems) const override;
  void work(const backend::RunView& run, backend::WorkSink& sink) const override {
    const Setup setup(run);
    emit_work(setup, sink);
    emit_memory(setup, sink);
  }
};

}  // namespace orch::ddp
