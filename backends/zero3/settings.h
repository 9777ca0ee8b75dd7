#pragma once

#include "core/plan/setting.h"

namespace orch::zero3 {

using plan::ChoiceSetting, plan::Flag, plan::Integer, plan::Real;

struct Zero3Settings : plan::CommonSettings {
  // For zero3 and deepspeed; fsdp has its own offload.
  ChoiceSetting offload{
      "offload",
      "what is offloaded to host memory: nothing, the optimizer, or the weights too",
      {"none", "optimizer", "full"}};
  Real offload_fraction{
      "offload_fraction",
      "of the layers, those whose states live there: the last ones, which forward needs last",
      1,
      {0, 1}};
  Integer prefetch{"prefetch", "layers gathered ahead of their use; 0 waits for each", 1, {0, 64}};
  // For fsdp.
  ChoiceSetting sharding{
      "sharding",
      "full frees weights after forward, grad_op keeps them until backward, hybrid "
      "shards inside groups "
      "that mirror each other",
      {"full", "grad_op", "hybrid"}};
  Integer hybrid_shard_group{"hybrid_shard_group",
                             "ranks of a group; 0: the GPUs of a node",
                             0,
                             {0, 65536},
                             {"sharding", "hybrid"}};
  Integer pipeline_parallel{
      "pipeline_parallel",
      "stages that the layers are distributed to, beside FSDP as in torchtitan: "
      "weights are gathered once "
      "per step and stay (planned, not trained here)",
      1, plan::kManyRanks};
  Integer interleave{"interleave", "model chunks per stage", 1, {1, 1024}};
  Flag overlap_tensor{"overlap_tensor",
                      "tensor parallelism's gathers run under the products beside them, as with "
                      "torchtitan's asynchronous tensor parallelism (planned, not trained here)",
                      false};
  ChoiceSetting fsdp_offload{
      "offload",
      "what is offloaded to host memory: nothing, or all, as by CPUOffloadPolicy",
      {"none", "full"}};
  // For deepspeed.
  Integer stage{"stage",
                "1 shards the optimizer, 2 gradients too, 3 weights too: each moves more for the "
                "memory it saves",
                {},
                {1, 3}};
  // For all three.
  ChoiceSetting engine{
      "engine",
      "who trains, for the estimate: orch, or the framework that it is named after",
      {"orch", "framework"}};
  Flag overlap{"overlap", "reduce gradients under backward", true};
  ChoiceSetting reduce_dtype{
      "reduce_dtype",
      "number format of gradients on the network: that of the products, or fp32, in which our own "
      "stage 1 sends sums",
      {"dtype", "fp32"}};
  ChoiceSetting tied_scatter{
      "tied_scatter",
      "the words' gradient, of head and lookup: kept and reduced once, or each when it is made",
      {"once", "twice"}};

  std::vector<plan::Param> with_common(std::vector<plan::Param> params) const {
    for (const auto& param : std::initializer_list<plan::Param>{
             tensor_parallel, context_parallel, engine, overlap, reduce_dtype, tied_scatter,
             offload_activations, recompute, dtype, optimizer, flash_attention, fused_kernels,
             cross_entropy})
      params.push_back(param);
    return params;
  }
};
inline constexpr Zero3Settings settings;

}  // namespace orch::zero3
