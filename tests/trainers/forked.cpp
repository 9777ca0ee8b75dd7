#include "tests/trainers/forked.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "backends/ddp/engine.h"
#include "backends/megatron/engine.h"
#include "backends/runtime/loop/trainer_main.h"
#include "backends/zero3/engine.h"

namespace orch::test {
namespace {

template <class Engine>
int run(std::vector<char*>& argv) {
  return train::trainer_main(
      static_cast<int>(argv.size()), argv.data(),
      [](const plan::Run& config, train::World& world, train::Profile& profile) {
        return std::make_unique<Engine>(config, world, profile);
      });
}

}  // namespace

int run_trainer(const std::string& backend, std::vector<std::string> arguments) {
  // As OMP_NUM_THREADS and OPENBLAS_NUM_THREADS say, which were read when this process began.
  at::set_num_threads(1);
  if (auto* set = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(set)(1);
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  if (backend == "megatron") return run<megatron::Engine>(argv);
  if (backend == "zero3") return run<zero3::Engine>(argv);
  return run<ddp::Engine>(argv);
}

}  // namespace orch::test
