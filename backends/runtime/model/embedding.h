#pragma once

#include "backends/runtime/model/block.h"

namespace orch::train {

// The word embedding: with learned positions (GPT-2), with a norm without dropout (BLOOM), or with
// neither. Each rank of the tensor axis has a part of the vocabulary.
class Embedding {
 public:
  struct Saved {
    at::Tensor sum;  // input of the norm
    NormOutput norm;
    std::int64_t bytes() const;
  };

  // parameters and profile must outlive it; profile may be null.
  Embedding(const ModelOptions& options, Parameters& parameters, Profile* profile);

  ResidualStream forward(const MicroBatch& batch, bool drops, Saved& saved) const;
  void backward(at::Tensor dy, const MicroBatch& batch, const Saved& saved,
                const Gradients& gradients) const;

 private:
  at::Tensor look_up(const MicroBatch& batch) const;
  at::Tensor positions(std::int64_t rows, std::int64_t all) const;
  void add_positions_gradient(const at::Tensor& dy, std::int64_t all) const;
  Dropout dropout_of(const MicroBatch& batch, bool drops) const;
  const at::Tensor& weight(std::size_t index) const { return (*parameters_)[index].weight; }
  const at::Tensor& gradient(std::size_t index) const { return (*parameters_)[index].gradient; }

  ModelOptions options_;
  Parameters* parameters_;
  Profile* profile_;
  std::size_t word_;
  std::optional<std::size_t> position_;
  std::optional<Norm> norm_;
};

}  // namespace orch::train
