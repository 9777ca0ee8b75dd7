#pragma once

#include <functional>

#include "backends/runtime/kernels/ops.h"
#include "backends/runtime/model/attention.h"
#include "backends/runtime/model/parameters.h"
#include "backends/runtime/model/profile.h"
#include "backends/runtime/model/tensor_axis.h"

namespace orch::train {

// selective: what is cheap to compute again is not kept: scores, norms, what GELU gives.
enum class Recompute { none, selective, full };
Recompute parse_recompute(const std::string& text);  // throws std::invalid_argument

// Told of each parameter whose gradient of this micro-batch is complete.
using Ready = std::function<void(std::size_t parameter)>;

// A gradient of a weight that is still to be computed: dy' x.
struct WeightProduct {
  std::size_t parameter;
  at::Tensor dy, x;
};

// What backward does with gradients of weights: it tells of each, or, given a list, puts off their
// products, to be told of by whoever computes them.
struct Gradients {
  Ready ready;
  std::vector<WeightProduct>* put_off = nullptr;

  void tell(std::size_t parameter) const {
    if (ready) ready(parameter);
  }
};

// What is between two blocks: residual + dropout(pending). The next norm adds them in its own pass.
struct Stream {
  at::Tensor residual;
  at::Tensor pending;  // undefined: nothing to add
  Dropout dropout;

  at::Tensor sum() const;
};

struct BlockOptions {
  std::int64_t layer = 0;
  std::int64_t hidden = 0;
  double dropout = 0;
  double attention_dropout = 0;
  Recompute recompute = Recompute::none;
  std::uint64_t seed = 0;
  TensorAxis axis;
};

// Where a micro-batch is: what dropout depends on besides the layer.
struct Place {
  std::int64_t step = 0;
  std::int64_t first_sample = 0;
  std::int64_t seq = 0;
  std::int64_t first_row = 0;  // of this rank's, with sequence parallelism
};

// What backward needs of one micro-batch's forward.
struct BlockSaved {
  at::Tensor x;
  Normed norm1;
  at::Tensor qkv;
  AttentionSaved attention;
  at::Tensor attended;
  AddedNorm norm2;
  Activated mlp;

  std::int64_t bytes() const;
};

// A pre-norm transformer block: attention and an MLP of four times the width, each added to the
// stream. GPT-2's and BLOOM's differ in the attention alone.
class Block {
 public:
  // attention is shared by all blocks and outlives them.
  Block(const BlockOptions& options, Parameters& parameters, const Attention& attention,
        Profile* profile);

  // saved: null in evaluation, which drops nothing.
  Stream forward(const Stream& in, const Place& place, BlockSaved* saved) const;
  // From the gradient of the stream after the block to the one before it. Empties `saved`.
  at::Tensor backward(const at::Tensor& dy, const Place& place, BlockSaved& saved,
                      const Gradients& gradients) const;

  static std::vector<ParameterSpec> specs(std::int64_t layer,
                                          std::int64_t hidden);  // backward's order

 private:
  struct Linear {
    std::size_t weight, bias;
  };
  void compute_again(const Place& place, BlockSaved& saved) const;
  // Up to what GELU gives.
  void forward_from(const Normed& norm1, const Place& place, bool drops, BlockSaved& saved) const;
  at::Tensor mlp_backward(const at::Tensor& dy, const Place& place, BlockSaved& saved,
                          const Gradients& gradients) const;
  at::Tensor attention_backward(const at::Tensor& dy, const Place& place, BlockSaved& saved,
                                const Gradients& gradients) const;
  // A product that is cut by rows, and its backward down to the gradient of what it was given.
  at::Tensor apply_row(const Linear& linear, const at::Tensor& x, const char* item) const;
  at::Tensor row_backward(const Linear& linear, const at::Tensor& dy, const at::Tensor& x,
                          const char* item, const Gradients& gradients) const;
  // Of one that is cut by columns: dy is of what it gave, x this rank's rows of what it was given.
  at::Tensor column_backward(const Linear& linear, const at::Tensor& dy, const at::Tensor& x,
                             const char* item, const Gradients& gradients) const;
  void add_weight_gradient(std::size_t parameter, const at::Tensor& dy, const at::Tensor& x,
                           const Gradients& gradients) const;
  Dropout dropout_at(int site, const Place& place) const;
  AttentionPlace attention_at(const Place& place, bool drops) const;
  const at::Tensor& weight(std::size_t index) const { return (*parameters_)[index].weight; }
  const at::Tensor& gradient(std::size_t index) const { return (*parameters_)[index].gradient; }

  BlockOptions options_;
  Parameters* parameters_;
  const Attention* attention_;
  Profile* profile_;
  Linear norm1_, qkv_, out_, norm2_, up_, down_;
};

// A stream's key for dropout: every site of every layer in every step has its own.
std::uint64_t dropout_key(std::uint64_t seed, std::int64_t step, std::int64_t layer, int site);

}  // namespace orch::train
