#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/huggingface/model.h"

namespace orch::huggingface {

// One parameter: its name here and there, and what lies differently.
struct Tensor {
  std::string ours;    // "layers.0.attention.qkv.weight"
  std::string theirs;  // "h.0.attn.c_attn.weight"; in files mostly after "transformer."
  std::vector<std::int64_t> shape;  // ours
  bool transposed = false;          // GPT-2's Conv1D has [in, out]
  bool qkv = false;                 // theirs has all q, all k, all v; ours q, k, v of each head
};

// All of a model, in the order of computation.
std::vector<Tensor> tensors_of(const Model& model);

std::vector<std::int64_t> their_shape(const Tensor& tensor);

// The values of a whole tensor as the other side has them.
std::vector<float> to_theirs(const Tensor& tensor, const Model& model, std::vector<float> ours);
std::vector<float> to_ours(const Tensor& tensor, const Model& model, std::vector<float> theirs);

}  // namespace orch::huggingface
