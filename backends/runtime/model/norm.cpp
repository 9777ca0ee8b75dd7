#include "backends/runtime/model/norm.h"

#include <ATen/ATen.h>

namespace orch::train {

at::Tensor ResidualStream::sum() const {
  return pending.defined() ? residual + ops::dropout(pending, dropout) : residual;
}

std::vector<ParameterSpec> Norm::specs(const plan::Model& model, const std::string& name) {
  std::vector<ParameterSpec> specs = {
      {name + ".weight", {model.hidden}, -1, WeightInit::ones, false}};
  if (!model.rms_norm)
    specs.push_back({name + ".bias", {model.hidden}, -1, WeightInit::zeros, false});
  return specs;
}

Norm::Norm(const plan::Model& model, Parameters& parameters, const std::string& name)
    : parameters_(&parameters),
      kind_(model.rms_norm ? NormKind::rms : NormKind::layer),
      epsilon_(model.norm_epsilon),
      weight_(parameters.index(name + ".weight")) {
  if (kind_ == NormKind::layer) bias_ = parameters.index(name + ".bias");
}

NormWeights Norm::weights() const {
  return {kind_, (*parameters_)[weight_].weight,
          bias_ ? (*parameters_)[*bias_].weight : at::Tensor(), epsilon_};
}

NormOutput Norm::forward(const at::Tensor& x) const { return ops::norm(x, weights()); }

AddedNormOutput Norm::forward(const ResidualStream& stream, bool drops) const {
  if (!stream.pending.defined()) return {stream.residual, forward(stream.residual)};
  return ops::add_norm(stream.pending, stream.residual, weights(),
                       drops ? stream.dropout : Dropout());
}

at::Tensor Norm::backward(const at::Tensor& dy, const at::Tensor& x, const NormOutput& normed,
                          const at::Tensor& residual, const Gradients& gradients,
                          const at::Tensor& sums) const {
  auto dx =
      ops::norm_backward(dy, x, normed, weights(), (*parameters_)[weight_].gradient,
                         bias_ ? (*parameters_)[*bias_].gradient : at::Tensor(), residual, sums);
  gradients.tell(weight_);
  if (bias_) gradients.tell(*bias_);
  return dx;
}

}  // namespace orch::train
