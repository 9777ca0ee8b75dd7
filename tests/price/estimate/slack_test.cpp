#include "core/plan/family.h"
#include "core/price/estimate/estimate.h"
#include "core/price/estimate/fit.h"
#include "tests/test.h"

using namespace orch;
using estimate::allocator_slack;

namespace slack_test {
namespace {

// 80 GB, of which the context takes 1.
plan::Partition partition(double slack) {
  plan::Partition made;
  made.gpus_per_node = 4;
  made.gpu.usable_memory.value = 80e9;
  made.gpu.context_memory.value = 1e9;
  made.gpu.memory_bandwidth.value = 1e12;
  made.gpu.peaks["bf16"].value = 100e12;
  made.host_memory.value = 100e9;
  made.efficiency.memory.value = 1;
  made.efficiency.tight.value = 0.9;
  made.efficiency.allocator_slack.value = slack;
  return made;
}

}  // namespace

TEST_CASE("slack is a share of what is held while there is room", "[estimate][slack]") {
  CHECK(allocator_slack(partition(0.2), 10e9) == Approx(2e9));
  CHECK(allocator_slack(partition(0.2), 50e9) == Approx(10e9));       // 0.63 of 29 would be more
  CHECK(allocator_slack(partition(0.2), 50e9, 40e9) == Approx(2e9));  // only of the rest
  CHECK(allocator_slack(partition(0.2), 0) == 0);
  CHECK(allocator_slack(partition(0), 50e9) == 0);
}

// 79 - 70 GB are left: 0.63 of them, less than 14 and more than 0.05 * 70.
TEST_CASE("slack gives way as the device fills up", "[estimate][slack]") {
  CHECK(allocator_slack(partition(0.2), 70e9) == Approx(0.63 * 9e9));
}

TEST_CASE("some slack is left on a full device", "[estimate][slack]") {
  CHECK(allocator_slack(partition(0.2), 78e9) == Approx(0.05 * 78e9));
  CHECK(allocator_slack(partition(0.2), 100e9) == Approx(5e9));
  // Never more than the share.
  CHECK(allocator_slack(partition(0.02), 78e9) == Approx(0.02 * 78e9));
}

TEST_CASE("the first stage's memory is told beside the peak", "[estimate][slack]") {
  auto cluster = std::make_shared<plan::Cluster>();
  cluster->partitions.push_back(partition(0.1));
  plan::Run run;
  run.cluster = cluster;
  run.partition = &cluster->partitions.front();
  run.strategy = std::make_shared<const plan::Strategy>();
  run.model = plan::sized("gpt", "m", 4, 1024, 8, 1000, 100);
  run.gpus = 4;
  run.nodes = 1;
  run.layout = {1, 4, 1};
  run.batch = {1, 1, 1, {}};
  backend::Work work;
  work.stages = 4;
  work.blocks.push_back({"layer", 0, 1});
  work.ops.emplace_back().data.kind = ORCH_MEMORY;
  work.ops[0].data.bytes = 1e12;
  work.ops[0].data.forward = 1;
  work.stage_list.push_back({0, 3, 0});
  work.counts = {1};
  work.memory.push_back({"weights", "", ORCH_DEVICE, 0, 3, 20e9});
  work.memory.push_back({"embedding", "", ORCH_DEVICE, 0, 0, 10e9});
  work.memory.push_back({"logits", "", ORCH_DEVICE, 3, 3, 30e9});
  auto made = estimate::Estimator().estimate(run, work);
  CHECK(made.first_stage_memory == Approx(30e9 * 1.1 + 1e9));
  CHECK(made.peak_memory == Approx(50e9 * 1.1 + 1e9));
  CHECK(made.peak_stage == 3);
  work.memory.pop_back();
  made = estimate::Estimator().estimate(run, work);
  CHECK(made.first_stage_memory == made.peak_memory);
  CHECK(made.peak_stage == 0);
}

}  // namespace slack_test
