#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace orch::train {

// The words' matrix of the embedding, which the head shares or has one of its own.
constexpr const char* kWords = "word_embedding.weight";
constexpr const char* kHeadWords = "head.weight";

// How a parameter begins.
enum class Init { normal, scaled_normal, zeros, ones };  // scaled: by 1/sqrt(2 layers)

struct ParameterSpec {
  std::string name;                 // "layers.3.mlp.up.weight"
  std::vector<std::int64_t> shape;  // of the whole tensor, before tensor parallelism
  int split_dim = -1;               // along which tensor parallelism cuts it; -1: every rank has it
  Init init = Init::zeros;
  // Weight decay, by the rule of Megatron: matrices decay, embeddings among them; biases and norms
  // (the embedding's too) do not.
  bool decay = false;
  std::int64_t padding = 0;  // rows at its end that are no words
  bool is_tied = false;      // embedding and head share it: both ends of a pipeline have it
  bool is_partial = false;  // every tensor-parallel rank has it, with its own heads' gradient alone
};

// A rank's part of what tensor parallelism cuts.
struct Slice {
  std::int64_t rank = 0;
  std::int64_t size = 1;
};

// One parameter of the model, or a rank's slice of it: views into the flat buffers of Parameters.
struct Parameter {
  ParameterSpec spec;
  std::vector<std::int64_t> shape;    // of the slice
  std::vector<std::int64_t> offsets;  // of the slice in the whole tensor
  std::int64_t offset = 0;            // elements, in every flat buffer
  std::int64_t count = 0;             // elements
  at::Tensor weight;                  // what the products use
  at::Tensor master;      // the same in fp32, or the weight itself; undefined where only some of
                          // it is on this rank
  at::Tensor gradient;    // summed over micro-batches
  bool is_stale = false;  // the gradient is of the step before: see zero_gradients()
};

// Where the parameters of a rank lie in its flat buffers: in the order in which backward completes
// their gradients, each at a multiple of `align` elements. What lies between is zero and stays
// zero.
struct ParameterLayout {
  std::vector<Parameter> all;  // without their tensors
  std::int64_t elements = 0;
};
constexpr std::int64_t kAlign = 64;
ParameterLayout lay_out(const std::vector<ParameterSpec>& specs, const Slice& tensor = {},
                        std::int64_t align = kAlign);

struct Range {
  std::int64_t begin = 0, end = 0;  // elements of the flat buffers
};

constexpr auto kAllOfThem = static_cast<std::size_t>(-1);

struct ParameterOptions {
  at::ScalarType dtype = at::kFloat;  // of the products
  bool master_weights = true;         // fp32 masters and gradients beside 16-bit weights
  at::Device device = at::kCPU;
  std::vector<Range> owned = {};  // what this rank updates; empty: all
  // Of the owned ranges, the first ones, up to a number of elements, have their masters in host
  // memory, and are updated there; with `away` their weights and gradients too (where only what is
  // owned is there).
  std::size_t on_host = 0;
  bool away = false;
  bool wide_gradients = true;  // fp32 beside 16-bit weights, where there are masters
  // Else only what is owned is there: the parameters' own tensors are undefined until somebody
  // binds them to memory.
  bool whole_weights = true, whole_gradients = true;
};

// What of a parameter lies in an owned range.
struct Segment {
  std::size_t parameter = 0;
  std::int64_t begin = 0, end = 0;  // elements of the parameter
  std::int64_t at = 0;              // the first one's place in the range
};

// A part of the flat buffers that this rank updates.
struct Owned {
  Range range;
  bool on_host = false;  // its master is, and is updated there
  bool is_away = false;  // all of it is on the host
  at::Tensor master;     // what the optimizer updates: fp32, or the weights themselves
  at::Tensor weight;     // what it writes beside; undefined if the master is the weight
  at::Tensor gradient;   // what it reads
  std::vector<Segment> segments;
};

// All parameters of a rank, in flat buffers: one for weights, one for gradients (each whole, or
// what the rank updates alone), and fp32 masters of what the rank updates where weights have 16
// bits. A bucket of gradients is a slice. What is on the host lies in buffers of its own.
class Parameters {
 public:
  Parameters(ParameterLayout layout, const ParameterOptions& options);
  // specs: in the order of backward.
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
  const at::Tensor& masters() const { return masters_; }  // the weights if there are no others
  const at::Tensor& gradients() const { return gradients_; }
  bool has_masters() const { return !masters_.is_same(weights_); }
  const std::vector<Owned>& owned() const { return owned_; }

  // Sums begin anew: gradients are zero, but for matrices, which who adds first writes instead.
  // Throws std::logic_error if nobody did so to one of them since the last time. Nobody writes to
  // what lies between.
  void zero_gradients() { zero_gradients(0, all_.size()); }
  void zero_gradients(std::size_t first, std::size_t end);
  // Asked by who adds to a matrix's gradient.
  bool is_first(std::size_t parameter) { return std::exchange(all_[parameter].is_stale, false); }
  void copy_masters_to_weights();  // after a load: of what is owned

  // The same values on every device and for every layout: an element depends on the seed, the
  // parameter's name and its place in the whole tensor alone.
  void initialize(std::int64_t seed, double std, std::int64_t layers);

 private:
  void make_owned(const std::vector<Range>& ranges, const ParameterOptions& options);

  std::vector<Parameter> all_;
  at::Tensor weights_, masters_, gradients_;
  at::Tensor host_weights_, host_masters_, host_gradients_;
  std::vector<Owned> owned_;
};

}  // namespace orch::train
