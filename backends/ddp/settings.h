#pragma once

#include "core/plan/setting.h"

namespace orch::ddp {

using plan::ChoiceSetting, plan::Flag, plan::Integer, plan::Real;

inline constexpr plan::ParentChoice kPowerSgd{"compression", "powersgd"};

struct DdpSettings : plan::CommonSettings {
  ChoiceSetting compression{
      "compression", "of gradients on the network", {"none", "fp16", "bf16", "powersgd"}};
  Integer powersgd_rank{"powersgd_rank", "of the factors that are sent", 1, plan::kManyRanks,
                        kPowerSgd};
  Integer powersgd_start{
      "powersgd_start", "steps before compression begins", 10, {0, 1e9}, kPowerSgd};
  Real powersgd_min_compression_rate{"powersgd_min_compression_rate",
                                     "a matrix that shrinks less is sent whole",
                                     2,
                                     {0, 1e6},
                                     kPowerSgd};
  ChoiceSetting engine{
      "engine", "who trains, for the estimate: orch, or PyTorch's DDP", {"orch", "framework"}};
  Real bucket_mb{"bucket_mb", "gradients reduced at a time, in MiB", 25, {0.001, 1e6}};
  Flag overlap{"overlap", "reduce gradients under the last backward", true};
  Flag gradient_as_bucket_view{"gradient_as_bucket_view",
                               "gradients live in the buckets, not beside them", true};
  ChoiceSetting dtype{"dtype", "of the matrix products", {"bf16", "fp16", "fp32", "tf32"}};
  Flag master_weights{"master_weights",
                      "fp32 weights, gradients and moments beside the 16-bit weights", true};

  std::vector<plan::Param> all() const {
    return {compression,
            powersgd_rank,
            powersgd_start,
            powersgd_min_compression_rate,
            engine,
            optimizer,
            bucket_mb,
            overlap,
            gradient_as_bucket_view,
            recompute,
            dtype,
            master_weights,
            flash_attention,
            fused_kernels,
            cross_entropy};
  }
};
inline constexpr DdpSettings settings;

}  // namespace orch::ddp
