// The only source with a header of torch/: these take as long as all others of this program.
#include <torch/optim/adamw.h>

#include <catch2/catch_test_macros.hpp>

#include "backends/runtime/step/optimizer.h"

using namespace orch::train;

TEST_CASE("AdamW follows torch::optim::AdamW over 20 steps", "[runtime][optim]") {
  Parameters parameters({{"matrix", {257, 129}, -1, WeightInit::normal, true},
                         {"vector", {1001}, -1, WeightInit::ones, false}},
                        {});
  parameters.initialize(3, 0.5, 1);
  const auto ours = make_optimizer("adamw", parameters, {});

  std::vector<torch::Tensor> theirs;
  for (const auto& parameter : parameters)
    theirs.push_back(parameter.weight.clone().set_requires_grad(true));
  const auto options = [](double decay) {
    return std::make_unique<torch::optim::AdamWOptions>(
        torch::optim::AdamWOptions(0.01).betas({0.9, 0.95}).eps(1e-8).weight_decay(decay));
  };
  torch::optim::AdamW reference({torch::optim::OptimizerParamGroup({theirs[0]}, options(0.1)),
                                 torch::optim::OptimizerParamGroup({theirs[1]}, options(0.0))},
                                *options(0.1));

  torch::manual_seed(5);
  for (std::int64_t step = 1; step <= 20; ++step) {
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      const auto gradient = torch::randn(theirs[i].sizes());
      parameters[i].gradient.copy_(gradient);
      theirs[i].mutable_grad() = gradient * 0.25;
    }
    ours->step(0.01, 0.25, step);
    reference.step();
    for (std::size_t i = 0; i < theirs.size(); ++i)
      CHECK((parameters[i].weight - theirs[i].detach()).abs().max().item<double>() <= 1e-6);
  }
}
