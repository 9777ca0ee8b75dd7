#pragma once

#include "backends/runtime/model/attention.h"
#include "backends/runtime/model/norm.h"
#include "backends/runtime/model/options.h"
#include "backends/runtime/model/profile.h"

namespace orch::train {

// The position of a micro-batch, on which dropout depends besides the layer.
struct LayerPlace {
  std::int64_t step = 0;
  std::int64_t first_sample = 0;
  std::int64_t seq = 0;
  std::int64_t first_row = 0;  // of this rank's rows, with sequence parallelism
};

// What backward needs of one micro-batch's forward.
struct SavedBlock {
  at::Tensor x;
  NormOutput norm1;
  AttentionSaved attention;
  at::Tensor attended;
  AddedNormOutput norm2;
  ActivatedProduct mlp;

  std::int64_t bytes() const;
};

// A pre-norm transformer block made of the model's parts: attention and an MLP, each added to the
// stream.
class TransformerBlock {
 public:
  // attention is shared by all blocks and must outlive them.
  TransformerBlock(const ModelOptions& options, std::int64_t layer, Parameters& parameters,
                   const Attention& attention, Profile* profile);

  // saved: null in evaluation, which has no dropout.
  ResidualStream forward(const ResidualStream& in, const LayerPlace& place,
                         SavedBlock* saved) const;
  // From the gradient of the stream after the block to that before it. Empties `saved`.
  at::Tensor backward(const at::Tensor& dy, const LayerPlace& place, SavedBlock& saved,
                      const Gradients& gradients) const;

  static std::vector<ParameterSpec> specs(const plan::Model& model,
                                          std::int64_t layer);  // in backward's order

 private:
  struct Linear {
    std::size_t weight = 0;
    std::optional<std::size_t> bias = {};
  };
  Linear find(const char* what, bool has_bias) const;
  void compute_again(const LayerPlace& place, SavedBlock& saved) const;
  // Computes up to the output of the activation function.
  void forward_from(const NormOutput& norm1, const LayerPlace& place, bool drops,
                    SavedBlock& saved) const;
  at::Tensor mlp_backward(const at::Tensor& dy, const LayerPlace& place, SavedBlock& saved,
                          const Gradients& gradients) const;
  at::Tensor attention_backward(const at::Tensor& dy, const LayerPlace& place, SavedBlock& saved,
                                const Gradients& gradients) const;
  // Applies a row-parallel product; and computes the gradients of its weight and bias, returning
  // all rows of dy.
  at::Tensor apply_row(const Linear& linear, const at::Tensor& x, const char* item) const;
  at::Tensor row_gradients(const Linear& linear, const at::Tensor& dy, const at::Tensor& x,
                           const char* item, const Gradients& gradients,
                           bool has_bias_gradient) const;
  // Backward of a column-parallel product: dy is the gradient of its output, x this rank's rows of
  // its input. The gradient of its bias is already computed.
  at::Tensor column_backward(const Linear& linear, const at::Tensor& dy, const at::Tensor& x,
                             const char* item, const Gradients& gradients) const;
  void add_weight_gradient(std::size_t parameter, const at::Tensor& dy, const at::Tensor& x,
                           const Gradients& gradients) const;
  Dropout dropout_at(int site, const LayerPlace& place) const;
  AttentionPlace attention_at(const LayerPlace& place, bool drops) const;
  HeadNorms head_norms() const;
  HeadNorms head_norm_gradients() const;
  using Index = std::optional<std::size_t>;
  at::Tensor weight(Index index) const {  // undefined if there is none
    return index ? (*parameters_)[*index].weight : at::Tensor();
  }
  at::Tensor gradient(Index index) const {
    return index ? (*parameters_)[*index].gradient : at::Tensor();
  }

  ModelOptions options_;
  std::int64_t layer_;
  Parameters* parameters_;
  const Attention* attention_;
  Profile* profile_;
  Norm norm1_, norm2_;
  Linear qkv_, out_, up_, down_;
  std::optional<std::size_t> q_norm_, k_norm_;
};

// A stream's key for dropout: different for every dropout of every layer in every step.
std::uint64_t dropout_key(std::int64_t seed, std::int64_t step, std::int64_t layer, int site);

}  // namespace orch::train
