#include "core/price/measure/this_machine.h"

#include "tests/place.h"
#include "tests/test.h"

namespace orch::measure {
namespace {

TEST_CASE("a machine is its processor and the cores we may use", "[machine]") {
  const TestFolder machine;
  machine.file("proc/cpuinfo",
               "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9654 96-Core\n\n"
               "processor\t: 1\nmodel name\t: AMD EPYC 9654 96-Core\n");
  CHECK(describe(16, machine.root()) == "AMD EPYC 9654 96-Core x 16");
}

TEST_CASE("Arm's cores are known by their numbers", "[machine]") {
  const TestFolder machine;
  machine.file("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
  CHECK(describe(2, machine.root()) == "Neoverse-N1 x 2");
  machine.file("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0xc0\nCPU part\t: 0xac3\n");
  CHECK(describe(2, machine.root()) == "CPU 0xc0 0xac3 x 2");
}

TEST_CASE("GPUs come first, each kind with its number", "[machine]") {
  const TestFolder machine;
  machine.file("proc/cpuinfo", "model name\t: Xeon\n");
  for (const auto* slot : {"0000:01:00.0", "0000:02:00.0"})
    machine.file(std::string("proc/driver/nvidia/gpus/") + slot + "/information",
                 "Model: \t\t NVIDIA H200\nIRQ:   \t\t 10\n");
  CHECK(describe(8, machine.root()) == "NVIDIA H200 x 2, Xeon x 8");
}

TEST_CASE("a machine without /proc is some CPU", "[machine]") {
  CHECK(describe(4, "/nonexistent") == "CPU x 4");
}

}  // namespace
}  // namespace orch::measure
