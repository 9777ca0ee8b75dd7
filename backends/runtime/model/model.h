#pragma once

#include "backends/runtime/model/block.h"
#include "core/plan/model.h"

namespace orch::train {

// A multiple of 128, so that products over it are aligned. The rows beyond vocab are never a target
// and get no probability.
inline std::int64_t padded_vocab(const plan::Model& model) {
  return (model.vocab + 127) / 128 * 128;
}

struct ModelOptions {
  plan::Model config;
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
  Recompute recompute = Recompute::none;
  bool sdpa = true;
  double dropout = 0;
  double attention_dropout = 0;
  std::int64_t seed = 0;
};

// Some samples of a step, in a row of the data's order.
struct MicroBatch {
  at::Tensor tokens;   // [samples * seq], int64
  at::Tensor targets;  // the same, one token further
  std::int64_t step = 0;
  std::int64_t first_sample = 0;  // of the data's order: dropout depends on it
};

// All parameters in the order in which backward completes their gradients. The word embedding has
// padded_vocab rows.
std::vector<ParameterSpec> parameter_specs(const plan::Model& config);

// A GPT-2 style or BLOOM language model with tied embeddings. Forward and backward are written out.
class Model {
 public:
  // parameters (of parameter_specs) and profile outlive the model; profile may be null.
  Model(const ModelOptions& options, Parameters& parameters, Profile* profile);

  // Forward and backward: adds gradients of (mean loss * gradient_scale) and gives the mean loss,
  // as a tensor of one fp32 on the device.
  at::Tensor train(const MicroBatch& batch, double gradient_scale, const Ready& ready);
  at::Tensor evaluate(const MicroBatch& batch);  // the mean loss
  at::Tensor logits(const MicroBatch& batch);    // [samples * seq, vocab]

  bool uses_sdpa() const { return attention_.uses_sdpa(); }
  // The most that micro-batches have kept for backward, and of logits at a time.
  std::int64_t activation_bytes() const { return activation_bytes_; }
  std::int64_t logits_bytes() const { return logits_bytes_; }

 private:
  struct Embedded {
    at::Tensor sum;  // before the embedding's norm
    Normed norm;
    std::int64_t bytes() const;
  };
  struct Head {
    at::Tensor loss;
    at::Tensor gradient;  // of the stream before the last norm; undefined in evaluation
  };
  Stream embed(const MicroBatch& batch, bool drops, Embedded& saved);
  void embed_backward(at::Tensor dy, const MicroBatch& batch, const Embedded& saved,
                      const Ready& ready);
  AddedNorm last_norm(const Stream& stream, bool drops);
  at::Tensor losses(const at::Tensor& x, const MicroBatch& batch, double scale, at::Tensor* dx);
  Head head(const Stream& stream, const MicroBatch& batch, double scale, const Ready& ready);
  Dropout embedding_dropout(const MicroBatch& batch, bool drops) const;
  Place place(const MicroBatch& batch) const;
  const at::Tensor& weight(std::size_t index) const { return (*parameters_)[index].weight; }
  const at::Tensor& gradient(std::size_t index) const { return (*parameters_)[index].gradient; }

  ModelOptions options_;
  Parameters* parameters_;
  Profile* profile_;
  Attention attention_;
  std::vector<Block> blocks_;
  std::size_t word_ = 0, position_ = 0, last_weight_ = 0, last_bias_ = 0;
  std::size_t embedding_weight_ = 0, embedding_bias_ = 0;  // of BLOOM's norm
  std::int64_t activation_bytes_ = 0;
  std::int64_t logits_bytes_ = 0;
};

}  // namespace orch::train
