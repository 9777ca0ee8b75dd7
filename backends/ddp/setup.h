#pragma once

#include "backends/ddp/powersgd.h"
#include "core/price/backend/ops.h"
#include "core/price/backend/spec.h"
#include "core/price/backend/states.h"
#include "core/price/backend/transformer.h"

namespace orch::ddp {

// A run's settings, read once.
struct DdpSetup {
  explicit DdpSetup(const backend::BackendRun& run);

  backend::Transformer model;
  backend::StateBytes states;
  std::int64_t micro_batches = 1;
  std::int64_t ranks = 1;
  Compression compression = Compression::none;
  PowerSgd powersgd;
  double bucket = 25 * 1048576.0;  // bytes
  bool overlap = true;
  bool bucket_view = true;
  bool autocast = false;  // fp32 weights with 16-bit copies for the products
  const char* dtype = "bf16";

  backend::MeshGroup group() const { return {ranks, 1}; }
  bool sends_half() const {
    return compression == Compression::fp16 || compression == Compression::bf16;
  }
};

void check_setup(const backend::BackendRun& run, const DdpSetup& setup,
                 backend::ProblemSink& problems);
void emit_schedule(const DdpSetup& setup, backend::WorkSink& sink);
void emit_work(const DdpSetup& setup, backend::WorkSink& sink);
void emit_memory(const DdpSetup& setup, backend::WorkSink& sink);

}  // namespace orch::ddp
