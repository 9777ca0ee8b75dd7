#include "core/plan/script/job_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/plan/script/shell_script.h"

namespace orch::plan {
namespace {

using ScriptWords = std::vector<std::string>;
using ScriptOptions = std::map<std::string, std::string>;  // by their long names

// Options of sbatch, srun and launchers that are read, each with its short or other names.
const std::vector<std::pair<std::string, ScriptWords>> kOptions = {
    {"nodes", {"--nodes", "-N"}},
    {"ntasks", {"--ntasks", "-n"}},
    {"ntasks-per-node", {"--ntasks-per-node", "--tasks-per-node"}},
    {"gres", {"--gres"}},
    {"gpus", {"--gpus", "-G"}},
    {"gpus-per-node", {"--gpus-per-node"}},
    {"partition", {"--partition", "-p"}},
    {"account", {"--account", "-A"}},
    {"qos", {"--qos", "-q"}},
    {"constraint", {"--constraint", "-C"}},
    {"reservation", {"--reservation"}},
    {"time", {"--time", "-t"}},
    {"cpus-per-task", {"--cpus-per-task", "-c"}},
    {"nproc", {"--nproc_per_node", "--nproc-per-node"}},
    {"nnodes", {"--nnodes"}},
    {"num-gpus", {"--num_gpus"}},
    {"num-nodes", {"--num_nodes"}},
    {"num-processes", {"--num_processes"}},
    {"num-machines", {"--num_machines"}},
    {"np", {"-np", "--np"}},
};

// Programs that only speak of a training.
const ScriptWords kNoTraining = {
    "echo", "printf", "ls",  "cp",   "mv",     "cat",   "sed", "grep", "test",  "[",  "[[",
    "cd",   "wget",   "git", "find", "export", "which", "tee", "set",  "alias", "rm", "mkdir"};

// "--nodes=2", "--nodes 2", "-N 2" and "-N2".
ScriptOptions options_in(const ScriptWords& words) {
  ScriptOptions out;
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const auto& [name, spellings] : kOptions)
      for (const auto& spelling : spellings) {
        const bool is_short = spelling.size() == 2;
        const bool has_next = i + 1 < words.size() && !words[i + 1].starts_with('-');
        if (words[i] == spelling && has_next)
          out[name] = words[i + 1];
        else if (!is_short && words[i].starts_with(spelling + "="))
          out[name] = words[i].substr(spelling.size() + 1);
        else if (is_short && words[i].size() > 2 && words[i].starts_with(spelling) &&
                 std::isdigit(static_cast<unsigned char>(words[i][2])))
          out[name] = words[i].substr(2);
      }
  return out;
}

// 0: missing, or not a positive number. "2-4" and "2:4" of elastic jobs are their last.
std::int64_t count(const ScriptOptions& options, const std::string& name) {
  const auto found = options.find(name);
  if (found == options.end()) return 0;
  const auto& text = found->second;
  const auto number = number_from<std::int64_t>(text.substr(text.find_first_of("-:") + 1));
  return number && *number > 0 && *number < 1'000'000 ? *number : 0;
}

// The GPUs of "gpu:a100:8", "gpu:8", "a100:8" and "8"; their name, if there is one, goes to `gpu`.
std::int64_t gpus_of(const std::string& text, bool is_gres, std::string& gpu) {
  for (const auto& resource : split(text, ',')) {
    auto parts = split(resource, ':');
    if (is_gres && parts.front() != "gpu") continue;
    if (is_gres) parts.erase(parts.begin());
    std::int64_t gpus = is_gres && parts.empty() ? 1 : 0;
    for (auto part : parts) {
      part = part.substr(0, part.find('('));  // gpu:8(S:0-1)
      if (const auto number = number_from<std::int64_t>(part); number && *number > 0)
        gpus = *number;
      else if (!part.empty() && !part.starts_with('$'))
        gpu = lower(part), gpus = std::max<std::int64_t>(gpus, 1);
    }
    if (gpus > 0) return gpus;
  }
  return 0;
}

std::int64_t first_known(std::initializer_list<std::int64_t> counts) {
  for (const auto each : counts)
    if (each > 0) return each;
  return 0;
}

// What the #SBATCH lines ask for, and the variables that SLURM sets from it.
void read_request(const ScriptOptions& asked, JobScript& job) {
  const auto word = [&](const char* name, std::string& to) {
    if (const auto found = asked.find(name); found != asked.end()) to = found->second;
  };
  word("partition", job.slurm.partition);
  word("account", job.slurm.account);
  word("qos", job.slurm.qos);
  word("constraint", job.slurm.constraint);
  word("reservation", job.slurm.reservation);
  word("time", job.slurm.time);
  std::string gres, per_node;
  word("gres", gres);
  word("gpus-per-node", per_node);
  const auto tasks = count(asked, "ntasks"), tasks_per_node = count(asked, "ntasks-per-node");
  job.gpus_per_node =
      first_known({gpus_of(per_node, false, job.gpu), gpus_of(gres, true, job.gpu)});
  std::string all;
  word("gpus", all);
  job.gpus = gpus_of(all, false, job.gpu);
  job.nodes = first_known({count(asked, "nodes"), tasks_per_node > 0 ? tasks / tasks_per_node : 0});
  const bool is_single = job.nodes == 0 && (job.gpus_per_node > 0 || tasks_per_node > 0);
  if (is_single) job.nodes = 1;  // sbatch's default
  const auto set = [&](const char* name, std::int64_t value) {
    if (value > 0) job.variables.emplace(name, fmt::format("{}", value));
  };
  set("SLURM_NNODES", job.nodes);
  set("SLURM_JOB_NUM_NODES", job.nodes);
  set("SLURM_NTASKS", first_known({tasks, job.nodes * tasks_per_node}));
  set("SLURM_NTASKS_PER_NODE", tasks_per_node);
  set("SLURM_GPUS_ON_NODE", job.gpus_per_node);
  set("SLURM_GPUS_PER_NODE", job.gpus_per_node);
  set("SLURM_CPUS_PER_TASK", count(asked, "cpus-per-task"));
}

bool names(const ScriptWords& words, std::string_view launcher) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word == launcher || word.ends_with("/" + std::string(launcher));
  });
}

// The processes that the launchers start: of several, the one closest to the program counts, and an
// outer one for the nodes.
void count_processes(JobScript& job) {
  const auto options = options_in(job.launcher);
  const auto has = [&](const char* name) { return names(job.launcher, name); };
  std::string gres;
  if (const auto found = options.find("gres"); found != options.end()) gres = found->second;
  const auto per_node = gpus_of(gres, true, job.gpu);
  if (per_node > 0 && job.gpus_per_node == 0) job.gpus_per_node = per_node;
  if (const auto nodes = count(options, "nodes"); nodes > 0) job.nodes = nodes;
  const bool torchrun = has("torchrun") || has("torch.distributed.run") ||
                        has("torch.distributed.launch") || count(options, "nproc") > 0;
  if (torchrun || has("deepspeed")) {
    const auto on_node =
        first_known({count(options, "nproc"), count(options, "num-gpus"), job.gpus_per_node});
    const auto nodes =
        first_known({count(options, "nnodes"), count(options, "num-nodes"), job.nodes, 1});
    if (on_node > 0) job.gpus_per_node = on_node, job.nodes = nodes, job.gpus = nodes * on_node;
  } else if (const auto processes = count(options, "num-processes"); processes > 0) {
    job.gpus = processes;
    job.nodes = first_known({count(options, "num-machines"), job.nodes});
  } else if (has("srun") || has("mpirun") || has("mpiexec")) {
    const auto tasks = first_known({count(options, "ntasks"), count(options, "np"),
                                    job.nodes * count(options, "ntasks-per-node")});
    if (tasks > 1) job.gpus = tasks;
  }
  if (job.gpus == 0) job.gpus = job.nodes * job.gpus_per_node;
  if (job.gpus > 0 && job.nodes > 0 && job.gpus_per_node == 0 && job.gpus % job.nodes == 0)
    job.gpus_per_node = job.gpus / job.nodes;
}

// The index of the training program among the words; nothing if there is none.
std::optional<std::size_t> program_in(const ScriptWords& words, const ScriptWords& programs) {
  if (words.empty() || contains(kNoTraining, words.front())) return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const auto& program : programs)
      if (words[i] == program || words[i].ends_with("/" + program)) return i;
  return std::nullopt;
}

// A Python program that is started but not known, for the message.
std::string other_program(const ShellScript& script) {
  for (const auto& command : script.commands)
    if (!command.words.empty() && !contains(kNoTraining, command.words.front()))
      for (const auto& word : command.words)
        if (word.ends_with(".py")) return word.substr(word.rfind('/') + 1);
  return "";
}

Error no_program(const std::string& name, const ShellScript& script, const ScriptWords& programs) {
  const auto other = other_program(script);
  if (other.empty())
    return Error{name, "it starts no training program that is known",
                 "one of: " + join(programs, ", ")};
  return Error{name, fmt::format("no template reads the arguments of '{}'", printable(other)),
               suggestion(other, programs)};
}

}  // namespace

Result<JobScript> read_job_script(const std::string& name, std::string_view text,
                                  const ScriptWords& programs,
                                  const std::map<std::string, std::string>& variables) {
  JobScript job;
  job.variables = variables;
  ScriptWords directives;
  for (const auto& directive : read_shell_script(text).directives) directives.push_back(directive);
  read_request(options_in(directives), job);
  auto script = read_shell_script(text, job.variables);
  bool found = false;
  for (const auto& command : script.commands) {
    const auto at = program_in(command.words, programs);
    if (!at) continue;
    if (found) {
      job.other_lines.push_back(command.line);
      continue;
    }
    found = true;
    const auto& word = command.words[*at];
    job.program = *std::ranges::find_if(
        programs, [&](const auto& each) { return word == each || word.ends_with("/" + each); });
    job.line = command.line;
    const auto place = command.words.begin() + static_cast<std::ptrdiff_t>(*at);
    job.launcher.assign(command.words.begin(), place);
    job.arguments.assign(place + 1, command.words.end());
    job.variables = script.variables;
    for (const auto& [key, value] : command.environment) job.variables[key] = value;
  }
  if (!found) return no_program(name, script, programs);
  job.files = std::move(script.files);
  count_processes(job);
  return job;
}

}  // namespace orch::plan
