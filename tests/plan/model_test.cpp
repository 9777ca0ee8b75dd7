#include "core/plan/model.h"

#include "core/plan/family.h"
#include "tests/test.h"

using namespace orch::plan;

namespace {

Model gpt(std::int64_t layers, std::int64_t hidden, std::int64_t vocab) {
  return sized("gpt", "", layers, hidden, 16, vocab, 2048);
}

std::string billions(const Model& model) { return fmt::format("{:.0f}B", model.params() / 1e9); }

}  // namespace

// Sizes that the published search for a 176B model computed by hand.
TEST_CASE("parameter counts are those of the literature", "[plan][model]") {
  CHECK(billions(gpt(112, 12288, 150257)) == "205B");
  CHECK(billions(gpt(96, 13312, 150257)) == "206B");
  CHECK(billions(gpt(80, 14336, 150257)) == "199B");
  CHECK(billions(gpt(80, 12288, 50257)) == "146B");
  CHECK(billions(gpt(96, 16384, 50257)) == "310B");
  CHECK(billions(gpt(105, 20480, 50257)) == "530B");
  CHECK(billions(gpt(106, 12288, 250000)) == "195B");
  CHECK(billions(gpt(100, 12288, 250000)) == "184B");
  CHECK(billions(gpt(82, 13312, 250000)) == "178B");
  CHECK(billions(gpt(94, 13312, 250000)) == "203B");
  CHECK(billions(gpt(70, 14336, 250000)) == "176B");
  CHECK(billions(gpt(82, 14336, 250000)) == "206B");
}

// The content of BLOOM's released checkpoints.
TEST_CASE("bloom counts its embedding norm and no positions", "[plan][model]") {
  CHECK(sized("bloom", "", 30, 4096, 32, 250880, 2048).params() == 7'069'016'064);
  CHECK(sized("bloom", "", 70, 14336, 112, 250880, 2048).params() == 176'247'271'424);
}

TEST_CASE("the 104B's parts are those of its memory budget", "[plan][model]") {
  const auto model = gpt(64, 11600, 50257);
  CHECK(model.embedding_params() == 582'981'200);
  CHECK(model.layer_params() == 1'614'870'800);
  CHECK((2 * model.layer_params() + model.embedding_params()) / 4 * 18 == 17'157'252'600);
  CHECK(2 * model.layer_params() / 4 * 18 == 14'533'837'200);
}

TEST_CASE("days and hours to train are those of the allocation request", "[plan][model]") {
  CHECK(fmt::format("{:.2f}", days_to_train(200e9, 300e9, 350, 150)) == "105.82");
  CHECK(fmt::format("{:.2f}", gpu_hours_to_train(200e9, 300e9, 150)) == "888888.89");
}

// Rows of published tables: step time and TFLOPs per GPU by the convention of each.
TEST_CASE("TFLOPs by the simple convention match the published rows", "[plan][model]") {
  const auto tflops = [](double billions, double seq, double batch, double seconds, double gpus,
                         bool recompute) {
    return simple_flops(billions * 1e9, seq * batch, recompute) / (seconds * gpus * 1e12);
  };
  CHECK(tflops(48, 1024, 1024, 146, 64, true) == Approx(43.09).epsilon(1e-3));
  CHECK(tflops(48, 1024, 512, 139.52, 64, true) == Approx(22.55).epsilon(1e-3));
  CHECK(tflops(1.3, 2048, 512, 29, 8, true) == Approx(47.0).epsilon(1e-3));
  CHECK(tflops(1.3, 2048, 512, 23, 8, false) == Approx(44.45).epsilon(1e-3));
}

TEST_CASE("TFLOPs by the megatron convention match the published rows", "[plan][model]") {
  const auto tflops = [](const Model& model, double batch, double seconds, double gpus) {
    return megatron_flops(model, batch, true) / (seconds * gpus * 1e12);
  };
  CHECK(tflops(gpt(72, 14336, 250880), 2048, 134.02, 384) == Approx(120.29).epsilon(2e-4));
  CHECK(tflops(gpt(72, 14336, 250880), 2048, 143.31, 384) == Approx(112.49).epsilon(2e-4));
  CHECK(tflops(gpt(96, 12288, 250880), 2048, 122.96, 384) == Approx(128.69).epsilon(2e-4));
}
