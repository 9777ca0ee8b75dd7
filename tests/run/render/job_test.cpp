#include "core/run/render/job.h"

#include "tests/run/render/run.h"

using namespace orch;
using namespace orch::render;

namespace {

Errors errors_of(const plan::Run& run, const Context& where = context()) {
  auto source = Template::parse("x\n", "t");
  REQUIRE(source);
  auto result = render_job(*source, run, where);
  REQUIRE_FALSE(result);
  return result.error();
}

fs::path shipped() { return fs::path(ORCH_SOURCE_DIR) / "templates/slurm"; }

}  // namespace

TEST_CASE("a run without a ramp-up is one script", "[render]") {
  const auto made = scripts(two_nodes());
  REQUIRE(made.size() == 1);
  CHECK(made[0].name == "job.sbatch");
}

TEST_CASE("a ramp-up is one script per number of nodes", "[render]") {
  // Batches 8, 16, 24 of 1000 samples each, then 32. With micro_batch 2 and 8 ranks at the end, 24
  // divides by 4 of them, and so do the smaller ones; 4 GPUs per replica and node.
  const auto made = scripts(ramp_up());
  REQUIRE(made.size() == 2);
  struct Expected {
    const char *name, *nodes, *ranks, *data, *batches;
  };
  const Expected expected[] = {
      {"job.sbatch", "#SBATCH --nodes=4\n", "planned_ranks=16\n", "ORCH_DATA_PARALLEL=4\n",
       "ORCH_PHASE_FIRST_BATCH=8 ORCH_PHASE_LAST_BATCH=24\n"},
      {"job-2.sbatch", "#SBATCH --nodes=8\n", "planned_ranks=32\n", "ORCH_DATA_PARALLEL=8\n",
       "ORCH_PHASE_FIRST_BATCH=32 ORCH_PHASE_LAST_BATCH=32\n"}};
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(made[i].name == expected[i].name);
    for (const char* line :
         {expected[i].nodes, expected[i].ranks, expected[i].data, expected[i].batches})
      CHECK(contains(made[i].text, line));
    CHECK(contains(made[i].text, "ORCH_PHASE=" + std::to_string(i + 1) + " ORCH_PHASES=2\n"));
  }
  CHECK(contains(made[0].text, "ORCH_PHASE_SAMPLES=3000 "));
}

TEST_CASE("a job is told to stop two steps and the time to save before its limit", "[render]") {
  auto run = two_nodes();
  run.job.time = "20:00:00";
  run.job.signal_seconds = 600;
  auto slow = context();
  slow.step_seconds = 781.6;
  const auto made = Renderer(shipped()).render(run, slow);
  REQUIRE(made);
  CHECK(contains(made->front().text, "#SBATCH --signal=B:USR1@2164\n"));  // 600 + 2 * 781.6
}

TEST_CASE("every word that an SBATCH line cannot carry is reported at once", "[render]") {
  auto run = two_nodes();
  run.job.account = "a b";
  run.job.qos = "x\n#SBATCH --uid=0";
  run.job.partition = "$(id)";
  run.job.options = {"--fine=1", "rm -rf /"};
  run.job.environment = {{"A-B", "x"}, {"GOOD", std::string("nul\0", 4)}};
  const auto errors = errors_of(run);
  std::vector<std::string> places;
  for (const auto& error : errors) places.push_back(error.place);
  CHECK(places == std::vector<std::string>{"job.partition", "job.account", "job.qos",
                                           "job.options[2]", "job.environment.A-B",
                                           "job.environment.GOOD"});
}

TEST_CASE("a run id that is no plain name is refused", "[render]") {
  auto run = two_nodes();
  run.id = "a\nb";
  CHECK(errors_of(run).front().place == "run.id");
}

TEST_CASE("a cluster's own template goes before the default", "[render]") {
  const TemporaryFolder folder;
  write(folder.path() / "default.sbatch", "default\n");
  CHECK(template_for(folder.path(), "jean-zay").filename() == "default.sbatch");
  write(folder.path() / "jean-zay.sbatch", "own\n");
  CHECK(template_for(folder.path(), "jean-zay").filename() == "jean-zay.sbatch");
  CHECK(template_for(folder.path(), "ours", "jean-zay").filename() == "jean-zay.sbatch");
  CHECK(template_for(folder.path() / "x", "../jean-zay").filename() == "default.sbatch");
}

TEST_CASE("a renderer finds the template of each cluster", "[render]") {
  const TemporaryFolder folder;
  write(folder.path() / "default.sbatch", "default\n");
  write(folder.path() / "test-cluster.sbatch", "own {{ run.id }}\n");
  Renderer renderer(folder.path());
  auto own = renderer.render(two_nodes(), context());
  REQUIRE(own);
  CHECK(own->front().text == "own gpt-12345678\n");
  auto run = two_nodes();
  auto cluster = std::make_shared<plan::Cluster>(*run.cluster);
  cluster->name = "other";
  run.partition = &cluster->partitions.front();
  run.cluster = cluster;
  auto other = renderer.render(run, context());
  REQUIRE(other);
  CHECK(other->front().text == "default\n");
}

TEST_CASE("the same run gives the same script", "[render]") {
  Renderer renderer(shipped());
  auto first = renderer.render(two_nodes(), context());
  auto between = renderer.render(ramp_up(), context());
  auto again = renderer.render(two_nodes(), context());
  REQUIRE(first);
  REQUIRE(between);
  REQUIRE(again);
  CHECK(first->front().text == again->front().text);
}

TEST_CASE("a cluster's variables cannot replace the script's own, but its settings can be given",
          "[render]") {
  auto run = two_nodes();
  run.job.environment = {{"ORCH_NODE_CHECK", "true"},
                         {"ORCH_TRAINER", "x"},
                         {"ORCH_PHASE", "2"},
                         {"folder", "/"},
                         {"MASTER_PORT", "1"}};
  std::vector<std::string> places;
  for (const auto& error : errors_of(run)) places.push_back(error.place);
  CHECK(places == std::vector<std::string>{"job.environment.MASTER_PORT",
                                           "job.environment.ORCH_PHASE", "job.environment.folder"});
}
