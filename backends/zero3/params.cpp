#include <algorithm>

#include "backends/zero3/setup.h"
#include "core/base/multiples.h"

namespace orch::zero3 {
namespace {

using backend::boolean, backend::choice, backend::integer, backend::ParamSpec, backend::real;

ParamSpec offload() {
  return choice("offload", "what lives in host memory: nothing, the optimizer, or the weights too",
                {"none", "optimizer", "full"});
}

ParamSpec offload_fraction() {
  return real("offload_fraction",
              "of the layers, those whose states live there: the last ones, which forward needs last", 1)
      .range(0, 1);
}

ParamSpec prefetch() {
  return integer("prefetch", "layers gathered ahead of their use; 0 waits for each", 1)
      .range(0, 64);
}

std::vector<ParamSpec> with_common(std::vector<ParamSpec> params) {
  for (auto&& param : {
           integer("tensor_parallel", "ranks that share each layer", 1).range(1, 65536),
           integer("context_parallel", "ranks that share each sample (planned, not trained here)", 1)
               .range(1, 65536),
           choice("engine",
                  "who trains, for the estimate: orch itself, or the framework that it is named after",
                  {"orch", "framework"}),
           boolean("overlap", "reduce gradients under backward", true),
           choice("reduce_dtype",
                  "of gradients on their way: that of the products, or fp32, in which our own stage 1 sends sums",
                  {"dtype", "fp32"}),
           choice("tied_scatter",
                  "the words' gradient, of head and lookup: kept and reduced once, or each when it is made",
                  {"once", "twice"}),
           boolean("offload_activations", "keep the inputs for recomputation in host memory",
                   false),
           choice("recompute", "what backward computes again instead of keeping it",
                  {"none", "full", "selective"}),
           choice("dtype",
                  "of weights and activations; fp8, or another that the GPU has a peak of: what products read "
                  "(planned, not trained here)",
                  {"bf16", "fp16", "fp32", "tf32", "fp8"}),
           choice("optimizer", "adamw keeps two moments, adafactor their row and column means",
                  {"adamw", "adafactor"}),
           boolean("flash_attention",
                   "attention that keeps no scores; unless given, true in 16 bits on GPUs since 2020", false),
           boolean("fused_kernels", "softmax with mask and scale in one kernel", false),
           backend::cross_entropy(),
       })
    params.push_back(param);
  return params;
}

}  // namespace

std::vector<backend::StrategySpec> Spec::strategies() const {
  return {
      {"zero3", "weights, gradients and optimizer sharded over all ranks (ZeRO stage 3)",
       with_common({offload(), offload_fraction(), prefetch()})},
      {"fsdp", "fully sharded data parallelism as in PyTorch",
       with_common({choice("sharding",
                           "full frees weights after forward, grad_op keeps them until backward, "
                           "hybrid shards inside groups that mirror each other",
                           {"full", "grad_op", "hybrid"}),
                    integer("hybrid_shard_group", "ranks of a group; 0: the GPUs of a node", 0)
                        .range(0, 65536)
                        .of("sharding", "hybrid"),
                    choice("offload", "what lives in host memory: nothing, or all, as CPUOffloadPolicy has it",
                           {"none", "full"}),
                    prefetch()})},
      {"deepspeed", "ZeRO as in DeepSpeed; the stage must be said",
       with_common({integer("stage",
                            "1 shards the optimizer, 2 gradients too, 3 weights too: each moves "
                            "more for the memory it saves",
                            1)
                        .range(1, 3)
                        .required(),
                    offload(), offload_fraction(), prefetch()})},
  };
}

Setup::Setup(const backend::RunView& run)
    : model(backend::transformer(run.model(), run->micro_batch)),
      micro_batches(run->accumulate),
      ranks(run->data_parallel * run->context_parallel),
      shard_ranks(ranks),
      tensor(run->tensor_parallel) {
  model.tensor_parallel = static_cast<double>(tensor);
  model.context_parallel = static_cast<double>(run->context_parallel);
  const bool fsdp = run.strategy() == "fsdp";
  if (run.strategy() == "deepspeed") stage = run.integer("stage");
  offload = offload_of(run.text("offload"));
  if (fsdp) {
    const auto sharding = run.text("sharding");
    regather = sharding != "grad_op";
    if (sharding == "hybrid") {
      const std::int64_t asked = run.integer("hybrid_shard_group");
      shard_ranks = std::min(
          asked > 0 ? asked : std::max<std::int64_t>(1, run->gpus_per_node / tensor), ranks);
    }
  } else {
    offload_fraction = run.real("offload_fraction");
  }
  if (run.text("engine") == "orch") {
    model.make_lean(shard_ranks);
    model.padded_vocab = static_cast<double>(round_up(run.model().vocab, 128 * tensor));
  }
  prefetch = run.integer("prefetch");
  overlap = run.flag("overlap");
  fp32_reduce = run.text("reduce_dtype") == "fp32";
  offload_activations = run.flag("offload_activations");
  scatters_twice = run.text("tied_scatter") == "twice";
  model.recompute = backend::recompute_of(run.text("recompute"));
  dtype = run.text("dtype").data();
  model.element = backend::element_bytes(dtype);
  model.narrow = backend::narrow_bytes(dtype);
  states = backend::states(dtype, run.text("optimizer"), model);
  fp32_weights = fsdp && states.master > 0 && (!model.lean || shard_ranks > 1);
  if (fp32_weights || model.lean) states.gradients = 4;
  keeps_embedding = fsdp;
  model.flash_attention = run.flag("flash_attention");
  model.fused_kernels = run.flag("fused_kernels");
  model.fused_softmax =
      model.fused_kernels &&
      backend::fused_softmax_works(run.model(), run->micro_batch, tensor, model.element);
  model.alternates = fsdp && !model.lean && model.flash_attention;
  model.logit_bytes = backend::framework_logit(run.text("cross_entropy"), model.element);
}

}  // namespace orch::zero3

ORCH_BACKEND(orch::zero3::Spec)
