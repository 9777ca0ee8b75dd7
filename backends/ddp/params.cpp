#include "backends/ddp/setup.h"

namespace orch::ddp {

using backend::boolean, backend::choice, backend::integer, backend::real;

std::array<Matrix, 4> layer_matrices(const plan::Model& model) {
  const auto h = static_cast<double>(model.hidden), ffn = static_cast<double>(model.ffn_hidden);
  return {{{model.q_width() + model.kv_width(), h},
           {h, model.value_width()},
           {model.up_width(ffn), h},
           {h, ffn}}};
}

std::vector<Matrix> end_matrices(const plan::Model& model) {
  const auto hidden = static_cast<double>(model.hidden);
  std::vector<Matrix> all(model.tied ? 1 : 2, {static_cast<double>(model.vocab), hidden});
  if (model.learned_positions()) all.push_back({static_cast<double>(model.seq), hidden});
  return all;
}

std::vector<backend::StrategySpec> Spec::strategies() const {
  return {{"ddp",
           "the whole model on every rank, gradients averaged once per step",
           {
               choice("compression", "of gradients on the network",
                      {"none", "fp16", "bf16", "powersgd"}),
               integer("powersgd_rank", "of the factors that are sent", 1)
                   .range(1, 65536)
                   .of("compression", "powersgd"),
               integer("powersgd_start", "steps before compression begins", 10)
                   .range(0, 1e9)
                   .of("compression", "powersgd"),
               real("powersgd_min_compression_rate", "a matrix that shrinks less is sent whole", 2)
                   .range(0, 1e6)
                   .of("compression", "powersgd"),
               choice("engine",
                      "who trains, for the estimate: orch itself, or PyTorch's DDP",
                      {"orch", "framework"}),
               choice("optimizer", "adamw keeps two moments, adafactor their row and column means",
                      {"adamw", "adafactor"}),
               real("bucket_mb", "gradients reduced at a time, in MiB", 25).range(0.001, 1e6),
               boolean("overlap", "reduce gradients under the last backward", true),
               boolean("gradient_as_bucket_view", "gradients live in the buckets, not beside them",
                       true),
               choice("recompute", "what backward computes again instead of keeping it",
                      {"none", "full", "selective"}),
               choice("dtype", "of the matrix products", {"bf16", "fp16", "fp32", "tf32"}),
               boolean("master_weights",
                       "fp32 weights, gradients and moments beside the 16-bit weights", true),
               boolean("flash_attention",
                       "attention that keeps no scores; unless given, true in 16 bits on GPUs since 2020", false),
               boolean("fused_kernels", "softmax with mask and scale in one kernel", false),
               backend::cross_entropy(),
           }}};
}

// Our own trainer has words up to a multiple of 128.
static plan::Model sizes_of(const backend::RunView& run) {
  auto sizes = run.model();
  if (run.text("engine") == "orch") sizes.vocab = round_up(sizes.vocab, 128);
  return sizes;
}

Setup::Setup(const backend::RunView& run)
    : model(backend::transformer(sizes_of(run), run->micro_batch)),
      micro_batches(run->accumulate),
      ranks(run->data_parallel) {
  const auto asked = run.text("compression");
  powersgd.rank = static_cast<double>(run.integer("powersgd_rank"));
  powersgd.min_rate = run.real("powersgd_min_compression_rate");
  if (run.text("engine") == "orch") model.make_lean(1);
  const auto optimizer = run.text("optimizer");
  bucket = run.real("bucket_mb") * 1048576;
  overlap = run.flag("overlap");
  bucket_view = run.flag("gradient_as_bucket_view");
  model.recompute = backend::recompute_of(run.text("recompute"));
  dtype = run.text("dtype").data();
  model.element = backend::element_bytes(dtype);
  states = backend::states(dtype, optimizer, model);
  const bool master = run.flag("master_weights");
  autocast = master && model.element < 4;
  if (autocast) states.gradients = 4;
  if (!master && model.element < 4) {
    states.master = 0;
    if (!states.adafactor) states.moments = 2 * model.element;
  }
  model.flash_attention = run.flag("flash_attention");
  model.fused_kernels = run.flag("fused_kernels");
  model.fused_softmax = model.fused_kernels && backend::fused_softmax_works(
                                                   run.model(), run->micro_batch, 1, model.element);
  model.logit_bytes = backend::framework_logit(run.text("cross_entropy"), model.element);
  if (asked == "powersgd") compression = Compression::powersgd;
  // Nothing is gained where gradients have 16 bits already.
  if (asked == "fp16" && states.gradients > 2) compression = Compression::fp16;
  if (asked == "bf16" && states.gradients > 2) compression = Compression::bf16;
}

}  // namespace orch::ddp

ORCH_BACKEND(orch::ddp::Spec)
