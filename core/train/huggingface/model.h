#pragma once

#include <string>

#include "core/base/result.h"
#include "core/train/checkpoint/checkpoint.h"
#include "core/train/huggingface/architecture.h"

namespace orch::huggingface {

// The model in a checkpoint's facts.
Result<plan::Model> model_of(const checkpoint::CheckpointFacts& facts);

// Writes and reads config.json. Reading refuses what our models do not compute, with all reasons.
std::string config_json(const plan::Model& model, const Architecture& architecture,
                        checkpoint::TensorDtype dtype);

struct DescribedModel {
  plan::Model model;
  const Architecture* architecture;
};
Result<DescribedModel> parse_config(const std::string& text, const std::string& place);

// The architecture of this model_type; without a name, the first that computes the same as the
// model.
Result<const Architecture*> choose(const plan::Model& model, const std::string& model_type);

}  // namespace orch::huggingface
