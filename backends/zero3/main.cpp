#include "backends/runtime/loop/trainer_main.h"
#include "backends/zero3/engine.h"

int main(int argc, char** argv) {
  return orch::train::trainer_main<orch::zero3::Zero3Engine>(argc, argv);
}
