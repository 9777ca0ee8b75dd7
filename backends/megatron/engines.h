#pragma once

#include <string_view>

namespace orch::megatron {

// Gradients that backward makes in 16 bits, beside or instead of a sum in fp32.
enum class Made {
  as_asked,      // the sum itself, in the type that fp32_accumulate asks for
  if_sharded,    // kept where the optimizer is sharded; else the sum is all there is, in fp32
  if_replicated  // kept beside the sum where there are several replicas
};

// What a program that trains makes of the same settings, on any machine: what engine = '…' stands
// for in an estimate. (Its factors on a machine's constants are in experiments/stacks.yaml.)
struct EngineTraits {
  std::string_view name;
  double overheads = 1;  // fixed costs per layer and pass
  double fp32_logits =
      8;  // bytes that a plain cross entropy holds beside a 16-bit logit and its gradient
  double bucket = 5e8;        // elements of a reduction,
  double whole_bucket = 5e8;  // and of one whose result every rank keeps
  // Beside its layers' inputs, a stage keeps the output of each micro-batch in flight until the
  // gradient comes back, and what is being sent and received: layers that this is as much as (66
  // runs on 384 A100 with DeepSpeed; one would be the output alone).
  double handed_over = 1.4;
  Made made = Made::as_asked;
  bool lean = false;  // see Transformer, as are the next two
  bool core = false;
  bool eager = false;
  bool copies_fp16 = false;          // gradients in fp16 are copied to fp32 for the update
  bool takes_modules = false;        // to compute again, one by one
  bool takes_uneven_chunks = false;  // as a list
  bool overlaps_tensor = false;      // products are cut, to send their parts
  bool shards_all = false;           // gradients and weights too: zero_stage = 2 and 3
  bool interleaves = true;
  bool waits_at_stages = false;  // at each hand-over
  bool widens_shard = false;     // sharded gradients once more in fp32
  bool copies_buckets = false;   // what is reduced, if it is sharded
  bool gathers_beside = false;   // updated weights beside those in use, and what is sent is kept
  bool takes_keep_gathered = false;
  bool reduces_under_backward = false;  // unless fp32 sums are sharded
};

inline constexpr EngineTraits kEngines[] = {
    {.name = "orch",
     .bucket = 40e6,
     .whole_bucket = 40e6,
     .lean = true},  // the first: our own trainer
    // Megatron Core sums in fp32, 18 bytes per parameter in all, and in bf16 where it is asked to
    // (--grad-reduce-in-bf16); fp16 ones it sums as they are. Its logits are there once in fp32,
    // where softmax becomes their gradient.
    {.name = "megatron",
     .fp32_logits = 4,
     .core = true,
     .copies_fp16 = true,
     .takes_modules = true,
     .takes_uneven_chunks = true,
     .overlaps_tensor = true,
     .shards_all = true},
    // Megatron-DeepSpeed took twice the time per layer that nothing hides, and waits at each
    // hand-over: a 530B on the same GPUs ran a fifth slower than with Megatron-LM.
    {.name = "deepspeed",
     .overheads = 2,
     .made = Made::if_sharded,
     .interleaves = false,
     .waits_at_stages = true,
     .widens_shard = true,
     .copies_buckets = true},
    // PyTorch's DDP, with its 25 MiB of 16-bit gradients, unless ZeRO shards. Softmax becomes the
    // gradient.
    {.name = "nanotron",
     .fp32_logits = 6,
     .whole_bucket = 13.1e6,
     .made = Made::if_replicated,
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
