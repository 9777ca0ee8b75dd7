#include "backends/megatron/engine.h"
#include "backends/runtime/loop/trainer_main.h"

int main(int argc, char** argv) {
  return orch::train::trainer_main<orch::megatron::MegatronEngine>(argc, argv);
}
