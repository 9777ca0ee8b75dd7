#include <algorithm>

#include "core/base/text.h"
#include "core/plan/run_json.h"
#include "core/run/render/job.h"
#include "tests/fuzz/doors.h"

namespace orch::fuzz {
namespace {

// Each input selects one of the ways to show a plan.
void plan(const Input& input, const std::string& file) {
  const std::vector<std::vector<std::string>> verbs{
      {"plan", file, "--max-runs", "1000"},
      {"plan", file, "--max-runs", "1000", "--format", "json", "--top", "0"},
      {"plan", file, "--max-runs", "1000", "--format", "csv"},
      {"plan", file, "--max-runs", "1000", "--format", "md"},
      {"run", file, "--max-runs", "1000", "--dry-run"},
      {"explain", file},
  };
  orch(verbs[choice(input, verbs.size())]);
}

// The first value of this key in a cluster's file, if it is a name.
std::string name_behind(std::string_view word, const std::string& yaml) {
  for (const auto& line : split(yaml, '\n'))
    if (line.starts_with(word)) {
      const auto name = std::string(trim(std::string_view(line).substr(word.size())));
      if (is_plain_name(name)) return name;
    }
  return "mine";
}

// Its file must be named like the cluster.
std::string cluster_name(const std::string& yaml) { return name_behind("name:", yaml); }

std::string experiment_on(const std::string& cluster, const std::string& partition) {
  return "return experiment { name = 'fuzz', model = 'gpt-1.3b', hardware = { cluster = '" +
         cluster + "', partition = '" + partition +
         "', gpus = 8 }, batch = { global_batch = 64 }, tokens = 1e9,\n"
         "  strategies = { ddp {}, megatron { tensor_parallel = 2, pipeline_parallel = 2 }, zero3 "
         "{} } }\n";
}

}  // namespace

std::vector<Input> experiment_seeds() {
  auto seeds = files_as_seeds("experiments", ".lua");
  for (const auto& folder : entries_of(kSource / "tests/golden"))
    // Not those for errors: some of them use up all limits of a script.
    if (!folder.filename().string().starts_with("bad_") && is_there(folder / "experiment.lua"))
      seeds.push_back({{"", text_of(folder / "experiment.lua")}});
  return seeds;
}

void enter_experiment(const Input& input) {
  furnish({{"experiment.lua", bytes_of(input)}});
  plan(input, "experiment.lua");
}

std::vector<Input> cluster_seeds() {
  auto seeds = files_as_seeds("experiments/clusters", ".yaml");
  for (auto& seed : files_as_seeds("tests/golden", ".yaml")) seeds.push_back(std::move(seed));
  return seeds;
}

void enter_cluster(const Input& input) {
  const auto name = cluster_name(bytes_of(input));
  furnish({{"experiment.lua", experiment_on(name, name_behind("  - name:", bytes_of(input)))},
           {"clusters/" + name + ".yaml", bytes_of(input)}});
  plan(input, "experiment.lua");
}

// Job scripts for orch price.
std::vector<Input> launch_seeds() {
  auto seeds = files_as_seeds("experiments/launches", ".sh");
  for (auto& seed : files_as_seeds("experiments/launches", ".slurm"))
    seeds.push_back(std::move(seed));
  return seeds;
}

void enter_launch(const Input& input) {
  furnish({{"job.sh", bytes_of(input)}});
  orch({"price", "job.sh", "--on", "dgx-a100", "--gpus", "64", "--top",
        choice(input, 2) == 0 ? "0" : "2"});
}

std::vector<Input> gpus_seeds() { return {{{"", text_of(kSource / "experiments/gpus.yaml")}}}; }

void enter_gpus(const Input& input) {
  furnish({{"home/experiments/gpus.yaml", bytes_of(input)},
           {"home/templates/slurm/none", ""},
           {"experiment.lua", experiment_on("jean-zay", "a100-80g")}});
  fs::create_symlink(kSource / "experiments/clusters", "home/experiments/clusters");
  fs::create_symlink(kSource / "experiments/models.lua", "home/experiments/models.lua");
  ::setenv("ORCH_HOME", (room() / "home").c_str(), 1);
  if (choice(input, 2) == 0)
    orch({"clusters", "jean-zay"});
  else
    plan(input, "experiment.lua");
}

std::vector<Input> template_seeds() {
  auto seeds = files_as_seeds("templates/slurm", ".sbatch");
  seeds.push_back(
      {{"",
        "#!/bin/bash\n#SBATCH --nodes={{ run.nodes }}\n% for i = 1, 2 do\necho {{ i }}\n% end\n"}});
  return seeds;
}

void enter_template(const Input& input) {
  static const auto runs = [] {
    std::vector<plan::Run> read;
    for (const auto& seed : files_as_seeds("tests/golden", "run.json")) {
      auto run = plan::parse_run(bytes_of(seed), "run.json");
      if (!run) throw std::runtime_error(text(run.error()));
      read.push_back(std::move(*run));
    }
    return read;
  }();
  auto source = render::Template::parse(bytes_of(input), "job.sbatch");
  if (!source) return;
  const auto& run = runs[choice(input, runs.size())];
  (void)render::render_job(*source, run, {"../../bin", "0", 1.5});
}

}  // namespace orch::fuzz
