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

// A config.json as it is read: one field under any of its names, and what speaks against it.
struct Config {
  const Json& json;
  std::string place;
  Errors errors = {};

  const Json* find(std::initializer_list<const char*> names) const;
  // A size within its limits; `missing` where there is none.
  std::int64_t size(plan::Field field, std::initializer_list<const char*> names,
                    std::int64_t missing = 0);
  double real(plan::Field field, const char* name, double missing);
  bool flag(const char* name, bool missing);
  // A field that must have this value if it is there.
  void only(const char* name, const Json& value);
  void refuse(std::string fact, std::string fix = "");
};

// In which order the other side has our rows.
enum class Rows {
  same,
  qkv,    // all q, all k, all v; ours group by group: its queries, its key, its value
  pairs,  // first halves of pairs, then second halves: gates and ups of SwiGLU; ours beside each
          // other
};

// A tensor of the other side: some rows of one of ours.
struct Their {
  std::string name;  // without the prefix: "h.0.attn.c_attn.weight"
  std::int64_t rows = 0;
};

// One parameter of ours, and what it is there: one tensor, or several, one after the other.
struct Tensor {
  std::string ours;                 // "layers.0.attention.qkv.weight"
  std::vector<std::int64_t> shape;  // ours
  std::vector<Their> theirs;
  Rows rows = Rows::same;
  bool transposed = false;  // GPT-2's Conv1D has [in, out]

  std::int64_t width() const { return shape.size() > 1 ? shape[1] : 1; }
};

std::vector<std::int64_t> their_shape(const Tensor& tensor, const Their& their);

// The values of a whole tensor as the other side has them, one after the other; and back.
std::vector<float> to_theirs(const Tensor& tensor, const plan::Model& model,
                             std::vector<float> ours);
std::vector<float> to_ours(const Tensor& tensor, const plan::Model& model,
                           std::vector<float> theirs);

// Puts a model's tensors together, in the order of computation, for files of architectures.
class TensorList {
 public:
  TensorList(std::int64_t hidden, bool transposes) : hidden_(hidden), transposes_(transposes) {}

  void add(const std::string& ours, const std::string& theirs, std::vector<std::int64_t> shape);
  void norm(const std::string& ours, const std::string& theirs, bool has_bias);
  void linear(const std::string& ours, std::vector<Their> theirs, std::int64_t in, bool has_bias,
              Rows rows = Rows::same);
  std::vector<Tensor> done() && { return std::move(tensors_); }

 private:
  std::int64_t hidden_;
  bool transposes_;
  std::vector<Tensor> tensors_;
};

// The head's name in files, with no prefix.
inline constexpr const char* kHead = "lm_head.weight";

// A class of transformers that computes what some of our models do. One file for each family of
// them.
struct Architecture {
  std::string model_type;  // of config.json
  std::string class_name;
  std::string prefix;  // of tensors' names in files, but the head's
  bool (*fits)(const plan::Model&);
  Json (*config)(const plan::Model&);
  plan::Model (*read)(Config&);  // notes what our models do not compute
  std::vector<Tensor> (*tensors)(const plan::Model&);
};

extern const Architecture kGpt2, kBloom, kLlama, kMistral, kQwen2, kQwen3;

}  // namespace orch::huggingface
