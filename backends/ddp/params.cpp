#include "backends/ddp/settings.h"
#include "backends/ddp/setup.h"
#include "core/base/multiples.h"

namespace orch::ddp {

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

DdpSetup::DdpSetup(const backend::BackendRun& run)
    : model(backend::transformer(run)), micro_batches(run->accumulate), ranks(run->data_parallel) {
  const auto asked = settings.compression(run);
  powersgd.rank = static_cast<double>(settings.powersgd_rank(run));
  powersgd.min_rate = settings.powersgd_min_compression_rate(run);
  if (settings.engine(run) == "orch") {
    model.make_lean(1);
    model.sizes.vocab = round_up(model.sizes.vocab, 128);
    model.vocab = model.padded_vocab = static_cast<double>(model.sizes.vocab);
  }
  bucket = settings.bucket_mb(run) * 1048576;
  overlap = settings.overlap(run);
  bucket_view = settings.gradient_as_bucket_view(run);
  dtype = settings.dtype(run).data();
  states = backend::states(dtype, settings.optimizer(run), model);
  const bool master = settings.master_weights(run);
  autocast = master && model.element < 4;
  if (autocast) states.gradients = 4;
  if (!master && model.element < 4) {
    states.master = 0;
    if (!states.adafactor) states.moments = 2 * model.element;
  }
  if (asked == "powersgd") compression = Compression::powersgd;
  // No gain if gradients already have 16 bits.
  if (asked == "fp16" && states.gradients > 2) compression = Compression::fp16;
  if (asked == "bf16" && states.gradients > 2) compression = Compression::bf16;
}

// The half that orch loads.
struct DdpSpec final : backend::SetupSpec<DdpSetup> {
  DdpSpec()
      : SetupSpec("ddp", "0.1.0", "Replicas of the whole model that average their gradients",
                  {{"ddp", "the whole model on every rank, gradients averaged once per step",
                    settings.all()}}) {}
};

}  // namespace orch::ddp

ORCH_BACKEND(orch::ddp::DdpSpec)
