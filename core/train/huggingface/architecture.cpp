#include "core/train/huggingface/architecture.h"

#include <array>

namespace orch::huggingface {

std::span<const Architecture* const> architectures() {
  static constexpr std::array kAll{&kGpt2, &kBloom, &kLlama, &kMistral, &kQwen2, &kQwen3};
  return kAll;
}

const Architecture* find_architecture(const std::string& model_type) {
  for (const auto* architecture : architectures())
    if (architecture->model_type == model_type) return architecture;
  return nullptr;
}

const Architecture* find_architecture(const plan::Model& model) {
  for (const auto* architecture : architectures())
    if (architecture->fits(model)) return architecture;
  return nullptr;
}

}  // namespace orch::huggingface
