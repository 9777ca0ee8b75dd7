#include "core/run/launch/local/doctor.h"

#include "tests/run/launch/local_fixture.h"
#include "tests/test.h"

using namespace orch;
using launch::DoctorCheck;
using test::LocalExperiment;
using test::PlainShell;

namespace {

class AnsweringShell : public Shell {
 public:
  Result<Output> run(const Command& command) override { return answer(command); }
  std::function<Result<Output>(const Command&)> answer;
};

class SkewedClock : public SystemClock {
 public:
  double now() const override { return SystemClock::now() - 3600; }
};

const DoctorCheck* find(const std::vector<DoctorCheck>& checks, const std::string& what) {
  for (const auto& check : checks)
    if (check.what.starts_with(what)) return &check;
  return nullptr;
}

// A PATH with only these programs.
class OnlyPrograms {
 public:
  OnlyPrograms(const fs::path& folder, const std::vector<std::string>& names)
      : before_(std::getenv("PATH")) {
    fs::create_directories(folder);
    for (const auto& name : names) {
      std::ofstream(folder / name) << "#!/bin/sh\n";
      fs::permissions(folder / name, fs::perms::owner_all);
    }
    ::setenv("PATH", folder.c_str(), 1);
  }
  ~OnlyPrograms() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

const std::vector<std::string> kSlurm = {"sbatch",   "squeue", "scancel",
                                         "scontrol", "sacct",  "srun"};

}  // namespace

TEST_CASE("the doctor says what each thing is and what to do next", "[launch][doctor]") {
  LocalExperiment experiment;
  PlainShell shell;
  launch::DoctorOptions options;
  options.backends = {"ddp", "zero3", "nothere"};
  options.sources = ORCH_SOURCE_DIR;
  options.trainers = experiment.folder().parent_path() / "trainers";
  options.plugin_folders = {experiment.folder() / "plugins"};
  options.runs = experiment.folder() / "deep/below/runs";
  const auto checks = launch::examine(shell, SystemClock(), options);
  for (const auto& check : checks) {
    CAPTURE(check.what, check.found);
    CHECK_FALSE(check.what.empty());
    CHECK_FALSE(check.found.empty());
    CHECK((check.state != DoctorCheck::State::missing || !check.how_to_get.empty()));
  }
  CHECK(find(checks, "trainer ddp")->state == DoctorCheck::State::ok);
  CHECK(find(checks, "trainer nothere")->state == DoctorCheck::State::missing);
  // Its advice works: the preset and the script exist.
  const auto advice = find(checks, "trainer zero3")->how_to_get;
  CHECK(advice.find("cmake --build --preset cpu --target orch-train-zero3") != std::string::npos);
  const fs::path clone = ORCH_SOURCE_DIR;
  CHECK(test::slurp(clone / "CMakePresets.json").find("\"name\": \"cpu\"") != std::string::npos);
  CHECK(advice.find("backends/build cuda") != std::string::npos);
  CHECK(fs::exists(clone / "backends/build"));
  // A trainer without sources cannot be built, and no advice is given where there are none.
  const auto foreign = find(checks, "trainer nothere")->how_to_get;
  CHECK(foreign.find("--target") == std::string::npos);
  CHECK(foreign.find("framework = ") != std::string::npos);
  options.sources = experiment.folder();
  const auto bundled = launch::examine_programs(shell, options);
  CHECK(find(bundled, "trainer zero3")->how_to_get.find("cmake") == std::string::npos);
  CHECK(find(checks, "plug-ins")->state == DoctorCheck::State::note);
  CHECK(find(checks, "writing there")->state == DoctorCheck::State::ok);
  CHECK(find(checks, "locks there")->state == DoctorCheck::State::ok);
  CHECK(find(checks, "clock there")->state == DoctorCheck::State::ok);
  CHECK(find(checks, "disk of " + experiment.folder().string()) != nullptr);
  // It left no file and created no folder.
  CHECK_FALSE(fs::exists(experiment.folder() / "deep"));
  for (const auto& entry : fs::directory_iterator(experiment.folder()))
    CHECK(entry.path().filename() == "submissions");
}

TEST_CASE("the doctor tells SLURM that is absent, silent and well apart", "[launch][doctor]") {
  LocalExperiment experiment;
  AnsweringShell shell;
  shell.answer = [](const Command& command) -> Result<Output> {
    if (command.argv[0] == "sbatch") return Output{0, "slurm-wlm 22.05.8\n", "", false};
    if (command.argv[0] == "scontrol")
      return Output{0, "Slurmctld(primary) at host is UP\n", "", false};
    return Output{1, "", "Slurm accounting storage is disabled\n", false};
  };
  SECTION("absent") {
    const OnlyPrograms path(experiment.folder() / "bin", {"sbatch"});
    const auto checks = launch::examine_slurm(shell);
    REQUIRE(checks.size() == 1);
    CHECK(checks[0].state == DoctorCheck::State::missing);
    CHECK(checks[0].found == "no squeue, scancel, scontrol, sacct, srun");
  }
  SECTION("well, without accounting") {
    const OnlyPrograms path(experiment.folder() / "bin", kSlurm);
    const auto checks = launch::examine_slurm(shell);
    REQUIRE(checks.size() == 3);
    CHECK(checks[0].found == "slurm-wlm 22.05.8");
    CHECK(checks[1].state == DoctorCheck::State::ok);
    CHECK(checks[2].state == DoctorCheck::State::note);
    CHECK(checks[2].found == "Slurm accounting storage is disabled");
  }
  SECTION("silent") {
    const OnlyPrograms path(experiment.folder() / "bin", kSlurm);
    shell.answer = [](const Command&) -> Result<Output> { return Output{137, "", "", true}; };
    const auto checks = launch::examine_slurm(shell);
    REQUIRE(checks.size() == 2);
    CHECK(checks[1].state == DoctorCheck::State::missing);
    CHECK(checks[1].found == "no answer in 15 s");
  }
}

TEST_CASE("the doctor reads libraries and GPUs from what the system says", "[launch][doctor]") {
  AnsweringShell shell;
  shell.answer = [](const Command& command) -> Result<Output> {
    if (command.argv[0] == "nvidia-smi")
      return Output{0, "NVIDIA H200, 143771 MiB, 570.1\nNVIDIA H200, 143771 MiB, 570.1\n", "",
                    false};
    return Output{0,
                  "2 libs found in cache\n\tlibtorch_cpu.so.1.13 (libc6,x86-64) => "
                  "/usr/lib/libtorch_cpu.so.1.13\n\tlibncclx.so (libc6) => /x\n",
                  "", false};
  };
  const auto programs = launch::examine_programs(shell, {});
  CHECK(find(programs, "LibTorch")->found == "/usr/lib/libtorch_cpu.so.1.13");
  CHECK(find(programs, "NCCL")->state == DoctorCheck::State::missing);
  const auto machine = launch::examine_machine(shell);
  CHECK(find(machine, "GPUs")->found == "2: NVIDIA H200, 143771 MiB, 570.1 (name, memory, driver)");
}

TEST_CASE("the doctor sees a clock that is wrong and a folder it cannot write",
          "[launch][doctor]") {
  LocalExperiment experiment;
  const auto checks = launch::examine_places(SkewedClock(), experiment.folder());
  CHECK(find(checks, "clock there")->state == DoctorCheck::State::note);
  CHECK(find(checks, "clock there")->found.find("ahead of ours") != std::string::npos);
  const auto bad = launch::examine_places(SystemClock(), "/proc/self");
  CHECK(find(bad, "writing there")->state == DoctorCheck::State::missing);
}
