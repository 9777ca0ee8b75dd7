#include "core/plan/model.h"

#include "core/base/units.h"

namespace orch::plan {

std::string_view name(Family family) { return family == Family::gpt ? "gpt" : "bloom"; }

std::optional<Family> parse_family(std::string_view text) {
  if (text == "gpt") return Family::gpt;
  if (text == "bloom") return Family::bloom;
  return std::nullopt;
}

double Model::layer_params() const {
  const auto h = static_cast<double>(hidden);
  return 12 * h * h + 13 * h;
}

double Model::embedding_params() const {
  return static_cast<double>(vocab) * static_cast<double>(hidden);
}

double Model::position_params() const {
  return family == Family::gpt ? static_cast<double>(seq) * static_cast<double>(hidden) : 0;
}

double Model::norm_params() const {
  return (family == Family::gpt ? 2.0 : 4.0) * static_cast<double>(hidden);
}

double Model::params() const {
  return static_cast<double>(layers) * layer_params() + embedding_params() + position_params() +
         norm_params();
}

double simple_flops(double params, double tokens, bool recompute) {
  return (recompute ? 8 : 6) * params * tokens;
}

double megatron_flops(const Model& model, double global_batch, bool recompute) {
  const auto s = static_cast<double>(model.seq);
  const auto l = static_cast<double>(model.layers);
  const auto h = static_cast<double>(model.hidden);
  const auto v = static_cast<double>(model.vocab);
  return 24 * (recompute ? 4 : 3) * global_batch * s * l * h * h *
         (1 + s / (6 * h) + v / (16 * l * h));
}

double days_to_train(double params, double tokens, double gpus, double tflops, bool recompute) {
  return simple_flops(params, tokens, recompute) / (gpus * tflops * 1e12) / kDay;
}

double gpu_hours_to_train(double params, double tokens, double tflops, bool recompute) {
  return simple_flops(params, tokens, recompute) / (tflops * 1e12) / 3600;
}

}  // namespace orch::plan
