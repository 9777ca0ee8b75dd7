#pragma once

#include <string_view>

namespace orch::megatron {

// How 16-bit gradients of backward are stored, beside or instead of a sum in fp32.
enum class GradientType {
  as_asked,      // they are the sum itself, in the type of fp32_accumulate
  if_sharded,    // stored if the optimizer is sharded; otherwise only the sum exists, in fp32
  if_replicated  // stored beside the sum if there are several replicas
};

// How a training program implements the same settings, on any machine: the meaning of engine = '…'
// in an estimate. (Its factors on a machine's constants are in experiments/stacks.yaml.)
struct EngineTraits {
  std::string_view name;
  double overheads = 1;  // fixed costs per layer and pass
  double fp32_logits =
      8;  // bytes that a plain cross entropy holds besides a 16-bit logit and its gradient
  double bucket = 5e8;        // elements of a reduction,
  double whole_bucket = 5e8;  // and of one whose result every rank keeps
  // Besides its layers' inputs, a stage stores the output of each micro-batch in flight until the
  // gradient comes back, and the buffers of sends and recvs: measured in layer inputs (66 runs on
  // 384 A100 with DeepSpeed; 1 would be the output alone).
  double handed_over = 1.4;
  GradientType made = GradientType::as_asked;
  bool lean = false;  // see Transformer, for the next two as well
  bool core = false;
  bool eager = false;
  bool copies_fp16 = false;          // fp16 gradients are copied to fp32 for the update
  bool takes_modules = false;        // individual modules can be recomputed
  bool takes_uneven_chunks = false;  // given as a list
  bool overlaps_tensor = false;      // products are cut to overlap the communication of their parts
  bool shards_all = false;           // gradients and weights too: zero_stage = 2 and 3
  bool interleaves = true;
  bool waits_at_stages = false;  // at each transfer between stages
  bool widens_shard = false;     // another fp32 copy of sharded gradients
  bool copies_buckets = false;   // copies of what is reduced, if it is sharded
  bool gathers_beside = false;   // updated weights beside those in use, and the send buffers stay
  bool takes_keep_gathered = false;
  bool reduces_under_backward = false;  // unless fp32 sums are sharded
};

inline constexpr EngineTraits kEngines[] = {
    {.name = "orch",
     .bucket = 40e6,
     .whole_bucket = 40e6,
     .lean = true},  // the first one is our own trainer
    // Megatron Core sums in fp32, 18 bytes per parameter in all, and in bf16 if asked
    // (--grad-reduce-in-bf16); fp16 gradients are summed in fp16. Logits exist once in fp32, where
    // softmax turns them into their gradient.
    {.name = "megatron",
     .fp32_logits = 4,
     .core = true,
     .copies_fp16 = true,
     .takes_modules = true,
     .takes_uneven_chunks = true,
     .overlaps_tensor = true,
     .shards_all = true},
    // Megatron-DeepSpeed took twice the unhidden time per layer, and waits at each transfer between
    // stages: a 530B model on the same GPUs was a fifth slower than with Megatron-LM.
    {.name = "deepspeed",
     .overheads = 2,
     .made = GradientType::if_sharded,
     .interleaves = false,
     .waits_at_stages = true,
     .widens_shard = true,
     .copies_buckets = true},
    // PyTorch's DDP, with its 25 MiB of 16-bit gradients, unless ZeRO shards. Softmax turns logits
    // into their gradient.
    {.name = "nanotron",
     .fp32_logits = 6,
     .whole_bucket = 13.1e6,
     .made = GradientType::if_replicated,
     .eager = true,
     .gathers_beside = true,
     .takes_keep_gathered = true,
     .reduces_under_backward = true},
};

inline const EngineTraits& engine_traits(std::string_view name) {
  for (const auto& engine : kEngines)
    if (engine.name == name) return engine;
  return kEngines[0];
}

}  // namespace orch::megatron
