// Gradients of parameters that several ranks have, after each has computed its own.
#include "backends/runtime/step/replicas.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>

#include "backends/runtime/model/stage.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/reference.h"

using namespace orch;
using namespace orch::test;
using namespace orch::train;

namespace {

// Each rank's gradients are its number plus one.
void add_up(World& world, const plan::Layout& layout, Parameters& parameters, bool sequence) {
  Mesh mesh(world, layout);
  Profile profile(false);
  parameters.gradients().fill_(static_cast<double>(world.rank() + 1));
  Replicas(mesh, parameters, sequence, nullptr, profile).add_up_gradients();
}

void expect_gradient(const Parameters& parameters, const std::string& name, double wanted) {
  const auto& gradient = parameters[parameters.index(name)].gradient;
  const auto got = gradient.view({-1})[0].item<double>();
  expect(got == wanted && gradient.eq(wanted).all().item<bool>(),
         fmt::format("the gradient of {} is {}, not {}", name, got, wanted));
}

}  // namespace

TEST_CASE("of what all tensor-parallel ranks have, parts of gradients add up", "[runtime][parts]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    auto llama = some_llama();
    llama.qk_norm = true;
    const auto specs = parameter_specs(llama);
    const double own = world.rank() + 1;
    for (const bool sequence : {false, true}) {
      Parameters parameters(lay_out(specs, {world.rank(), 2}), {});
      add_up(world, {2, 1, 1}, parameters, sequence);
      expect_gradient(parameters, "layers.0.attention.q_norm.weight", 3);  // each rank has those of
                                                                           // its heads
      expect_gradient(parameters, "layers.1.attention.k_norm.weight", 3);
      expect_gradient(parameters, "layers.0.norm1.weight", sequence ? 3 : own);
      expect_gradient(parameters, "layers.0.attention.qkv.weight", own);
      expect_gradient(parameters, "head.weight", own);
    }
  });
  CHECK(complaints(outcomes) == "");
}

TEST_CASE("words add up over a pipeline's ends where both use them", "[runtime][parts]") {
  const auto outcomes = run_worlds(2, [](World& world) {
    for (const bool tied : {true, false}) {
      auto llama = some_llama();
      llama.tied = tied;
      const std::int64_t stage = world.rank();
      const LayerSpan span{stage, stage + 1, stage == 0, stage == 1};
      Parameters parameters(parameter_specs(llama, span, 128), {});
      add_up(world, {1, 2, 1}, parameters, false);
      if (tied || stage == 0) expect_gradient(parameters, kWords, tied ? 3 : 1);
      if (!tied && stage == 1) expect_gradient(parameters, kHeadWords, 2);
      expect(parameters.has(kWords) == (tied || stage == 0), "words where nobody uses them");
    }
  });
  CHECK(complaints(outcomes) == "");
}
