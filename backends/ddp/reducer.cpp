#include "backends/ddp/reducer.h"

#include <ATen/ATen.h>

#include <stdexcept>

namespace orch::ddp {
namespace {

std::vector<train::BucketRange> buckets_for(const train::Parameters& parameters,
                                            const train::BucketOptions& options) {
  const auto& flat = parameters.gradients();
  return train::buckets_of({{parameters.begin(), parameters.end()}, flat.numel()},
                           static_cast<std::int64_t>(flat.element_size()), options);
}

train::ReducerOptions with_type(const train::Parameters& parameters,
                                const CompressingOptions& options) {
  train::ReducerOptions plain = options;
  if (parameters.gradients().scalar_type() != at::kFloat) return plain;
  if (options.compression == Compression::fp16) plain.sent_as = at::kHalf;
  if (options.compression == Compression::bf16) plain.sent_as = at::kBFloat16;
  return plain;
}

std::unique_ptr<train::BucketHook> hook_of(train::Parameters& parameters, train::CommGroup& data,
                                           const CompressingOptions& options) {
  if (options.compression != Compression::powersgd) return {};
  return std::make_unique<PowerSgdHook>(parameters, data, options.powersgd);
}

}  // namespace

Compression parse_compression(const std::string& name) {
  if (name == "none") return Compression::none;
  if (name == "fp16") return Compression::fp16;
  if (name == "bf16") return Compression::bf16;
  if (name == "powersgd") return Compression::powersgd;
  throw std::invalid_argument("compression '" + name + "': use none, fp16, bf16 or powersgd");
}

CompressingReducer::CompressingReducer(train::Parameters& parameters, train::CommGroup& data,
                                       const CompressingOptions& options)
    : train::Reducer(parameters, data, buckets_for(parameters, options.buckets),
                     with_type(parameters, options), hook_of(parameters, data, options)) {}

std::vector<train::OptimizerState> CompressingReducer::states() {
  auto* powersgd = dynamic_cast<PowerSgdHook*>(hook());
  return powersgd ? powersgd->states() : std::vector<train::OptimizerState>{};
}

double CompressingReducer::error_bytes() const {
  const auto* powersgd = dynamic_cast<const PowerSgdHook*>(hook());
  return powersgd ? powersgd->error_bytes() : 0;
}

}  // namespace orch::ddp
