#pragma once

#include "backends/ddp/powersgd.h"
#include "backends/ddp/powersgd_hook.h"
#include "backends/runtime/step/reducer.h"

namespace orch::ddp {

Compression parse_compression(const std::string& name);  // throws std::invalid_argument

struct CompressingOptions : train::ReducerOptions {
  train::BucketOptions buckets;
  Compression compression = Compression::none;  // fp16, bf16: unused if gradients are 16-bit
  PowerSgdOptions powersgd;
};

// The reducer for all parameters, with compression.
class CompressingReducer : public train::Reducer {
 public:
  // Both must outlive the reducer.
  CompressingReducer(train::Parameters& parameters, train::CommGroup& data,
                     const CompressingOptions& options);

  // For checkpoints; see PowerSgdHook::states.
  std::vector<train::OptimizerState> states();
  double error_bytes() const;
};

}  // namespace orch::ddp
