#pragma once

#include <optional>

#include "backends/runtime/model/parameters.h"
#include "backends/runtime/model/parts.h"
#include "backends/runtime/model/stream.h"

namespace orch::train {

// A norm over the stream's rows, of the model's kind, with its parameters.
class Norm {
 public:
  // parameters must outlive it, and contain specs(model, name).
  Norm(const plan::Model& model, Parameters& parameters, const std::string& name);
  static std::vector<ParameterSpec> specs(const plan::Model& model,
                                          const std::string& name);  // in backward's order

  NormOutput forward(const at::Tensor& x) const;
  // Adds up the stream in the same pass.
  AddedNormOutput forward(const ResidualStream& stream, bool drops) const;
  // From the gradient of the norm's output to that of x, plus `residual` if it is defined; sums:
  // see ops::norm_backward.
  at::Tensor backward(const at::Tensor& dy, const at::Tensor& x, const NormOutput& normed,
                      const at::Tensor& residual, const Gradients& gradients,
                      const at::Tensor& sums = {}) const;

 private:
  NormWeights weights() const;

  Parameters* parameters_;
  NormKind kind_;
  double epsilon_;
  std::size_t weight_;
  std::optional<std::size_t> bias_;
};

}  // namespace orch::train
