#pragma once

#include "backends/runtime/model/block.h"

namespace orch::train {

// The end of the model: the last norm, the logits (with the embedding's matrix, or a separate one)
// and the loss. Forward and backward of the logits are combined, for a slice of rows at a time: all
// logits would be the largest tensor of most models. Each rank of the tensor axis has a part of the
// vocabulary; the logits are never gathered.
class Head {
 public:
  // owns_words: no embedding on this rank adds to the matrix's gradient after the head.
  Head(const ModelOptions& options, Parameters& parameters, Profile* profile, bool owns_words);

  struct Result {
    at::Tensor loss;      // the mean over all rows
    at::Tensor gradient;  // gradient of the stream, for mean loss * scale
  };
  Result backward(const ResidualStream& stream, const MicroBatch& batch, double scale,
                  const Gradients& gradients);
  at::Tensor loss(const ResidualStream& stream, const MicroBatch& batch);  // for evaluation
  at::Tensor logits(
      const ResidualStream& stream) const;  // [rows, vocab]; only without tensor parallelism

  std::int64_t logits_bytes() const { return logits_bytes_; }  // the maximum at a time

 private:
  AddedNormOutput normed(const ResidualStream& stream, bool drops) const;
  at::Tensor losses(const at::Tensor& x, const MicroBatch& batch, double scale, at::Tensor* dx);
  at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets, double scale) const;
  const at::Tensor& weight(std::size_t index) const { return (*parameters_)[index].weight; }
  const at::Tensor& gradient(std::size_t index) const { return (*parameters_)[index].gradient; }

  ModelOptions options_;
  Parameters* parameters_;
  Profile* profile_;
  bool owns_words_;
  std::size_t word_;
  Norm norm_;
  std::int64_t logits_bytes_ = 0;
};

}  // namespace orch::train
