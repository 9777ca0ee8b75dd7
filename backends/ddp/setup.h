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

void check_setup(const backend::RunView& run, const Setup& setup, backend::Problems& problems);
void emit_work(const Setup& setup, backend::WorkSink& sink);
void emit_memory(const Setup& setup, backend::WorkSink& sink);

}  // namespace orch::ddp
