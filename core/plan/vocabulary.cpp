#include "core/plan/vocabulary.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/plan/family.h"

namespace orch::plan {
namespace {

constexpr FieldEffect kNothing{};
constexpr FieldEffect kSpeed{true, false, false};
constexpr FieldEffect kCost{true, true, false};
constexpr FieldEffect kLoss{false, false, true};
constexpr FieldEffect kAll{true, true, true};
constexpr bool kPlanned = true;

// Accesses a value of a run through a chain of members.
template <auto... members>
Value read(const Run& run) {
  return (run.*....*members);
}

// Nothing where all models of the family have the same value.
template <Field size>
Value read_size(const Run& run) {
  return is_open(run.model, size) ? get(run.model, size) : Value();
}

// Adds the model's sizes that are not terms yet behind those that are.
std::vector<Term> with_sizes(std::vector<Term> terms) {
  const std::vector<Term> sizes{
#define ORCH_SIZE(type, name, value, min, max, doc) \
  {#name, #name, doc, "", kAll, read_size<Field::name>},
      ORCH_SIZES(ORCH_SIZE)
#undef ORCH_SIZE
  };
  const auto has = [&](std::string_view name) {
    return std::ranges::find(terms, name, &Term::name);
  };
  for (const auto& size : sizes)
    if (has(size.name) == terms.end()) terms.insert(has("tokens"), size);
  return terms;
}

}  // namespace

// Layouts, offload and recomputation compute the same numbers, up to rounding. A framework brings
// defaults of its own, from initialisation to schedules, so it can change the loss too.
const std::vector<Term>& vocabulary() {
  static const auto kTerms = with_sizes({
      {"id", "run", "a run's name", "", kNothing, read<&Run::id>, kPlanned},
      {"strategy", "strategy", "parallelism strategy", "", kAll,
       [](const Run& r) -> Value { return r.strategy->name; }},
      {"backend", "backend", "backend of the strategy", "", kNothing,
       [](const Run& r) -> Value { return r.strategy->backend; }, kPlanned},
      {"framework", "framework", "the software that trains", "", kAll, read<&Run::framework>},
      {"args", "args", "arguments of the framework", "", kAll,
       [](const Run& r) -> Value { return r.args.empty() ? Value() : Value(join(r.args, " ")); }},
      {"cluster", "cluster", "the machine", "site", kSpeed,
       [](const Run& r) -> Value { return r.cluster->name; }},
      {"partition", "partition", "partition of the cluster", "", kSpeed,
       [](const Run& r) -> Value { return r.partition->name; }},
      {"gpu", "GPU", "the kind of GPU", "", kCost,
       [](const Run& r) -> Value { return r.partition->gpu.name; }},
      {"gpus", "GPUs", "number of GPUs", "", kCost, read<&Run::gpus>},
      {"nodes", "nodes", "number of nodes", "", kSpeed, read<&Run::nodes>},
      {"gpus_per_node", "GPUs/node", "GPUs of a node", "", kSpeed,
       [](const Run& r) -> Value { return r.partition->gpus_per_node; }},
      {"model", "model", "the model's name", "", kAll, read<&Run::model, &Model::name>},
      {"params", "params", "parameters of the model", "params_b", kAll,
       [](const Run& r) -> Value { return r.model.params(); }},
      {"active_params", "active", "parameters that are active for a token of a mixture", "", kAll,
       [](const Run& r) -> Value {
         return r.model.mixture() ? Value(r.model.active_params()) : Value();
       },
       kPlanned},
      {"layers", "layers", "layers of the model", "", kAll, read<&Run::model, &Model::layers>},
      {"hidden", "hidden", "width of the model", "", kAll, read<&Run::model, &Model::hidden>},
      {"heads", "heads", "attention heads", "", kAll, read<&Run::model, &Model::heads>},
      {"head_dim", "head dim", "width of a head", "", kAll, read<&Run::model, &Model::head_dim>,
       kPlanned},
      {"vocab", "vocab", "size of the vocabulary", "", kAll, read<&Run::model, &Model::vocab>},
      {"seq", "seq", "sequence length", "", kAll, read<&Run::model, &Model::seq>},
      {"tokens", "tokens", "tokens to train on", "", kLoss, read<&Run::tokens>, kPlanned},
      {"tensor_parallel", "TP", "tensor-parallel ranks", "tp", kCost,
       read<&Run::layout, &Layout::tensor_parallel>},
      {"pipeline_parallel", "PP", "pipeline stages", "pp", kCost,
       read<&Run::layout, &Layout::pipeline_parallel>},
      {"data_parallel", "DP", "data-parallel ranks", "dp", kCost,
       read<&Run::layout, &Layout::data_parallel>},
      {"interleave", "interleave", "model chunks per stage", "", kCost},
      {"micro_batch", "micro", "sequences per micro-batch", "mbs", kCost,
       read<&Run::batch, &Batch::micro_batch>},
      {"accumulate", "accum", "micro-batches per step", "gas", kCost,
       read<&Run::batch, &Batch::accumulate>},
      {"global_batch", "global", "sequences per step", "gbs", kAll,
       read<&Run::batch, &Batch::global_batch>},
      {"stage", "stage", "ZeRO stage", "", kCost},
      {"zero_stage", "ZeRO", "ZeRO stage", "", kCost},
      {"offload", "offload", "what is offloaded to the host", "", kCost},
      {"offload_activations", "offload act.", "activations on the host", "", kCost},
      {"recompute", "recompute", "what is recomputed", "act_ckpt", kCost},
      {"flash_attention", "flash", "fused attention", "flash_attn", kCost},
      {"sequence_parallel", "SP", "sequence parallelism", "", kCost},
      {"dtype", "dtype", "number format of the matrix products", "", kAll},
      {"optimizer", "optimizer", "optimizer", "", kAll},
      {"compression", "compression", "of gradients", "grad_compression", kAll},
      {"master_weights", "master", "fp32 master weights", "", kAll},
      {"fp32_accumulate", "fp32 acc.", "gradients are accumulated in fp32", "", kAll},
      {"launch_blocking", "blocking", "CUDA_LAUNCH_BLOCKING", "", kSpeed},
      {"partition_method", "partition by", "how layers are distributed to stages", "", kCost},
  });
  return kTerms;
}

bool is_of_model(std::string_view name) {
  return name == "model" || name == "params" ||
         std::ranges::any_of(kSizes, [&](const auto& size) { return name == size.name; });
}

const Term* find_term(std::string_view name) {
  for (const auto& term : vocabulary())
    if (term.name == name) return &term;
  return nullptr;
}

}  // namespace orch::plan
