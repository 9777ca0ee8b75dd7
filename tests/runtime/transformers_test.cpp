// Models made by Hugging Face's transformers 5.17, with its logits (recorded by
// transformers_check.py --write): ours must be the same.
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/runtime/model/stage.h"
#include "backends/runtime/step/state.h"
#include "core/train/checkpoint/checkpoint.h"
#include "core/train/huggingface/huggingface.h"
#include "tests/place.h"

using namespace orch;

TEST_CASE("logits are those of transformers", "[runtime]") {
  const std::string name = GENERATE("gpt2", "bloom", "llama", "mistral", "qwen2", "qwen3");
  const fs::path recorded = fs::path(ORCH_SOURCE_DIR) / "tests/runtime/recorded" / name;
  const ::TestFolder place;
  const auto imported = huggingface::import_model(recorded, place.root() / "checkpoint");
  INFO((imported ? "" : text(imported.error())));
  REQUIRE(imported);
  const auto opened = checkpoint::open_at(place.root() / "checkpoint");
  REQUIRE(opened.reader);

  train::ModelOptions options;  // three heads: ALiBi's slopes come from two series
  options.config = imported->model;
  train::Parameters parameters(train::parameter_specs(options.config), {});
  train::load_state(*opened.reader, train::weight_state(parameters, options.config.vocab));
  train::Stage model(options, parameters, nullptr);
  const auto wanted = nlohmann::json::parse(std::ifstream(recorded / "logits.json"));
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < wanted.at("tokens").size(); ++i) {
    const auto ids = wanted.at("tokens")[i].get<std::vector<std::int64_t>>();
    REQUIRE(ids.size() == 12);
    const auto tokens = at::tensor(ids, at::kLong);
    const auto logits = model.logits({tokens, tokens, 0, 0});
    for (std::int64_t row = 0; row < 12; ++row) {
      const auto expected = at::tensor(
          wanted.at("logits")[i][static_cast<std::size_t>(row)].get<std::vector<float>>());
      worst = std::max(worst, (logits[row] - expected).abs().max().item<double>());
      largest = std::max(largest, expected.abs().max().item<double>());
    }
  }
  CHECK(largest > 0.5);  // not all zero
  CHECK(worst < 1e-4);
}
