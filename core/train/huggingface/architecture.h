#pragma once

#include <string>
#include <vector>

#include "core/train/huggingface/config.h"
#include "core/train/huggingface/tensors.h"
#include "core/plan/model.h"

namespace orch::huggingface {

// The head's name in files, with no prefix.
inline constexpr const char* kHead = "lm_head.weight";

// A class of transformers that computes what some of our models do. One file for each family of them.
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
