#include "backends/runtime/loop/trainer_main.h"
#include "backends/zero3/engine.h"

int main(int argc, char** argv) {
  using namespace orch;
  return train::trainer_main(
      argc, argv, [](const plan::Run& config, train::World& world, train::Profile& profile) {
        return std::make_unique<zero3::Engine>(config, world, profile);
      });
}
