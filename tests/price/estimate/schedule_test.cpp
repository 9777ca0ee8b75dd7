#include "core/plan/family.h"
#include "core/price/estimate/estimate.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::estimate;

namespace schedule_test {
namespace {

// Nodes of 4 GPUs, 1 TB/s of memory bandwidth: an operation of n TB takes n seconds.
struct ToySchedule {
  std::shared_ptr<plan::Cluster> cluster = std::make_shared<plan::Cluster>();
  plan::Run run;

  ToySchedule() {
    auto& partition = cluster->partitions.emplace_back();
    partition.gpus_per_node = 4;
    partition.nodes = 100;
    partition.gpu.memory_bandwidth.value = 1e12;
    partition.gpu.peaks["bf16"].value = 100e12;
    partition.gpu.usable_memory.value = 80e9;
    partition.host_memory.value = 100e9;
    partition.efficiency.memory.value = 1;
    partition.efficiency.tight.value = 1;
    partition.efficiency.memory_spread.value = 0;
    run.cluster = cluster;
    run.partition = &partition;
    run.strategy = std::make_shared<const plan::Strategy>();
    run.model = plan::sized("gpt", "m", 4, 1024, 8, 1000, 2048);
    set({1, 1, 16}, {1, 4, 64, {}});
  }

  void set(plan::Layout layout, plan::Batch batch) {
    run.layout = layout;
    run.gpus = layout.ranks();
    run.nodes = run.gpus / 4;
    run.batch = batch;
  }
  void samples(double count) { run.tokens = count * 2048; }

  // Each micro-batch takes 2 s. The end of a step takes 0.1 s for each data-parallel rank, so that
  // the result depends on the layout; the states are shared by the ranks.
  static Status work(const plan::Run& run, backend::Work& out) {
    out.clear();
    const auto ranks = static_cast<double>(run.layout.data_parallel);
    out.micro_batches = run.batch.accumulate;
    out.blocks.push_back({"layer", 0, 2});
    for (const double seconds : {2.0, 0.1 * ranks}) {
      auto& op = out.ops.emplace_back();
      op.data.kind = ORCH_MEMORY;
      op.data.bytes = seconds * 1e12;
    }
    out.ops[0].data.forward = 1;
    out.ops[1].data.step = 1;
    out.stage_list.push_back({0, 0, 0});
    out.counts = {1};
    out.memory.push_back({"states", "", ORCH_DEVICE, 0, 0, 640e9 / ranks});
    return {};
  }

  plan::Estimate estimate() const {
    backend::Work full;
    REQUIRE(work(run, full));
    Estimator estimator;
    auto out = estimator.estimate(run, full);
    REQUIRE(estimator.schedule(run, work, out));
    return out;
  }
};

double samples(const plan::Estimate& estimate) {
  double sum = 0;
  for (const auto& stretch : estimate.schedule) sum += stretch.samples;
  return sum;
}

}  // namespace

// 4 micro-batches of 2 s and 1.6 s; 1000 steps of 64 samples.
TEST_CASE("a constant batch is one stretch", "[estimate][schedule]") {
  ToySchedule toy;
  toy.samples(64'000);
  const auto made = toy.estimate();
  REQUIRE(made.schedule.size() == 1);
  const auto& all = made.schedule.front();
  CHECK(all.first_batch == 64);
  CHECK(all.last_batch == 64);
  CHECK(all.nodes == 4);
  CHECK(all.gpus == 16);
  CHECK(all.samples == Approx(64'000));
  CHECK(all.tokens == Approx(64'000 * 2048));
  CHECK(all.first_step_seconds == Approx(9.6));
  CHECK(all.last_step_seconds == Approx(9.6));
  CHECK(all.seconds == Approx(9600));
  CHECK(all.gpu_hours == Approx(9600 * 16 / 3600.0));
  CHECK(all.tflops_per_gpu == Approx(made.tflops_per_gpu));
  CHECK(made.days_to_train == Approx(9600 / 86400.0));
  CHECK(made.gpu_hours == Approx(all.gpu_hours));
}

// BLOOM's --rampup-batch-size 16 16 9_765_625 to 2048, 20.0B tokens of ramp: 127 batches share its
// samples, at batch / 8 micro-batches of two samples on 4 ranks; a step ends with 0.4 s.
TEST_CASE("a ramp-up is the integral over its batches", "[estimate][schedule]") {
  ToySchedule toy;
  toy.set({1, 1, 4}, {2, 256, 2048, plan::RampUp{16, 16, 9'765'625, false}});
  toy.samples(20e6);
  const auto made = toy.estimate();

  double ramp = 0;
  for (int batch = 16; batch < 2048; batch += 16)
    ramp += 9'765'625 / 127.0 / batch * (batch / 8.0 * 2 + 0.4);
  const double full = (20e6 - 9'765'625) / 2048 * (256 * 2 + 0.4);

  REQUIRE(made.schedule.size() == 2);
  CHECK(made.schedule[0].first_batch == 16);
  CHECK(made.schedule[0].last_batch == 2032);
  CHECK(made.schedule[0].tokens == Approx(20.0e9));
  CHECK(made.schedule[0].first_step_seconds == Approx(4.4));
  CHECK(made.schedule[0].last_step_seconds == Approx(508.4));
  CHECK(made.schedule[0].seconds == Approx(ramp));
  CHECK(made.schedule[1].first_batch == 2048);
  CHECK(made.schedule[1].seconds == Approx(full));
  CHECK(samples(made) == Approx(20e6));
  CHECK(made.days_to_train == Approx((ramp + full) / 86400));
  CHECK(made.gpu_hours == Approx((ramp + full) * 4 / 3600));
  // Small steps have the same fixed costs as large ones: the ramp is the less efficient part.
  CHECK(made.schedule[0].tflops_per_gpu < made.schedule[1].tflops_per_gpu);
  CHECK(made.schedule[1].tflops_per_gpu == Approx(made.tflops_per_gpu));
}

// 48 divides by 16 ranks but not by 32, and nodes never shrink: batches of 16, 32 and 48 train on
// 4 nodes, 1 to 3 micro-batches of 2 s and 16 * 0.1 s; the full 64 on 16, one of 2 s and 6.4 s.
TEST_CASE("each phase on fewer nodes is priced at its own layout", "[estimate][schedule]") {
  ToySchedule toy;
  toy.set({1, 1, 64}, {1, 1, 64, plan::RampUp{16, 16, 48'000, true}});
  toy.samples(112'000);
  const auto made = toy.estimate();
  double ramp = 0;
  for (const int batch : {16, 32, 48}) ramp += 16'000.0 / batch * (batch / 16 * 2 + 1.6);
  const double full = 1000 * 8.4;
  REQUIRE(made.schedule.size() == 2);
  CHECK(made.schedule[0].data_parallel == 16);
  CHECK(made.schedule[0].nodes == 4);
  CHECK(made.schedule[0].gpus == 16);
  CHECK(made.schedule[0].first_batch == 16);
  CHECK(made.schedule[0].last_batch == 48);
  CHECK(made.schedule[0].seconds == Approx(ramp));
  CHECK(made.schedule[1].nodes == 16);
  CHECK(made.schedule[1].seconds == Approx(full));
  CHECK(samples(made) == Approx(112'000));
  CHECK(made.days_to_train == Approx((ramp + full) / 86400));
  CHECK(made.gpu_hours == Approx((ramp * 16 + full * 64) / 3600));
}

// 640 GB over 64 ranks are 10 GB each, over the first phase's 4 they are 160.
TEST_CASE("a phase that does not fit spoils the run", "[estimate][schedule]") {
  ToySchedule toy;
  toy.set({1, 1, 64}, {1, 1, 64, plan::RampUp{4, 60, 1000, true}});
  toy.samples(10'000);
  const auto made = toy.estimate();
  CHECK(made.peak_memory == Approx(10e9));
  CHECK(made.fit == plan::MemoryFit::oom);
  CHECK(made.fit_reason == "160.0 GB of 80.0 GB on the GPU, for batches of 4 to 4 on 1 node");
}

TEST_CASE("a phase that fits changes nothing", "[estimate][schedule]") {
  ToySchedule toy;
  toy.set({1, 1, 64}, {1, 1, 64, plan::RampUp{16, 48, 1000, true}});  // 40 GB each
  toy.samples(10'000);
  const auto made = toy.estimate();
  CHECK(made.fit == plan::MemoryFit::fits);
  CHECK(made.fit_reason.empty());
}

TEST_CASE("a training that ends in its ramp-up has no full batch", "[estimate][schedule]") {
  ToySchedule toy;
  toy.set({1, 1, 16}, {1, 4, 64, plan::RampUp{16, 16, 48'000, false}});
  toy.samples(24'000);  // 16,000 at 16, 8,000 at 32
  const auto made = toy.estimate();
  REQUIRE(made.schedule.size() == 1);
  CHECK(made.schedule[0].last_batch == 32);
  CHECK(made.schedule[0].seconds == Approx(1000 * 3.6 + 250 * 5.6));
  CHECK(samples(made) == Approx(24'000));
}

TEST_CASE("a backend that cannot answer for a phase is an error", "[estimate][schedule]") {
  ToySchedule toy;
  toy.set({1, 1, 64}, {1, 1, 64, plan::RampUp{16, 48, 1000, true}});
  toy.samples(10'000);
  backend::Work full;
  REQUIRE(ToySchedule::work(toy.run, full));
  Estimator estimator;
  auto made = estimator.estimate(toy.run, full);
  const auto refuse = [](const plan::Run& run, backend::Work&) -> Status {
    return Error{"toy", "asked for " + std::to_string(run.gpus) + " GPUs", ""};
  };
  const auto status = estimator.schedule(toy.run, refuse, made);
  REQUIRE_FALSE(status);
  CHECK(text(status.error()) == "toy: asked for 16 GPUs");
}

}  // namespace schedule_test
