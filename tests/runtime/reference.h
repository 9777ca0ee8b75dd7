#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/runtime/model/parameters.h"
#include "backends/runtime/model/parts.h"

namespace orch::train {

// The same language model in another implementation, with LibTorch's own layers and its autograd,
// as reference for our forward and backward.
class Reference {
 public:
  // Copies the weights, as leaves that require gradients.
  Reference(const plan::Model& config, const Parameters& parameters);

  at::Tensor logits(const at::Tensor& tokens) const;  // [samples * seq, padded vocab]
  // The mean loss; its gradients are added to those of weights().
  double loss(const at::Tensor& tokens, const at::Tensor& targets, double scale = 1);

  std::map<std::string, at::Tensor>& weights() { return weights_; }

  // The dropout mask of a tensor; empty: no dropout. Sites as in the model: 1 and 2 of a layer, 3
  // of the embedding, whose layer is behind the last.
  std::function<at::Tensor(const at::Tensor& x, std::int64_t layer, int site)> drop;

 private:
  at::Tensor dropped(const at::Tensor& x, std::int64_t layer, int site) const {
    return drop ? drop(x, layer, site) : x;
  }
  at::Tensor block(const at::Tensor& x, std::int64_t layer) const;
  at::Tensor norm(const at::Tensor& x, const std::string& name) const;
  at::Tensor linear(const at::Tensor& x, const std::string& name) const;
  at::Tensor mlp(const at::Tensor& x, const std::string& name) const;
  at::Tensor rotated(const at::Tensor& x) const;
  at::Tensor attention(const at::Tensor& x, const std::string& name) const;
  const at::Tensor& weight(const std::string& name) const { return weights_.at(name); }

  plan::Model config_;
  std::map<std::string, at::Tensor> weights_;
};

// A tiny Llama: 2 layers of 32, 4 heads of 12 on 2 keys, an MLP of 40 and a separate head.
plan::Model some_llama();

// Tokens and targets of `samples`, by a simple rule.
struct ReferenceTokens {
  at::Tensor tokens, targets;
};
ReferenceTokens some_tokens(const plan::Model& config, std::int64_t samples, std::int64_t seed);

}  // namespace orch::train
