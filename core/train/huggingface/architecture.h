#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/fields.h"
#include "core/plan/model.h"

namespace orch::huggingface {

using Json = nlohmann::ordered_json;

// A config.json while it is read: fields by any of their names, and the reasons why it is not
// supported.
struct Config {
  const Json& json;
  std::string place;
  Errors errors = {};

  const Json* find(std::initializer_list<const char*> names) const;
  // A size within its limits; `missing` if there is none.
  std::int64_t size(plan::Field field, std::initializer_list<const char*> names,
                    std::int64_t missing = 0);
  double real(plan::Field field, const char* name, double missing);
  bool flag(const char* name, bool missing);
  // If this field exists, it must have this value.
  void only(const char* name, const Json& value);
  void refuse(std::string fact, std::string fix = "");
};

// The order of our rows in the other side's tensor.
enum class RowOrder {
  same,
  qkv,    // all q, all k, all v; ours: for each group its queries, key and value
  pairs,  // first halves of pairs, then second halves: gates and ups of SwiGLU; ours: interleaved
};

// A tensor of the other side, which holds some rows of one of ours.
struct SourceTensor {
  std::string name;  // without the prefix: "h.0.attn.c_attn.weight"
  std::int64_t rows = 0;
};

// One of our parameters, and the tensor, or tensors in order, of the other side.
struct Tensor {
  std::string ours;                 // "layers.0.attention.qkv.weight"
  std::vector<std::int64_t> shape;  // our shape
  std::vector<SourceTensor> theirs;
  RowOrder rows = RowOrder::same;
  bool transposed = false;  // GPT-2's Conv1D stores [in, out]

  std::int64_t width() const { return shape.size() > 1 ? shape[1] : 1; }
};

std::vector<std::int64_t> their_shape(const Tensor& tensor, const SourceTensor& their);

// Converts the values of a whole tensor to the other side's, concatenated; and back.
std::vector<float> to_theirs(const Tensor& tensor, const plan::Model& model,
                             std::vector<float> ours);
std::vector<float> to_ours(const Tensor& tensor, const plan::Model& model,
                           std::vector<float> theirs);

// Builds a model's list of tensors, in the order of computation, for the files of architectures.
class TensorList {
 public:
  TensorList(std::int64_t hidden, bool transposes) : hidden_(hidden), transposes_(transposes) {}

  void add(const std::string& ours, const std::string& theirs, std::vector<std::int64_t> shape);
  void norm(const std::string& ours, const std::string& theirs, bool has_bias);
  void linear(const std::string& ours, std::vector<SourceTensor> theirs, std::int64_t in,
              bool has_bias, RowOrder rows = RowOrder::same);
  std::vector<Tensor> done() && { return std::move(tensors_); }

 private:
  std::int64_t hidden_;
  bool transposes_;
  std::vector<Tensor> tensors_;
};

// The head's name in files, without prefix.
inline constexpr const char* kHead = "lm_head.weight";

// A class of transformers that computes the same as some of our models. One file for each group of
// them.
struct Architecture {
  std::string model_type;  // of config.json
  std::string class_name;
  std::string prefix;  // prefix of tensor names in files, except the head's
  bool (*fits)(const plan::Model&);
  Json (*config)(const plan::Model&);
  plan::Model (*read)(Config&);  // adds problems for what our models do not compute
  std::vector<Tensor> (*tensors)(const plan::Model&);
};

extern const Architecture kGpt2, kBloom, kLlama, kMistral, kQwen2, kQwen3;

}  // namespace orch::huggingface
