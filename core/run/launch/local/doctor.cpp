#include "core/run/launch/local/doctor.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/room.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/process_shell.h"
#include "include/orch/backend.h"

namespace orch::launch {
namespace {

using CheckState = DoctorCheck::State;

constexpr double kSeconds = 15;  // per question; a dead controller answers only after its time-out

// One line of stdout, if the program exited with 0.
struct ProbeAnswer {
  bool good = false;
  std::string out;
  std::string complaint;
};

ProbeAnswer ask(Shell& shell, std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  command.timeout_seconds = kSeconds;
  const auto output = shell.run(command);
  if (!output) return {false, "", output.error().front().fact};
  if (output->timed_out) return {false, "", fmt::format("no answer in {:.0f} s", kSeconds)};
  return {output->code == 0, std::string(trim(output->out)), complaint_of(*output)};
}

std::string first_line(const std::string& text) {
  return printable(text.substr(0, text.find('\n')));
}

DoctorCheck check_accounting(Shell& shell) {
  const auto answer = ask(shell, {"sacct", "-n", "-X", "-P", "-S", "now-1hours", "-o", "JobID"});
  if (answer.good) return {"SLURM accounting", CheckState::ok, "sacct answers", ""};
  return {"SLURM accounting", CheckState::note, answer.complaint,
          "orch does without it; ask the administrators for slurmdbd to keep the ends of jobs that "
          "the controller has forgotten, and GPU-hours"};
}

DoctorCheck check_libraries(const std::string& cache, const std::string& what,
                            const std::vector<std::string>& names, const std::string& how) {
  std::vector<std::string> found;
  for (const auto& line : split(cache, '\n')) {
    const auto name = std::string(trim(line));
    for (const auto& wanted : names)
      if (name.starts_with(wanted))
        if (const auto arrow = name.find("=> "); arrow != std::string::npos)
          found.push_back(printable(name.substr(arrow + 3)));
  }
  if (!found.empty()) return {what, CheckState::ok, found.front(), ""};
  const char* own = std::getenv("LD_LIBRARY_PATH");
  for (const auto& folder : split(own ? own : "", ':'))
    for (const auto& wanted : names)
      if (!folder.empty() && is_there(fs::path(folder) / wanted))
        return {what, CheckState::ok, printable((fs::path(folder) / wanted).string()), ""};
  return {what, CheckState::missing, "not found in the system's libraries or LD_LIBRARY_PATH", how};
}

// How to get a missing trainer: only one with sources can be built.
std::string how_to_get_trainer(const fs::path& sources, const std::string& backend) {
  constexpr const char* kOther =
      "trainer = \"...\" in an experiment names any other program, framework = \"...\" a framework "
      "that is installed";
  if (sources.empty() || !is_there(sources / "CMakePresets.json"))
    return fmt::format("this orch came without its sources: a clone builds its trainers; {}",
                       kOther);
  if (!is_there(sources / "backends" / backend / "main.cpp"))
    return fmt::format("none is part of orch: ask the author of the plug-in; {}", kOther);
  return fmt::format(
      "./orch of a clone builds it before a run here; by hand: cmake --preset cpu, then "
      "cmake --build --preset cpu --target orch-train-{}. For GPUs: backends/build cuda "
      "on a machine that has them; {}",
      backend, kOther);
}

DoctorCheck check_trainer(const fs::path& folder, const std::string& backend,
                          const fs::path& sources) {
  const auto path = folder / ("orch-train-" + backend);
  for (const auto& name : {path, path.filename()})  // our own folder first, then PATH
    if (const auto found = find_program(name.string()); !found.empty())
      return {"trainer " + backend, CheckState::ok, printable(found.string()), ""};
  return {"trainer " + backend, CheckState::missing, "no " + printable(path.string()),
          how_to_get_trainer(sources, backend)};
}

DoctorCheck check_plugins(const fs::path& folder) {
  std::size_t count = 0;
  std::error_code code;
  const auto ending = fmt::format(".abi{}.so", ORCH_ABI_MAJOR);
  for (const auto& file : entries_of(folder, code)) {
    const auto name = file.filename().string();
    count += name.starts_with("orch-") && name.ends_with(ending);
  }
  const auto what = "plug-ins in " + printable(folder.string());
  if (code) return {what, CheckState::note, code.message(), "make it, or do not name it"};
  if (count == 0) return {what, CheckState::note, "none", "build or install the backends there"};
  return {what, CheckState::ok, fmt::format("{}", count), ""};
}

DoctorCheck check_gpus(Shell& shell) {
  const auto answer = ask(shell, {"nvidia-smi", "--query-gpu=name,memory.total,driver_version",
                                  "--format=csv,noheader"});
  if (answer.good && !answer.out.empty()) {
    const auto lines = split(answer.out, '\n');
    return {"GPUs", CheckState::ok,
            fmt::format("{}: {} (name, memory, driver)", lines.size(), first_line(answer.out)), ""};
  }
  const int devices = gpu_count();
  if (devices == 0 && find_program("nvidia-smi").empty())
    return {"GPUs", CheckState::missing, "no NVIDIA GPU found",
            "plan and submit here, train on nodes that have them; the cpu trainers need none"};
  return {
      "GPUs", CheckState::missing,
      fmt::format("{} devices, but nvidia-smi: {}", devices, answer.complaint),
      "Debian: apt install nvidia-driver; elsewhere the driver of the distribution; then reboot"};
}

DoctorCheck check_stacks() {
  std::string found;
  for (const char* program : {"eu-stack", "gdb"})
    if (!find_program(program).empty()) found += (found.empty() ? "" : ", ") + std::string(program);
  if (found.empty())
    return {
        "stacks", CheckState::missing, "neither eu-stack nor gdb",
        "Debian: apt install elfutils; elsewhere the package elfutils or gdb, on the nodes too"};
  const auto scope = read_file("/proc/sys/kernel/yama/ptrace_scope");
  if (scope && trim(*scope) != "0")
    return {"stacks", CheckState::note, found + ", but only root may look into other processes",
            "sysctl kernel.yama.ptrace_scope=0 lets orch inspect show stacks"};
  return {"stacks", CheckState::ok, found, ""};
}

}  // namespace

std::vector<DoctorCheck> examine_slurm(Shell& shell) {
  std::vector<std::string> absent;
  for (const char* program : {"sbatch", "squeue", "scancel", "scontrol", "sacct", "srun"})
    if (find_program(program).empty()) absent.emplace_back(program);
  if (!absent.empty())
    return {{"SLURM", CheckState::missing, "no " + join(absent, ", "),
             "Debian: apt install slurm-client and the cluster's slurm.conf; elsewhere use a login "
             "node. Local runs need none of it"}};
  std::vector<DoctorCheck> checks;
  const auto version = ask(shell, {"sbatch", "--version"});
  checks.push_back({"SLURM", version.good ? CheckState::ok : CheckState::note,
                    version.good ? first_line(version.out) : version.complaint, ""});
  const auto ping = ask(shell, {"scontrol", "ping"});
  if (!ping.good) {
    checks.push_back({"SLURM controller", CheckState::missing,
                      ping.out.empty() ? ping.complaint : first_line(ping.out),
                      "check SLURM_CONF and the network, or ask the administrators"});
    return checks;
  }
  checks.push_back({"SLURM controller", CheckState::ok, first_line(ping.out), ""});
  checks.push_back(check_accounting(shell));
  return checks;
}

std::vector<DoctorCheck> examine_programs(Shell& shell, const DoctorOptions& options) {
  std::vector<DoctorCheck> checks;
  for (const auto& folder : options.plugin_folders) checks.push_back(check_plugins(folder));
  for (const auto& backend : options.backends)
    checks.push_back(check_trainer(options.trainers, backend, options.sources));
  const auto ldconfig = find_program("ldconfig");
  const auto cache =
      ask(shell, {ldconfig.empty() ? "/sbin/ldconfig" : ldconfig.string(), "-p"}).out;
  checks.push_back(
      check_libraries(cache, "LibTorch", {"libtorch_cpu.so", "libtorch.so"},
                      "Debian: apt install libtorch-dev (for the CPU); elsewhere unpack "
                      "LibTorch and add its lib folder to LD_LIBRARY_PATH"));
  checks.push_back(check_libraries(cache, "CUDA", {"libcudart.so"},
                                   "Debian: apt install nvidia-cuda-toolkit; on clusters a module "
                                   "(module load cuda). Only for training on GPUs"));
  checks.push_back(check_libraries(cache, "NCCL", {"libnccl.so"},
                                   "Debian: apt install libnccl2 (non-free); on clusters a module "
                                   "(module load nccl). Only for training on several GPUs"));
  return checks;
}

std::vector<DoctorCheck> examine_machine(Shell& shell) {
  std::vector<DoctorCheck> checks = {check_gpus(shell)};
  checks.push_back({"cores", CheckState::ok, fmt::format("{}", usable_cores().size()), ""});
  const auto memory = host_room().bytes;
  checks.push_back({"memory", memory > 0 ? CheckState::ok : CheckState::note,
                    memory > 0 ? format_bytes(static_cast<double>(memory)) + " available"
                               : "not reported by the kernel",
                    ""});
  checks.push_back(check_stacks());
  return checks;
}

std::vector<DoctorCheck> examine(Shell& shell, const Clock& clock, const DoctorOptions& options) {
  auto checks = examine_slurm(shell);
  const auto add = [&](std::vector<DoctorCheck> more) {
    std::move(more.begin(), more.end(), std::back_inserter(checks));
  };
  add(examine_programs(shell, options));
  add(examine_machine(shell));
  add(examine_places(clock, options.runs));
  return checks;
}

}  // namespace orch::launch
