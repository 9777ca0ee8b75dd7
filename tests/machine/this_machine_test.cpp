#include "core/machine/this_machine.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

namespace orch::machine {
namespace {

// A /proc of our own, gone at the end.
class Root {
 public:
  Root() {
    std::string pattern = (fs::temp_directory_path() / "orch-machine-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()));
    path_ = pattern;
  }
  ~Root() { fs::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    REQUIRE(write_file_atomically(path_ / name, text));
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST_CASE("a machine is its processor and the cores we may use", "[machine]") {
  const Root root;
  root.write("proc/cpuinfo",
             "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9654 96-Core\n\n"
             "processor\t: 1\nmodel name\t: AMD EPYC 9654 96-Core\n");
  CHECK(describe(16, root.path()) == "AMD EPYC 9654 96-Core x 16");
}

TEST_CASE("Arm's cores are known by their numbers", "[machine]") {
  const Root root;
  root.write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
  CHECK(describe(2, root.path()) == "Neoverse-N1 x 2");
  root.write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0xc0\nCPU part\t: 0xac3\n");
  CHECK(describe(2, root.path()) == "CPU 0xc0 0xac3 x 2");
}

TEST_CASE("GPUs come first, each kind with its number", "[machine]") {
  const Root root;
  root.write("proc/cpuinfo", "model name\t: Xeon\n");
  for (const auto* slot : {"0000:01:00.0", "0000:02:00.0"})
    root.write(std::string("proc/driver/nvidia/gpus/") + slot + "/information",
               "Model: \t\t NVIDIA H200\nIRQ:   \t\t 10\n");
  CHECK(describe(8, root.path()) == "NVIDIA H200 x 2, Xeon x 8");
}

TEST_CASE("a machine without /proc is some CPU", "[machine]") {
  CHECK(describe(4, "/nonexistent") == "CPU x 4");
}

}  // namespace
}  // namespace orch::machine
