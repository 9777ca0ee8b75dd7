#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace orch::train {

// The embedding's matrix, which the head shares unless it has a separate one.
constexpr const char* kWords = "word_embedding.weight";
constexpr const char* kHeadWords = "head.weight";

// The initial values of a parameter.
enum class WeightInit { normal, scaled_normal, zeros, ones };  // scaled: by 1/sqrt(2 layers)

struct ParameterSpec {
  std::string name;                 // "layers.3.mlp.up.weight"
  std::vector<std::int64_t> shape;  // of the whole tensor, before tensor parallelism
  int split_dim = -1;               // dim that tensor parallelism cuts; -1: not cut
  WeightInit init = WeightInit::zeros;
  // Weight decay, by Megatron's rule: for matrices, embeddings included; not for biases and norms
  // (the embedding's included).
  bool decay = false;
  std::int64_t padding = 0;  // rows at its end beyond the vocabulary
  bool is_tied = false;      // shared by embedding and head: both ends of a pipeline have it
  bool is_partial = false;   // on every tensor-parallel rank, with the gradient of its own heads
};

// A rank's index and the number of ranks, for tensor parallelism.
struct ParameterSlice {
  std::int64_t rank = 0;
  std::int64_t size = 1;
};

// One parameter of the model, or a rank's slice of it: views of the flat buffers of Parameters.
struct Parameter {
  ParameterSpec spec;
  std::vector<std::int64_t> shape;    // of the slice
  std::vector<std::int64_t> offsets;  // of the slice in the whole tensor
  std::int64_t offset = 0;            // elements, in every flat buffer
  std::int64_t count = 0;             // elements
  at::Tensor weight;                  // used by the products
  at::Tensor master;      // the same in fp32, or the weight itself; undefined if only a part of it
                          // is on this rank
  at::Tensor gradient;    // summed over micro-batches
  bool is_stale = false;  // the gradient is that of the previous step: see zero_gradients()
};

// The positions of a rank's parameters in its flat buffers: in the order in which backward
// completes their gradients, each at a multiple of `align` elements. The gaps are zero and stay
// zero.
struct ParameterLayout {
  std::vector<Parameter> all;  // without their tensors
  std::int64_t elements = 0;
};
constexpr std::int64_t kAlign = 64;
ParameterLayout lay_out(const std::vector<ParameterSpec>& specs, const ParameterSlice& tensor = {},
                        std::int64_t align = kAlign);

struct ElementRange {
  std::int64_t begin = 0, end = 0;  // elements in the flat buffers
};

constexpr auto kAllOfThem = static_cast<std::size_t>(-1);

struct ParameterOptions {
  at::ScalarType dtype = at::kFloat;  // type for the products
  bool master_weights = true;         // fp32 masters and gradients beside 16-bit weights
  at::Device device = at::kCPU;
  std::vector<ElementRange> owned = {};  // ranges that this rank updates; empty: all
  // The number of leading owned ranges whose masters are in host memory and updated there; with
  // `away` their weights and gradients too (if only the owned part exists).
  std::size_t on_host = 0;
  bool away = false;
  bool wide_gradients = true;  // fp32 gradients with 16-bit weights, if there are masters
  // false: only the owned part exists, and the parameters' own tensors are undefined until they are
  // bound to memory.
  bool whole_weights = true, whole_gradients = true;
};

// The part of a parameter in an owned range.
struct FlatSegment {
  std::size_t parameter = 0;
  std::int64_t begin = 0, end = 0;  // elements of the parameter
  std::int64_t at = 0;              // position of the first one in the range
};

// A range of the flat buffers that this rank updates.
struct OwnedRange {
  ElementRange range;
  bool on_host = false;  // its master is in host memory and updated there
  bool is_away = false;  // all of it is in host memory
  at::Tensor master;     // updated by the optimizer: fp32, or the weights themselves
  at::Tensor weight;     // written by the optimizer; undefined if the master is the weight
  at::Tensor gradient;   // read by the optimizer
  std::vector<FlatSegment> segments;
};

// All parameters of a rank, in flat buffers: one for weights, one for gradients (each complete, or
// only what the rank updates), and fp32 masters of what the rank updates if weights have 16 bits. A
// bucket of gradients is a slice. Host memory has separate buffers.
class Parameters {
 public:
  Parameters(ParameterLayout layout, const ParameterOptions& options);
  // specs: in backward's order.
  Parameters(const std::vector<ParameterSpec>& specs, const ParameterOptions& options)
      : Parameters(lay_out(specs), options) {}

  std::size_t size() const { return all_.size(); }
  Parameter& operator[](std::size_t index) { return all_[index]; }
  const Parameter& operator[](std::size_t index) const { return all_[index]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  std::size_t index(const std::string& name) const;  // throws std::out_of_range
  bool has(const std::string& name) const;

  // On the device.
  const at::Tensor& weights() const { return weights_; }
  const at::Tensor& masters() const { return masters_; }  // the weights if there are no masters
  const at::Tensor& gradients() const { return gradients_; }
  bool has_masters() const { return !masters_.is_same(weights_); }
  const std::vector<OwnedRange>& owned() const { return owned_; }

  // Begins new sums: gradients become zero, except matrices, which the first addition overwrites.
  // Throws std::logic_error if one of them was never written since the last call. The gaps are
  // never written.
  void zero_gradients() { zero_gradients(0, all_.size()); }
  void zero_gradients(std::size_t first, std::size_t end);
  // Asked before adding to a matrix's gradient.
  bool is_first(std::size_t parameter) { return std::exchange(all_[parameter].is_stale, false); }
  void copy_masters_to_weights();  // after loading, for the owned part

  // The same values on every device and in every layout: an element depends only on the seed, the
  // parameter's name and its position in the whole tensor.
  void initialize(std::int64_t seed, double std, std::int64_t layers);

 private:
  void make_owned(const std::vector<ElementRange>& ranges, const ParameterOptions& options);

  std::vector<Parameter> all_;
  at::Tensor weights_, masters_, gradients_;
  at::Tensor host_weights_, host_masters_, host_gradients_;
  std::vector<OwnedRange> owned_;
};

}  // namespace orch::train
