#include "backends/megatron/engine.h"
#include "backends/runtime/loop/trainer_main.h"

int main(int argc, char** argv) {
  using namespace orch;
  return train::trainer_main(
      argc, argv, [](const plan::Run& config, train::World& world, train::Profile& profile) {
        return std::make_unique<megatron::Engine>(config, world, profile);
      });
}
