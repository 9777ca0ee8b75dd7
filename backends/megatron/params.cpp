#include <algorithm>
#include <cmath>

#include "backends/megatron/offload.h"
#include "backends/megatron/settings.h"
#include "backends/megatron/setup.h"
#include "core/base/multiples.h"

namespace orch::megatron {
namespace {

using namespace pipeline;

// The expected number of these nodes that have an expert of a token, if experts are chosen at
// random; limited to the number of nodes from which the router may choose.
double visited_nodes(const backend::BackendRun& run, double nodes) {
  const auto chosen = static_cast<double>(run.model().experts_per_token);
  const auto any_of = [&](double places) {
    return places * (1 - std::pow(1 - 1 / places, chosen));
  };
  // Within one node: the number of its ranks.
  if (nodes <= 1) return any_of(static_cast<double>(settings.expert_parallel(run)));
  const double any = any_of(nodes);
  const auto most = static_cast<double>(settings.nodes_limit(run));
  return most > 0 ? std::min(any, most) : any;
}

// The layers of each stage, where those of each chunk are given in the order of the layers.
std::vector<std::int64_t> sums_by_stage(const std::vector<std::int64_t>& chunks,
                                        std::int64_t stages) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(stages), 0);
  for (std::size_t i = 0; i < chunks.size(); ++i)
    sums[i % static_cast<std::size_t>(stages)] += chunks[i];
  return sums;
}

backend::CudaGraphs graphs_of(std::string_view choice) {
  return choice == "all"         ? backend::CudaGraphs::all
         : choice == "attention" ? backend::CudaGraphs::attention
         : choice == "router"    ? backend::CudaGraphs::router
                                 : backend::CudaGraphs::none;
}

}  // namespace

MegatronSetup::MegatronSetup(const backend::BackendRun& run)
    : engine(engine_traits(settings.engine(run))),
      tensor(run->tensor_parallel),
      pipeline(run->pipeline_parallel),
      data(run->data_parallel * run->context_parallel),
      experts(settings.expert_parallel(run)),
      expert_tensor(settings.expert_tensor_parallel(run)),
      chunks(settings.interleave(run)),
      micro_batches(run->accumulate),
      model(backend::transformer(run, engine.fp32_logits)) {
  model.expert_parallel = static_cast<double>(experts);
  if (expert_tensor == 0) expert_tensor = tensor;
  model.expert_tensor_parallel = static_cast<double>(expert_tensor);
  model.overlap_experts = settings.overlap_experts(run);
  cuda_graphs = settings.cuda_graphs(run), model.graphs = graphs_of(cuda_graphs);
  mtp_layers = settings.mtp_layers(run);
  model.heads_of_vocab = 1 + static_cast<double>(mtp_layers);
  if (const auto masks = settings.dropout_masks(run); masks != "usual")
    model.drops_out = masks == "yes";
  if (settings.expert_dispatch(run) == "nodes")
    model.expert_nodes = visited_nodes(
        run, static_cast<double>(experts * expert_tensor) / static_cast<double>(run.domain()));
  const bool ends = settings.stage_partition(run) == "transformer|embedding";
  partition_rule = settings.partition_rule(run), stage_layers = settings.stage_layers(run);
  partition = {run.model().layers, pipeline, ends, partition_rule != "portions",
               parse_layers(stage_layers)};
  if (partition_rule == "costs" && stage_layers.empty())
    partition.listed = dealt_by_cost(run.model().layers, pipeline,
                                     run.model().embedding_params() / run.model().layer_params());
  const std::int64_t places = pipeline * chunks;
  if (engine.takes_uneven_chunks && chunks > 1 && pipeline > 1 &&
      static_cast<std::int64_t>(partition.listed.size()) == places) {
    uneven = std::move(partition.listed);
    partition.listed = sums_by_stage(uneven, pipeline);
  }
  if (engine.takes_uneven_chunks && chunks > 1 && pipeline > 1 && partition.listed.empty() &&
      partition.items() % places != 0) {
    uneven = uneven_chunks(partition, chunks);
    partition.listed = sums_by_stage(uneven, pipeline);
  }
  if (engine.lean) model.make_lean(data);
  model.core = engine.core, model.eager = engine.eager;
  model.keeps_gathered = engine.takes_keep_gathered && settings.keep_gathered(run);
  model.overheads *= engine.overheads;
  asks_sequence_parallel = settings.sequence_parallel(run);
  model.sequence_parallel = asks_sequence_parallel && tensor > 1;
  model.overlap_tensor = settings.overlap_tensor(run);
  recompute_modules = settings.recompute_modules(run);
  if (engine.takes_modules) model.modules = backend::parse_modules(recompute_modules).modules;
  dtype = settings.dtype(run).data();
  zero_stage = settings.zero_stage(run);
  offload_optimizer = settings.offload(run) == "optimizer";
  offload_activations = settings.offload_activations(run);
  offload_layers = settings.offload_layers(run), offload_modules = settings.offload_modules(run);
  if (offload_activations)
    away_modules = backend::parse_modules(offload_modules, kOffloaded).modules;
  fp32_accumulate = settings.fp32_accumulate(run);
  states = backend::states(dtype, settings.optimizer(run), model);
  copied_gradients = engine.copies_fp16 && !fp32_accumulate && std::string_view(dtype) == "fp16";
  const bool keeps_made = engine.made == GradientType::as_asked     ? !fp32_accumulate
                          : engine.made == GradientType::if_sharded ? zero_stage > 0
                                                                    : data > 1;
  if (!keeps_made) states.gradients = 4;
  vocab_multiple = settings.vocab_multiple(run);
  model.padded_vocab = static_cast<double>(round_up(run.model().vocab, vocab_multiple * tensor));
  overlap_grad_reduce = settings.overlap_grad_reduce(run) ||
                        (engine.reduces_under_backward && (zero_stage == 0 || !fp32_accumulate)) ||
                        scatters_each();  // Megatron-FSDP always does
  overlap_param_gather = settings.overlap_param_gather(run) || zero_stage == 3;
  asks_fill_bubbles = settings.fill_bubbles(run);
  fill_bubbles = asks_fill_bubbles && pipeline > 1 && chunks == 1;
  if (settings.launch_blocking(run)) {
    // A host that waits for each kernel pays the launches a second time and cannot hide anything.
    model.overheads *= 2;
    overlap_grad_reduce = overlap_param_gather = false;
  }
  if (!run.model().mixture() || run.model().dense_layers == 0) return;
  mixed = dense = model;
  mixed->sizes.dense_layers = 0;
  dense->sizes.experts = 0;
  std::int64_t left = run.model().dense_layers;
  for (std::int64_t chunk = 0; chunk < chunks && left > 0; ++chunk)
    for (std::int64_t stage = 0; stage < pipeline && left > 0; ++stage) {
      const auto at = static_cast<std::size_t>(stage);
      if (at == dense_layers.size()) dense_layers.push_back(0);
      const std::int64_t mine = std::min(left, layers_of(stage, chunk));
      dense_layers[at] += mine;
      left -= mine;
    }
}

// The half that orch loads.
struct MegatronSpec final : backend::SetupSpec<MegatronSetup> {
  MegatronSpec()
      : SetupSpec("megatron", "0.1.0",
                  "Layers split over the GPUs of a node, stages over nodes, batches over both",
                  {{"megatron", "tensor, pipeline and data parallelism, with or without ZeRO",
                    settings.all()}}) {}
};

}  // namespace orch::megatron

ORCH_BACKEND(orch::megatron::MegatronSpec)
