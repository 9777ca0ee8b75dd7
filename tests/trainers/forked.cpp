#include "tests/trainers/forked.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "backends/ddp/engine.h"
#include "backends/megatron/engine.h"
#include "backends/runtime/loop/trainer_main.h"
#include "backends/zero3/engine.h"

namespace orch::test {

int run_trainer(const std::string& backend, std::vector<std::string> arguments) {
  // As with OMP_NUM_THREADS and OPENBLAS_NUM_THREADS, which were read when this process began.
  at::set_num_threads(1);
  if (auto* set = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(set)(1);
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  const auto argc = static_cast<int>(argv.size());
  if (backend == "megatron")
    return train::trainer_main<megatron::MegatronEngine>(argc, argv.data());
  if (backend == "zero3") return train::trainer_main<zero3::Zero3Engine>(argc, argv.data());
  return train::trainer_main<ddp::DdpEngine>(argc, argv.data());
}

}  // namespace orch::test
