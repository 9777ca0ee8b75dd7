#include <algorithm>

#include "backends/zero3/settings.h"
#include "backends/zero3/setup.h"
#include "core/base/multiples.h"

namespace orch::zero3 {

std::vector<backend::StrategySpec> Spec::strategies() const {
  const auto& all = settings;
  return {
      {"zero3", "weights, gradients and optimizer sharded over all ranks (ZeRO stage 3)",
       all.with_common({all.offload, all.offload_fraction, all.prefetch})},
      {"fsdp", "fully sharded data parallelism as in PyTorch",
       all.with_common({all.sharding, all.hybrid_shard_group, all.fsdp_offload, all.prefetch})},
      {"deepspeed", "ZeRO as in DeepSpeed; the stage must be said",
       all.with_common({all.stage, all.offload, all.offload_fraction, all.prefetch})},
  };
}

Setup::Setup(const backend::RunView& run)
    : model(backend::transformer(run)),
      micro_batches(run->accumulate),
      ranks(run->data_parallel * run->context_parallel),
      shard_ranks(ranks),
      tensor(run->tensor_parallel) {
  const bool fsdp = run.strategy() == "fsdp";
  if (run.strategy() == "deepspeed") stage = settings.stage(run);
  offload = offload_of(settings.offload(run));
  if (fsdp) {
    const auto sharding = settings.sharding(run);
    regather = sharding != "grad_op";
    if (sharding == "hybrid") {
      const std::int64_t asked = settings.hybrid_shard_group(run);
      shard_ranks = std::min(
          asked > 0 ? asked : std::max<std::int64_t>(1, run->gpus_per_node / tensor), ranks);
    }
  } else {
    offload_fraction = settings.offload_fraction(run);
  }
  if (settings.engine(run) == "orch") {
    model.make_lean(shard_ranks);
    model.padded_vocab = static_cast<double>(round_up(run.model().vocab, 128 * tensor));
  }
  prefetch = settings.prefetch(run);
  overlap = settings.overlap(run);
  fp32_reduce = settings.reduce_dtype(run) == "fp32";
  offload_activations = settings.offload_activations(run);
  scatters_twice = settings.tied_scatter(run) == "twice";
  dtype = settings.dtype(run).data();
  states = backend::states(dtype, settings.optimizer(run), model);
  fp32_weights = fsdp && states.master > 0 && (!model.lean || shard_ranks > 1);
  if (fp32_weights || model.lean) states.gradients = 4;
  keeps_embedding = fsdp;
  model.alternates = fsdp && !model.lean && model.flash_attention;
}

}  // namespace orch::zero3

ORCH_BACKEND(orch::zero3::Spec)
