#include "core/render/job.h"

#include "tests/render/run.h"

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
  // Batches 8, 16, 24 of 1000 samples each, then 32. With micro_batch 2 and 4 GPUs per replica they
  // divide by 4, 8, 6 (24 = 6 * 2 * 2) and 8 ranks: 4, 8, 6 and 8 nodes of 4 GPUs.
  const auto made = scripts(ramp_up());
  REQUIRE(made.size() == 4);
  const std::pair<int, int> nodes_and_batch[] = {{4, 8}, {8, 16}, {6, 24}, {8, 32}};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto [nodes, batch] = nodes_and_batch[i];
    const auto& script = made[i];
    CHECK(script.name == (i == 0 ? "job.sbatch" : "job-" + std::to_string(i + 1) + ".sbatch"));
    CHECK(contains(script.text, "#SBATCH --nodes=" + std::to_string(nodes) + "\n"));
    CHECK(contains(script.text, "planned_ranks=" + std::to_string(nodes * 4) + "\n"));
    CHECK(contains(script.text, "ORCH_DATA_PARALLEL=" + std::to_string(nodes) + "\n"));
    CHECK(contains(script.text, "ORCH_PHASE=" + std::to_string(i + 1) + " ORCH_PHASES=4\n"));
    CHECK(contains(script.text, "ORCH_PHASE_FIRST_BATCH=" + std::to_string(batch) +
                                    " ORCH_PHASE_LAST_BATCH=" + std::to_string(batch) + "\n"));
    if (i < 3) CHECK(contains(script.text, "ORCH_PHASE_SAMPLES=1000 "));
  }
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
  auto where = context();
  where.id = "a\nb";
  CHECK(errors_of(two_nodes(), where).front().place == "run.id");
}

TEST_CASE("a run folder must be an absolute path", "[render]") {
  CHECK(errors_of(two_nodes(), context("runs/x")).front().place == "runs/x");
}

TEST_CASE("a cluster's own template goes before the default", "[render]") {
  const TemporaryFolder folder;
  write(folder.path() / "default.sbatch", "default\n");
  CHECK(template_for(folder.path(), "jean-zay").filename() == "default.sbatch");
  write(folder.path() / "jean-zay.sbatch", "own\n");
  CHECK(template_for(folder.path(), "jean-zay").filename() == "jean-zay.sbatch");
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
