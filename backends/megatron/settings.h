#pragma once

#include "core/plan/setting.h"

namespace orch::megatron {

using plan::ChoiceSetting, plan::Flag, plan::Integer, plan::TextSetting, plan::kManyRanks;

struct MegatronSettings : plan::CommonSettings {
  Integer pipeline_parallel{"pipeline_parallel", "stages that the layers are distributed to", 1,
                            kManyRanks};
  Integer expert_parallel{
      "expert_parallel",
      "ranks that a layer's experts are distributed to: of those of the data and the context, and "
      "of tensor_parallel too where expert_tensor_parallel is less",
      1, kManyRanks};
  Integer expert_tensor_parallel{
      "expert_tensor_parallel",
      "ranks that share each expert; 0: as tensor_parallel, 1: experts stay whole (planned, "
      "not trained here)",
      0,
      {0, 65536}};
  ChoiceSetting expert_dispatch{
      "expert_dispatch",
      "copies: a token travels to each of its experts; nodes: once to each node that has some, as "
      "DeepEP",
      {"copies", "nodes"}};
  Integer nodes_limit{"nodes_limit",
                      "nodes that a token's router may choose from; 0: all",
                      0,
                      {0, 65536},
                      {"expert_dispatch", "nodes"}};
  Flag overlap_experts{"overlap_experts", "tokens travel under the products of another micro-batch",
                       false};
  ChoiceSetting cuda_graphs{
      "cuda_graphs",
      "with engine = 'megatron', what is launched as a CUDA graph: router: of a layer of experts "
      "the "
      "router and the preparation of its exchange; attention: these and attention; all (planned, "
      "not trained here)",
      {"none", "router", "attention", "all"}};
  Integer mtp_layers{"mtp_layers",
                     "with engine = 'megatron', layers behind the last one that predict further "
                     "tokens, each with the LM head again (planned, not trained here)",
                     0,
                     {0, 16}};
  ChoiceSetting dropout_masks{
      "dropout_masks",
      "with engine = 'megatron', dropout and its masks; usual: in models with biases (planned, not "
      "trained here)",
      {"usual", "yes", "no"}};
  Integer interleave{"interleave", "model chunks per stage", 1, {1, 1024}};
  ChoiceSetting stage_partition{
      "stage_partition",
      "what is distributed evenly to the stages: layers, or embeddings too",
      {"uniform", "transformer|embedding"}};
  ChoiceSetting partition_rule{
      "partition_rule",
      "balanced: stages differ by one at most; portions: rounded up until none is left, as "
      "DeepSpeed "
      "before 0.12.5; costs: the head counts as the layers that it weighs as much as, as "
      "nanotron",
      {"balanced", "portions", "costs"}};
  TextSetting stage_layers{
      "stage_layers",
      "layers of each stage, such as '7,7,6', or with interleave and engine = 'megatron' of each "
      "chunk in the order of the layers; '': distributed by partition_rule",
      ""};
  ChoiceSetting engine{"engine",
                       "who trains, for the estimate: orch, Megatron-LM, Megatron-DeepSpeed, whose "
                       "pipeline waits and "
                       "checks at each hand-over, or nanotron",
                       {"orch", "megatron", "deepspeed", "nanotron"}};
  Flag sequence_parallel{"sequence_parallel", "shard norms and dropout along the sequence", false};
  Flag overlap_tensor{
      "overlap_tensor",
      "gathers and scatters of sequence_parallel run under the products beside them, as Megatron's "
      "--tp-comm-overlap (planned, not trained here)",
      false};
  Flag keep_gathered{"keep_gathered",
                     "with engine = 'nanotron' what sequence_parallel gathered for a product is "
                     "kept for backward, "
                     "not gathered again (tp_recompute_allgather there; planned, not trained here)",
                     false};
  ChoiceSetting recompute{
      "recompute", plan::common_settings.recompute.doc, {"full", "selective", "none"}};
  TextSetting recompute_modules{
      "recompute_modules",
      "with recompute = 'selective' and engine = 'megatron', what is computed again, such as "
      "'layernorm+mla_up_proj+moe_act': core_attn, mla_up_proj, layernorm, mlp, moe_act, moe; '': "
      "core_attn (its inside alone)",
      ""};
  Integer zero_stage{"zero_stage",
                     "1 shards the optimizer over data-parallel ranks; with engine = 'megatron' 2 "
                     "gradients too and "
                     "3 weights too, by Megatron-FSDP (planned, not trained here)",
                     0,
                     {0, 3}};
  ChoiceSetting offload{
      "offload", "optimizer: its states live and are updated on the host", {"none", "optimizer"}};
  Flag offload_activations{
      "offload_activations",
      "with engine = 'megatron' what layers keep goes to the host and comes back for backward "
      "(planned, not trained here)",
      false};
  Integer offload_layers{
      "offload_layers",
      "with offload_activations: number of first layers to offload whole; 0: all but the last",
      0,
      {0, 65536}};
  TextSetting offload_modules{
      "offload_modules",
      "with offload_activations not whole layers but the inputs of modules, such as "
      "'core_attn+attn_proj': attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, expert_fc1, "
      "moe_act",
      ""};
  Flag fp32_accumulate{"fp32_accumulate", "sum 16-bit gradients in fp32: 4 bytes per parameter",
                       false};
  Flag fused_kernels{"fused_kernels", plan::common_settings.fused_kernels.doc, true};
  Integer vocab_multiple{"vocab_multiple",
                         "the vocabulary is padded to a multiple of this times tensor_parallel",
                         128, kManyRanks};
  Flag overlap_grad_reduce{"overlap_grad_reduce", "reduce gradients under the last backward",
                           false};
  Flag overlap_param_gather{"overlap_param_gather",
                            "with zero_stage = 1: gather updated weights under the next forward",
                            false};
  Flag fill_bubbles{"fill_bubbles", "weight gradients wait for a pipeline's idle moments", false};
  Flag launch_blocking{"launch_blocking", "wait for each kernel (CUDA_LAUNCH_BLOCKING=1)", false};

  std::vector<plan::Param> all() const {
    return {tensor_parallel,
            pipeline_parallel,
            context_parallel,
            expert_parallel,
            expert_tensor_parallel,
            expert_dispatch,
            nodes_limit,
            overlap_experts,
            cuda_graphs,
            mtp_layers,
            dropout_masks,
            interleave,
            stage_partition,
            partition_rule,
            stage_layers,
            engine,
            sequence_parallel,
            overlap_tensor,
            keep_gathered,
            recompute,
            recompute_modules,
            dtype,
            zero_stage,
            offload,
            offload_activations,
            offload_layers,
            offload_modules,
            fp32_accumulate,
            flash_attention,
            fused_kernels,
            cross_entropy,
            optimizer,
            vocab_multiple,
            overlap_grad_reduce,
            overlap_param_gather,
            fill_bubbles,
            launch_blocking};
  }
};
inline constexpr MegatronSettings settings;

}  // namespace orch::megatron
