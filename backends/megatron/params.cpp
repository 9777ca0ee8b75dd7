#include <algorithm>
#include <cmath>

#include "backends/megatron/setup.h"
#include "core/base/multiples.h"

namespace orch::megatron {
namespace {

// Of so many nodes, those that have some expert of a token, if it chooses them at random; where its router
// may only choose from some of them, those.
double visited_nodes(const backend::RunView& run, double nodes) {
  const auto chosen = static_cast<double>(run.model().experts_per_token);
  const auto any_of = [&](double places) { return places * (1 - std::pow(1 - 1 / places, chosen)); };
  // Inside one node: its ranks.
  if (nodes <= 1) return any_of(static_cast<double>(run.integer("expert_parallel")));
  const double any = any_of(nodes);
  const auto most = static_cast<double>(run.integer("nodes_limit"));
  return most > 0 ? std::min(any, most) : any;
}

}  // namespace

using backend::boolean, backend::choice, backend::integer, backend::text;

std::vector<backend::StrategySpec> Spec::strategies() const {
  return {
      {"megatron",
       "tensor, pipeline and data parallelism, with or without ZeRO-1",
       {
           integer("tensor_parallel", "ranks that share each layer", 1).range(1, 65536),
           integer("pipeline_parallel", "stages that the layers are dealt to", 1).range(1, 65536),
           integer("context_parallel", "ranks that share each sample (planned, not trained here)", 1)
               .range(1, 65536),
           integer("expert_parallel",
                   "ranks that a layer's experts are distributed to: of those of the data and the context, and of "
                   "tensor_parallel too where expert_tensor_parallel is less", 1)
               .range(1, 65536),
           integer("expert_tensor_parallel",
                   "ranks that share each expert; 0: as tensor_parallel, 1: experts stay whole (planned, not trained "
                   "here)", 0)
               .range(0, 65536),
           choice("expert_dispatch",
                  "copies: a token travels to each of its experts; nodes: once to each node that has some, as "
                  "DeepEP",
                  {"copies", "nodes"}),
           integer("nodes_limit", "nodes that a token's router may choose from; 0: all", 0)
               .range(0, 65536)
               .of("expert_dispatch", "nodes"),
           boolean("overlap_experts", "tokens travel under the products of another micro-batch", false),
           integer("interleave", "model chunks per stage", 1).range(1, 1024),
           choice("stage_partition",
                  "what is dealt evenly to the stages: layers, or embeddings too",
                  {"uniform", "transformer|embedding"}),
           choice("partition_rule",
                  "balanced: stages differ by one at most; portions: rounded up until none is left, as "
                  "DeepSpeed before 0.12.5; costs: the head counts as the layers that it weighs as much "
                  "as, as nanotron",
                  {"balanced", "portions", "costs"}),
           text("stage_layers", "layers of each stage, such as '7,7,6'; '': they are dealt", ""),
           choice("engine",
                  "who trains, for the estimate: orch itself, Megatron-LM, Megatron-DeepSpeed, whose "
                  "pipeline waits and checks at each hand-over, or nanotron",
                  {"orch", "megatron", "deepspeed", "nanotron"}),
           boolean("sequence_parallel", "shard norms and dropout along the sequence", false),
           boolean("overlap_tensor",
                   "gathers and scatters of sequence_parallel run under the products beside them, as Megatron's "
                   "--tp-comm-overlap (planned, not trained here)",
                   false),
           choice("recompute", "what backward computes again instead of keeping it",
                  {"full", "selective", "none"}),
           text("recompute_modules",
                "with recompute = 'selective' and engine = 'megatron', what is computed again, such as "
                "'layernorm+mla_up_proj+moe_act': core_attn, mla_up_proj, layernorm, mlp, moe_act, moe; '': core_attn "
                "(its inside alone)", ""),
           choice("dtype",
                  "of weights and activations; fp8, or another that the GPU has a peak of: what products read "
                  "(planned, not trained here)",
                  {"bf16", "fp16", "fp32", "tf32", "fp8"}),
           integer("zero_stage", "1 shards the optimizer over data-parallel ranks", 0).range(0, 1),
           choice("offload", "optimizer: its states live and are updated on the host",
                  {"none", "optimizer"}),
           boolean("fp32_accumulate", "sum 16-bit gradients in fp32: 4 bytes per parameter", false),
           boolean("flash_attention",
                   "attention that keeps no scores; unless given, true in 16 bits on GPUs since 2020", false),
           boolean("fused_kernels", "softmax with mask and scale in one kernel", true),
           backend::cross_entropy(),
           choice("optimizer", "adamw keeps two moments, adafactor their row and column means",
                  {"adamw", "adafactor"}),
           integer("vocab_multiple",
                   "the vocabulary is padded to a multiple of this times tensor_parallel", 128)
               .range(1, 65536),
           boolean("overlap_grad_reduce", "reduce gradients under the last backward", false),
           boolean("overlap_param_gather",
                   "with zero_stage = 1: gather updated weights under the next forward", false),
           boolean("fill_bubbles", "weight gradients wait for a pipeline's idle moments", false),
           boolean("launch_blocking", "wait for each kernel (CUDA_LAUNCH_BLOCKING=1)", false),
       }}};
}

// In the order of the description.
Setup::Setup(const backend::RunView& run)
    : engine(engine_traits(run.text("engine"))),
      tensor(run->tensor_parallel),
      pipeline(run->pipeline_parallel),
      data(run->data_parallel * run->context_parallel),
      experts(run.integer("expert_parallel")),
      expert_tensor(run.integer("expert_tensor_parallel")),
      chunks(run.integer("interleave")),
      micro_batches(run->accumulate),
      model(backend::transformer(run.model(), run->micro_batch)) {
  model.tensor_parallel = static_cast<double>(tensor);
  model.context_parallel = static_cast<double>(run->context_parallel);
  model.expert_parallel = static_cast<double>(experts);
  if (expert_tensor == 0) expert_tensor = tensor;
  model.expert_tensor_parallel = static_cast<double>(expert_tensor);
  model.overlap_experts = run.flag("overlap_experts");
  if (run.text("expert_dispatch") == "nodes")
    model.expert_nodes = visited_nodes(run, static_cast<double>(experts * expert_tensor) / static_cast<double>(run.domain()));
  const bool ends = run.text("stage_partition") == "transformer|embedding";
  partition_rule = run.text("partition_rule"), stage_layers = run.text("stage_layers");
  partition = {run.model().layers, pipeline, ends, partition_rule != "portions",
               parse_layers(stage_layers)};
  if (partition_rule == "costs" && stage_layers.empty())
    partition.listed = dealt_by_cost(
        run.model().layers, pipeline, run.model().embedding_params() / run.model().layer_params());
  const std::int64_t places = pipeline * chunks;
  if (engine.takes_uneven_chunks && chunks > 1 && pipeline > 1 && partition.listed.empty() && partition.items() % places != 0) {
    uneven = uneven_chunks(partition, chunks);
    partition.listed.assign(static_cast<std::size_t>(pipeline), 0);
    for (std::size_t i = 0; i < uneven.size(); ++i)
      partition.listed[i % static_cast<std::size_t>(pipeline)] += uneven[i];
  }
  if (engine.lean) model.make_lean(data);
  model.core = engine.core, model.eager = engine.eager;
  model.overheads *= engine.overheads;
  asks_sequence_parallel = run.flag("sequence_parallel");
  model.sequence_parallel = asks_sequence_parallel && tensor > 1;
  model.overlap_tensor = run.flag("overlap_tensor");
  model.recompute = backend::recompute_of(run.text("recompute"));
  recompute_modules = run.text("recompute_modules");
  if (engine.takes_modules) model.modules = backend::parse_modules(recompute_modules).modules;
  dtype = run.text("dtype").data();
  model.element = backend::element_bytes(dtype);
  model.narrow = backend::narrow_bytes(dtype);
  zero_stage = run.integer("zero_stage");
  offload_optimizer = run.text("offload") == "optimizer";
  fp32_accumulate = run.flag("fp32_accumulate");
  model.flash_attention = run.flag("flash_attention");
  fused_kernels = model.fused_kernels = run.flag("fused_kernels");
  model.fused_softmax = fused_kernels && backend::fused_softmax_works(run.model(), run->micro_batch,
                                                                      tensor, model.element);
  model.logit_bytes = backend::framework_logit(run.text("cross_entropy"), model.element, engine.fp32_logits);
  states = backend::states(dtype, run.text("optimizer"), model);
  copied_gradients = engine.copies_fp16 && !fp32_accumulate && std::string_view(dtype) == "fp16";
  const bool keeps_made = engine.made == Made::as_asked     ? !fp32_accumulate
                          : engine.made == Made::if_sharded ? zero_stage == 1
                                                            : data > 1;
  if (!keeps_made) states.gradients = 4;
  vocab_multiple = run.integer("vocab_multiple");
  model.padded_vocab = static_cast<double>(round_up(run.model().vocab, vocab_multiple * tensor));
  overlap_grad_reduce = run.flag("overlap_grad_reduce") ||
                        (engine.reduces_under_backward && (zero_stage == 0 || !fp32_accumulate));
  overlap_param_gather = run.flag("overlap_param_gather");
  asks_fill_bubbles = run.flag("fill_bubbles");
  fill_bubbles = asks_fill_bubbles && pipeline > 1 && chunks == 1;
  if (run.flag("launch_blocking")) {
    // A host that waits for each kernel pays the launches a second time and hides nothing.
    model.overheads *= 2;
    overlap_grad_reduce = overlap_param_gather = false;
  }
  if (!run.model().mixture() || run.model().dense_layers == 0) return;
  mixed = dense = model;
  mixed->sizes.dense_layers = 0;
  dense->sizes.experts = 0;
}

// Dense layers come first, so the walk ends early.
std::int64_t Setup::dense_on(std::int64_t stage) const {
  if (!dense) return 0;
  std::int64_t left = model.sizes.dense_layers, found = 0;
  for (std::int64_t chunk = 0; chunk < chunks && left > 0; ++chunk)
    for (std::int64_t each = 0; each < pipeline && left > 0; ++each) {
      const std::int64_t mine = std::min(left, layers_of(each, chunk));
      if (each == stage) found += mine;
      left -= mine;
    }
  return found;
}

}  // namespace orch::megatron

ORCH_BACKEND(orch::megatron::Spec)
