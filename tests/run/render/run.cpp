#include "tests/run/render/run.h"

#include <sys/wait.h>

#include "core/base/text.h"
#include "core/plan/family.h"

namespace orch::render {
namespace {

plan::StrategyPtr strategy() {
  auto strategy = std::make_shared<plan::Strategy>();
  strategy->name = "megatron";
  strategy->backend = "megatron";
  for (const auto* name : {"sequence_parallel", "zero_stage", "dtype", "not_given"}) {
    plan::Param param;
    param.name = name;
    strategy->params.push_back(param);
  }
  return strategy;
}

plan::SlurmSettings everything() {
  plan::SlurmSettings job;
  job.partition = "gpu_p5";
  job.account = "six@a100";
  job.qos = "qos_gpu-t3";
  job.constraint = "a100&nvme";
  job.reservation = "hug";
  job.hint = "nomultithread";
  job.time = "20:00:00";
  job.cpus_per_gpu = 8;
  job.signal_seconds = 900;
  job.options = {"--exclude=node[1-4]", "--mail-type=END"};
  job.environment = {{"NCCL_DEBUG", "WARN"}, {"CUDA_LAUNCH_BLOCKING", "1"}};
  job.setup = "echo the site is set up";
  return job;
}

plan::Run make_run(std::int64_t nodes, std::int64_t data_parallel) {
  auto cluster = std::make_shared<plan::Cluster>();
  cluster->name = "test-cluster";
  plan::Partition partition;
  partition.name = "gpu_p5";
  partition.gpus_per_node = 4;
  partition.nodes = 100;
  cluster->partitions.push_back(partition);

  plan::Run run;
  run.experiment = "demo";
  run.strategy = strategy();
  run.settings = {true, std::int64_t{1}, std::string("bf16"), std::monostate{}};
  run.model = plan::sized("gpt", "gpt", 24, 2048, 16, 50304, 2048);
  run.partition = &cluster->partitions.front();
  run.cluster = cluster;
  run.nodes = nodes;
  run.gpus = nodes * 4;
  run.layout = {2, 2, data_parallel};
  run.batch = {2, 2, data_parallel * 4, std::nullopt};
  run.tokens = 3e11;
  run.id = "gpt-12345678";
  run.stack = "orch-megatron";
  return run;
}

}  // namespace

plan::Run two_nodes() {
  auto run = make_run(2, 2);
  run.job = everything();
  return run;
}

plan::Run ramp_up() {
  auto run = make_run(8, 8);
  run.job = everything();
  run.batch = {2, 2, 32, plan::RampUp{8, 8, 3000, true}};
  return run;
}

plan::Run bare() { return make_run(1, 1); }

Context context() { return {"../../bin", "0.1.0"}; }

std::vector<DraftContent> scripts(const plan::Run& run, const Context& where) {
  auto source = Template::load(fs::path(ORCH_SOURCE_DIR) / "templates/slurm/default.sbatch");
  if (!source) FAIL(text(source.error()));
  auto result = render_job(*source, run, where);
  if (!result) FAIL(text(result.error()));
  return *result;
}

std::string rendered(const std::string& source_text) {
  auto source = Template::parse(source_text, "t.sbatch");
  if (!source) FAIL(text(source.error()));
  const auto run = two_nodes();
  auto result = source->render(run, {plan::phases(run).front(), 1, 1}, context());
  if (!result) FAIL(text(result.error()));
  return *result;
}

Error render_error(const std::string& source_text) {
  auto source = Template::parse(source_text, "t.sbatch");
  if (!source) return source.error().front();
  const auto run = two_nodes();
  auto result = source->render(run, {plan::phases(run).front(), 1, 1}, context());
  REQUIRE_FALSE(result);
  return result.error().front();
}

Finished bash(const std::string& script) {
  Finished finished;
  const auto command = "exec bash -c " + shell_quote(script) + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::array<char, 4096> buffer;
  std::size_t size = 0;
  while ((size = fread(buffer.data(), 1, buffer.size(), pipe)) > 0)
    finished.output.append(buffer.data(), size);
  const int status = pclose(pipe);
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

TemporaryFolder::TemporaryFolder(const std::string& name) {
  path_ = place_.root() / name;
  fs::create_directories(path_);
}

void write(const fs::path& path, const std::string& text, bool executable) {
  std::ofstream(path, std::ios::binary) << text;
  if (executable) fs::permissions(path, fs::perms::owner_all);
}

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::vector<std::string>& hostile_strings() {
  static const std::vector<std::string> strings = {
      "",
      "plain",
      "two words",
      " leading and trailing ",
      "$(touch pwned)",
      "`touch pwned`",
      "${HOME}",
      "'; touch pwned; '",
      "\"double\"",
      "it's",
      "''",
      "back\\slash\\",
      "new\nline",
      "trailing newline\n",
      "-rf",
      "--help",
      "~root",
      "* ? [a-z]",
      "a{b,c}d",
      "#comment",
      "!history",
      "tab\tcarriage\rbell\a",
      "caf\xc3\xa9",
      "bytes \xff\xfe",
      "{{ run.id }}",
      "%s %d %%",
      "a=b",
      "x;y&z|w>v<u",
  };
  return strings;
}

}  // namespace orch::render
