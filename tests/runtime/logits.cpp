// Our logits of a checkpoint, for transformers_check.py:
//   ORCH_CHECKPOINT=PLACE ORCH_LOGITS=LOGITS.json [ORCH_TOKENS=TOKENS.json] orch_test_runtime
//   "[logits]"
// PLACE: a checkpoint, a folder of them, or a run folder. TOKENS.json: {"tokens": [[…], …]},
// complete sequences; without it, two that follow a simple rule.
#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/runtime/model/stage.h"
#include "backends/runtime/step/state.h"
#include "core/plan/model_json.h"
#include "core/train/checkpoint/checkpoint.h"

namespace {

using namespace orch;
using Sequences = std::vector<std::vector<std::int64_t>>;

plan::Model config_of(const checkpoint::CheckpointReader& reader) {
  return *plan::parse_model(reader.facts().texts.at("model"), "model");
}

Sequences sequences(const plan::Model& config, const char* file) {
  if (file) return nlohmann::json::parse(std::ifstream(file)).at("tokens").get<Sequences>();
  Sequences all(2);
  for (std::int64_t i = 0; i < 2 * config.seq; ++i)
    all[static_cast<std::size_t>(i / config.seq)].push_back(i * 7919 % config.vocab);
  return all;
}

nlohmann::json list(const at::Tensor& tensor) {
  const auto flat = tensor.contiguous();
  return std::vector<float>(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
}

}  // namespace

TEST_CASE("logits of a checkpoint", "[.logits]") {
  const char *place = std::getenv("ORCH_CHECKPOINT"), *to = std::getenv("ORCH_LOGITS");
  REQUIRE((place && to));
  auto opened = checkpoint::open_at(place);
  REQUIRE(opened.reader);
  train::ModelOptions options;
  options.config = config_of(*opened.reader);
  train::Parameters parameters(train::parameter_specs(options.config), {});
  train::load_state(*opened.reader, train::weight_state(parameters, options.config.vocab));
  train::Stage model(options, parameters, nullptr);
  nlohmann::json out;
  out["tokens"] = sequences(options.config, std::getenv("ORCH_TOKENS"));
  for (const auto& sequence : out["tokens"]) {
    const auto tokens = at::tensor(sequence.get<std::vector<std::int64_t>>(), at::kLong);
    const auto logits = model.logits({tokens, tokens, 0, 0});
    auto& rows = out["logits"].emplace_back(nlohmann::json::array());
    for (std::int64_t row = 0; row < logits.size(0); ++row) rows.push_back(list(logits[row]));
  }
  std::ofstream(to) << out;
}
