#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace orch::train {

// How a parameter begins.
enum class Init { normal, scaled_normal, zeros, ones };  // scaled: by 1/sqrt(2 layers)

struct ParameterSpec {
  std::string name;                 // "layers.3.mlp.up.weight"
  std::vector<std::int64_t> shape;  // of the whole tensor, before tensor parallelism
  int split_dim = -1;               // along which tensor parallelism cuts it; -1: every rank has it
  Init init = Init::zeros;
  bool decay = false;  // weight decay: see decays()
};

// The rule of Megatron: matrices decay, embeddings among them; biases and norms (the embedding's
// too) do not.
inline bool decays(const std::vector<std::int64_t>& shape) { return shape.size() > 1; }

// One parameter of the model: views into the flat buffers of Parameters.
struct Parameter {
  ParameterSpec spec;
  std::int64_t offset = 0;  // elements, in every flat buffer
  std::int64_t count = 0;   // elements
  at::Tensor weight;        // what the products use
  at::Tensor master;        // what the optimizer updates: fp32, or the weight itself
  at::Tensor gradient;      // summed over micro-batches
};

struct ParameterOptions {
  at::ScalarType dtype = at::kFloat;  // of the products
  bool master_weights = true;         // fp32 masters and gradients beside 16-bit weights
  at::Device device = at::kCPU;
};

// All parameters of a rank, in flat buffers: one for weights, one for gradients, one for fp32
// masters where weights have 16 bits. Parameters lie in the order in which backward completes their
// gradients, each at a multiple of 64 elements (what lies between is zero and stays zero), so that
// a bucket of gradients is a slice.
class Parameters {
 public:
  // specs: in the order of backward.
  Parameters(const std::vector<ParameterSpec>& specs, const ParameterOptions& options);

  std::size_t size() const { return all_.size(); }
  Parameter& operator[](std::size_t index) { return all_[index]; }
  const Parameter& operator[](std::size_t index) const { return all_[index]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  std::size_t index(const std::string& name) const;  // throws std::out_of_range

  const at::Tensor& weights() const { return weights_; }
  const at::Tensor& masters() const { return masters_; }  // the weights if there are no others
  const at::Tensor& gradients() const { return gradients_; }
  bool has_masters() const { return !masters_.is_same(weights_); }

  void zero_gradients();
  void copy_masters_to_weights();  // after a load

  // The same values on every device and for every layout: element i of a parameter depends on the
  // seed, its name and i alone.
  void initialize(std::int64_t seed, double std, std::int64_t layers);

 private:
  std::vector<Parameter> all_;
  at::Tensor weights_, masters_, gradients_;
};

}  // namespace orch::train
