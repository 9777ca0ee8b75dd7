#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/checkpoint/checkpoint.h"

namespace orch::huggingface {

// What of a model both sides must know.
struct Model {
  std::string family;  // "gpt" or "bloom"
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t vocab = 0;
  std::int64_t seq = 0;

  std::int64_t head_dim() const { return hidden / heads; }
  bool operator==(const Model&) const = default;
};

// The text "model" of a checkpoint's facts.
Result<Model> model_of(const checkpoint::Facts& facts);
std::string model_text(const Model& model);

// config.json. Reading refuses what our models do not compute, with all reasons.
std::string config_json(const Model& model, checkpoint::Dtype dtype);
Result<Model> parse_config(const std::string& text, const std::string& place);

}  // namespace orch::huggingface
