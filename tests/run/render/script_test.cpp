// Every requirement on a rendered job, checked in its text.

#include "core/base/text.h"
#include "tests/run/render/run.h"

using namespace orch;
using namespace orch::render;

namespace {

std::string text_of(const plan::Run& run) { return scripts(run).front().text; }

std::vector<std::string> directives(const std::string& script) {
  std::vector<std::string> found;
  for (const auto& line : split(script, '\n'))
    if (line.starts_with("#SBATCH ")) found.push_back(line.substr(8));
  return found;
}

bool has_line(const std::string& script, const std::string& line) {
  const auto lines = split(script, '\n');
  return std::any_of(lines.begin(), lines.end(),
                     [&](const auto& candidate) { return trim(candidate) == line; });
}

// One run for each hostile string, as trainer, trainers' folder and variable.
std::vector<DraftContent> hostile_scripts() {
  std::vector<DraftContent> all;
  for (const auto& hostile : hostile_strings()) {
    auto run = two_nodes();
    run.job.environment["HOSTILE"] = hostile;
    run.trainer = hostile;
    all.push_back(scripts(run, {hostile, "0.1.0"}).front());
  }
  return all;
}

// Fewer, because shellcheck takes half a second for each: all the hostile strings at once.
std::vector<DraftContent> varied_scripts() {
  auto hostile = two_nodes();
  std::string all_of_them;
  for (const auto& text : hostile_strings()) {
    hostile.job.environment["V" + std::to_string(hostile.job.environment.size())] = text;
    all_of_them += text;
  }
  hostile.trainer = all_of_them;
  auto all = scripts(hostile, {all_of_them, "0.1.0"});
  for (const auto& run : {two_nodes(), bare(), ramp_up()})
    for (const auto& script : scripts(run)) all.push_back(script);
  return all;
}

// Writes the scripts into the folder and returns their names, quoted.
std::string write_all(const std::vector<DraftContent>& made, const fs::path& folder) {
  std::string files;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto path = folder / ("job" + std::to_string(i) + ".sbatch");
    write(path, made[i].text);
    files += " " + shell_quote(path.string());
  }
  return files;
}

}  // namespace

TEST_CASE("bash accepts every script", "[render]") {
  const TemporaryFolder folder;
  const auto files = write_all(hostile_scripts(), folder.path());
  const auto parsed = bash("for f in" + files + "; do bash -n \"$f\" || exit 1; done");
  CHECK(parsed.output == "");
  CHECK(parsed.exit_code == 0);
}

TEST_CASE("shellcheck accepts every script", "[render]") {
  const TemporaryFolder folder;
  const auto checked = bash("shellcheck --norc" + write_all(varied_scripts(), folder.path()));
  CHECK(checked.output == "");
  CHECK(checked.exit_code == 0);
}

TEST_CASE("the words of the cluster reach sbatch", "[render]") {
  CHECK(directives(text_of(two_nodes())) ==
        std::vector<std::string>{
            "--job-name=gpt-12345678", "--comment=gpt-12345678", "--nodes=2", "--ntasks-per-node=4",
            "--gres=gpu:4", "--partition=gpu_p5", "--account=six@a100", "--qos=qos_gpu-t3",
            "--constraint='a100&nvme'", "--reservation=hug", "--hint=nomultithread",
            "--time=20:00:00", "--cpus-per-task=8", "--signal=B:USR1@900", "--requeue",
            "--open-mode=append", "--output=slurm-%j.log", "'--exclude=node[1-4]'",
            "--mail-type=END"});
}

TEST_CASE("what is not given is not given", "[render]") {
  CHECK(directives(text_of(bare())) ==
        std::vector<std::string>{"--job-name=gpt-12345678", "--comment=gpt-12345678", "--nodes=1",
                                 "--ntasks-per-node=4", "--gres=gpu:4", "--signal=B:USR1@600",
                                 "--requeue", "--open-mode=append", "--output=slurm-%j.log"});
}

TEST_CASE("a given gres is taken as it is", "[render]") {
  auto run = two_nodes();
  run.job.gres = "gpu:a100:4";
  CHECK(has_line(text_of(run), "#SBATCH --gres=gpu:a100:4"));
}

TEST_CASE("spare nodes are asked for beside the run's", "[render]") {
  auto run = two_nodes();
  run.job.spare_nodes = 3;
  CHECK(has_line(text_of(run), "#SBATCH --nodes=5"));
  CHECK(has_line(text_of(run), "planned_nodes=2"));
}

TEST_CASE("a run on part of a node asks for that part", "[render]") {
  auto run = bare();
  run.gpus = 1;
  run.layout = {1, 1, 1};
  const auto script = text_of(run);
  CHECK(has_line(script, "#SBATCH --ntasks-per-node=1"));
  CHECK(has_line(script, "#SBATCH --gres=gpu:1"));
}

TEST_CASE("every directive stands before the first command", "[render]") {
  const auto script = text_of(two_nodes());
  const auto last = script.rfind("\n#SBATCH ");
  const auto body = script.find("\nset -euo pipefail\n");
  CHECK(script.starts_with("#!/bin/bash\n#SBATCH "));
  CHECK(last < body);
  for (const auto& line : split(script.substr(0, body), '\n'))
    if (!line.empty()) CHECK(line[0] == '#');
}

TEST_CASE("the signal comes early, but not at the start of a short job", "[render]") {
  auto run = bare();
  run.job.time = "00:10:00";  // a fifth of 600 s
  CHECK(has_line(text_of(run), "#SBATCH --signal=B:USR1@120"));
  run.job.time = "1-00:00:00";
  CHECK(has_line(text_of(run), "#SBATCH --signal=B:USR1@600"));
  run.job.time = "10-00:00:00";
  run.job.signal_seconds = 100000;  // SLURM's maximum is 65535
  CHECK(has_line(text_of(run), "#SBATCH --signal=B:USR1@65535"));
}

TEST_CASE("a cluster's signal does not come at the start of an experiment's short job",
          "[render]") {
  auto run = bare();
  run.job.signal_seconds = 600;
  run.job.time = "00:10:00";
  CHECK(has_line(text_of(run), "#SBATCH --signal=B:USR1@300"));
  run.job.time = "00:20:00";
  CHECK(has_line(text_of(run), "#SBATCH --signal=B:USR1@600"));
  run.job.time = "00:01:00";
  CHECK(has_line(text_of(run), "#SBATCH --signal=B:USR1@30"));
}

TEST_CASE("a later phase does not wait forever for one that failed", "[render]") {
  const auto made = scripts(ramp_up());
  REQUIRE(made.size() > 1);
  CHECK_FALSE(has_line(made[0].text, "#SBATCH --kill-on-invalid-dep=yes"));
  for (std::size_t i = 1; i < made.size(); ++i)
    CHECK(has_line(made[i].text, "#SBATCH --kill-on-invalid-dep=yes"));
}

TEST_CASE("srun gets what SLURM no longer hands on, and ends with its first failure", "[render]") {
  const auto script = text_of(two_nodes());
  CHECK(contains(script, "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK"));
  CHECK(contains(script, "--kill-on-bad-exit=1 --wait=60"));
  CHECK(contains(script, "srun --nodes=\"$planned_nodes\" --nodelist=\"${list%,}\""));
  CHECK(contains(script, "    --hint=nomultithread \\\n"));
  CHECK(contains(script, "unset \"${!SLURM_CPU_BIND@}\""));
  CHECK_FALSE(contains(text_of(bare()), "--hint"));
}

TEST_CASE("the master's port is outside the ephemeral range", "[render]") {
  // Linux uses 32768-60999; the expression covers 20000-29999.
  CHECK(has_line(text_of(two_nodes()), "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))"));
}

TEST_CASE("a rank's own variables are expanded by the rank", "[render]") {
  CHECK(contains(text_of(two_nodes()),
                 "bash -c 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID"));
}

TEST_CASE("errors of NCCL end a rank, and output is not held back", "[render]") {
  const auto script = text_of(two_nodes());
  CHECK(contains(script, "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1"));
  CHECK(contains(script, "PYTHONUNBUFFERED=1"));
  CHECK(contains(script, "--unbuffered"));
}

TEST_CASE("the site's variables and setup are in the script", "[render]") {
  const auto script = text_of(two_nodes());
  CHECK(has_line(script, "export CUDA_LAUNCH_BLOCKING=1"));
  CHECK(has_line(script, "export NCCL_DEBUG=WARN"));
  CHECK(has_line(script, "echo the site is set up"));
}
