#pragma once

#include <array>
#include <vector>

#include "core/price/backend/abi.h"
#include "core/plan/run.h"

namespace orch::backend {

// A run as the border knows it. It points into the run, which stays as it is meanwhile: one that is
// checked and then priced crosses the border in one form.
class AbiRun {
 public:
  // strategy: its index in the backend's list.
  AbiRun(const plan::Run& run, std::uint32_t strategy);
  AbiRun(const AbiRun&) = delete;
  AbiRun& operator=(const AbiRun&) = delete;

  const orch_run* get() const { return &run_; }

 private:
  std::array<orch_value, 32> few_;  // settings of usual number need no memory of their own
  std::vector<orch_value> many_;
  std::array<orch_size, plan::kSizes.size()> sizes_;
  orch_run run_{};
};

}  // namespace orch::backend
