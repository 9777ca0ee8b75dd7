#include "core/price/estimate/estimate.h"

#include "core/plan/family.h"
#include "tests/test.h"
#include "tests/train/pipeline/clockwork.h"

using namespace orch;
using namespace orch::estimate;

namespace estimate_test {
namespace {

// Memory-bound operations at 1 TB/s, so that bytes read as seconds.
plan::Partition partition() {
  plan::Partition made;
  made.name = "toy";
  made.gpus_per_node = 4;
  made.nodes = 100;
  made.gpu.memory_bandwidth.value = 1e12;
  made.gpu.peaks["bf16"].value = 100e12;
  made.gpu.usable_memory.value = 80e9;
  made.gpu.context_memory.value = 1e9;
  made.host_memory.value = 100e9;
  made.host_memory_bandwidth.value = 2e12;
  made.pcie.bandwidth.value = 1e12;
  made.pcie.efficiency.value = 1;
  made.efficiency.memory.value = 1;
  made.efficiency.host.value = 0.5;
  made.efficiency.overlap.value = 0.5;
  made.efficiency.allocator_slack.value = 0.1;
  made.efficiency.tight.value = 0.9;
  made.efficiency.step_overhead.value = 0.25;
  return made;
}

struct ToyBackend {
  std::shared_ptr<plan::Cluster> cluster = std::make_shared<plan::Cluster>();
  plan::Run run;
  backend::Work work;

  ToyBackend() {
    cluster->partitions.push_back(partition());
    run.cluster = cluster;
    run.partition = &cluster->partitions.front();
    run.strategy = std::make_shared<const plan::Strategy>();
    run.model = plan::sized("gpt", "m", 4, 1024, 8, 1000, 100);
    run.gpus = 16;
    run.nodes = 4;
    run.layout = {1, 4, 4};
    run.batch = {1, 10, 40, {}};
    run.tokens = 4e6;
  }

  void block(const char* name) { work.blocks.push_back({name, work.ops.size(), 0}); }
  void op(double forward, double backward, double step, double seconds,
          std::uint32_t hidden = ORCH_OPEN, std::uint32_t kind = ORCH_MEMORY) {
    backend::Op made;
    made.data.kind = kind;
    made.data.bytes = seconds * 1e12;
    made.data.forward = forward;
    made.data.backward = backward;
    made.data.step = step;
    made.data.hidden = hidden;
    made.name = "op";
    work.ops.push_back(made);
    ++work.blocks.back().n_ops;
  }
  void stages(std::int64_t first, std::int64_t last, std::vector<double> counts) {
    work.stage_list.push_back({first, last, work.counts.size()});
    work.counts.insert(work.counts.end(), counts.begin(), counts.end());
  }
};

double sum(const std::vector<plan::EstimateItem>& items) {
  double total = 0;
  for (const auto& item : items) total += item.amount;
  return total;
}

// One GPU, three micro-batches of a layer: 4 s forward, 8 s back, and operations that may overlap
// them.
struct Hidden {
  double forward, backward, step, seconds;
  std::uint32_t under, kind;
};
double step_with(const std::vector<Hidden>& hidden) {
  ToyBackend toy;
  toy.run.gpus = toy.run.nodes = 1;
  toy.work.stages = 1;
  toy.work.micro_batches = 3;
  toy.block("layer");
  toy.op(1, 2, 0, 4);
  for (const auto& [forward, backward, step, seconds, under, kind] : hidden)
    toy.op(forward, backward, step, seconds, under, kind);
  toy.stages(0, 0, {1});
  const auto estimate = Estimator().explain(toy.run, toy.work);
  CHECK(sum(estimate.time) == Approx(estimate.step_seconds));
  return estimate.step_seconds - 0.25;
}

}  // namespace

// Stages of 1, 2, 2 and 3 layers, a layer taking 1 s forward and 2 s back; ten micro-batches.
// (m - 1) * slowest + once through all: 9 * 9 + (3 + 6 + 6 + 9) = 105; the step's end 0.5 + 0.25.
TEST_CASE("the slowest stage sets the beat of the pipeline", "[estimate]") {
  ToyBackend toy;
  toy.work.stages = 4;
  toy.work.micro_batches = 10;
  toy.block("layer");
  toy.op(1, 2, 0, 1);
  toy.block("end");
  toy.op(0, 0, 1, 0.5);
  toy.stages(0, 0, {1, 1});
  toy.stages(1, 2, {2, 1});
  toy.stages(3, 3, {3, 1});
  Estimator estimator;
  const auto estimate = estimator.explain(toy.run, toy.work);
  CHECK(estimate.step_seconds == Approx(105.75));
  CHECK(estimate.micro_seconds == Approx(9));
  CHECK(sum(estimate.time) == Approx(105.75));
  CHECK(estimate.tokens_per_second == Approx(40 * 100 / 105.75));
  CHECK(estimate.days_per_100b_tokens == Approx(1e11 / 4000 * 105.75 / 86400));
  CHECK(estimate.days_to_train == Approx(1000 * 105.75 / 86400));  // 4e6 tokens are 1000 steps
  CHECK(estimate.gpu_hours == Approx(1000 * 105.75 / 3600 * 16));

  toy.work.chunks = 2;  // interleaved: half the bubble, 90 + 15/2
  CHECK(estimator.estimate(toy.run, toy.work).step_seconds == Approx(98.25));
}

// 4 s forward and 8 s back, three times; then the host needs 9 s, and overlapping copies 6: the
// next forward hides 4 of these. If they are shorter than a forward, they are hidden completely.
TEST_CASE("what the host does under the next forward sticks out behind it", "[estimate]") {
  const auto step = [](double host_seconds) {
    return step_with({{0, 0, 1, host_seconds, ORCH_UNDER_FORWARD, ORCH_HOST},
                      {0, 0, 1, 6, ORCH_UNDER_FORWARD, ORCH_COPY}});
  };
  CHECK(step(9) == Approx(36 + 5));
  CHECK(step(5) == Approx(36 + 2));  // the copies
}

// A backward of 8 s covers half of that (overlap 0.5): of 3 s of copies and 3 of collectives, which
// share links, 2 stick out, three times; the host's work beside them only where it takes longer
// than both.
TEST_CASE("the host works beside what is on its way", "[estimate]") {
  const auto step = [](double host_seconds) {
    return step_with({{0, 1, 0, 3, ORCH_HIDDEN, ORCH_COPY},
                      {0, 1, 0, 3, ORCH_HIDDEN, ORCH_MEMORY},
                      {0, 1, 0, host_seconds, ORCH_HIDDEN, ORCH_HOST}});
  };
  CHECK(step(5) == Approx(36 + 3 * 2));
  CHECK(step(9) == Approx(36 + 3 * 5));
}

// Four equal stages of one product: a second forward, one back for its input and one for its
// weights. The lists of tasks agree: with eight micro-batches 24 s, 9 s idle, 3 s with filled
// bubbles.
TEST_CASE("gradients of weights fill two thirds of a bubble", "[estimate]") {
  ToyBackend toy;
  toy.work.stages = 4;
  toy.work.micro_batches = 8;
  toy.block("layer");
  toy.op(1, 2, 0, 0);
  auto& product = toy.work.ops.back().data;
  product.kind = ORCH_GEMM;
  product.m = product.n = product.k = 1e5;
  product.batch = 1;
  toy.stages(0, 3, {1});
  auto& efficiency = toy.cluster->partitions.front().efficiency;
  efficiency.step_overhead.value = 0;
  efficiency.gemm.value = 1;
  Estimator estimator;
  const auto seconds = [&](bool filled) {
    toy.work.filled = filled;
    return estimator.estimate(toy.run, toy.work).step_seconds;
  };
  const pipeline::PipelineShape shape{4, 1, 8, false}, full{4, 1, 8, true};
  const auto plain = pipeline::step_seconds(shape, std::vector<pipeline::Durations>(4, {1, 2, 0}));
  const auto split = pipeline::step_seconds(full, std::vector<pipeline::Durations>(4, {1, 1, 1}));
  CHECK(plain == Approx(33));
  CHECK(split == Approx(27));
  CHECK(seconds(true) / seconds(false) == Approx(split / plain));
}

// Five micro-batches of two layers, each gathering 30 bytes forward and 10 back; after the last one
// 100 bytes are reduced. A group of one moves nothing.
TEST_CASE("what a rank gives to collectives in a step is counted", "[estimate]") {
  ToyBackend toy;
  toy.work.micro_batches = 5;
  const auto collective = [&](double bytes, std::int64_t ranks, double forward, double backward,
                              double step) {
    toy.op(forward, backward, step, 0);
    auto& data = toy.work.ops.back().data;
    data.kind = ORCH_COLLECTIVE;
    data.collective = ORCH_ALL_REDUCE;
    data.bytes = bytes;
    data.group_size = ranks;
    data.group_stride = 1;
  };
  toy.block("layer");
  toy.op(1, 2, 0, 1);
  collective(10, 4, 3, 1, 0);
  collective(1000, 1, 1, 1, 1);
  toy.block("end");
  collective(100, 4, 0, 0, 1);
  toy.stages(0, 0, {2, 1});
  Estimator estimator;
  CHECK(estimator.estimate(toy.run, toy.work).communicated == Approx(5 * 2 * (30 + 10) + 100));
}

TEST_CASE("communication hides under half of the computation and no more", "[estimate]") {
  ToyBackend toy;
  toy.work.micro_batches = 10;
  toy.block("layer");
  toy.op(1, 2, 0, 1);          // 1 s forward, 2 s back
  toy.op(1, 1, 0, 0.8, true);  // hides 0.5 of 0.8 forward, all of it back
  toy.op(0, 0, 1, 3, true);    // hides 1 of 3 under the last backward
  toy.stages(0, 0, {1});
  Estimator estimator;
  const auto estimate = estimator.explain(toy.run, toy.work);
  CHECK(estimate.step_seconds == Approx(10 * (1 + 0.3 + 2) + 2 + 0.25));
  CHECK(sum(estimate.time) == Approx(estimate.step_seconds));
}

TEST_CASE("memory is that of the fullest stage, with slack and context", "[estimate]") {
  ToyBackend toy;
  toy.work.stages = 4;
  toy.block("layer");
  toy.op(1, 2, 0, 1);
  toy.stages(0, 3, {1});
  toy.work.memory.push_back({"weights", "", ORCH_DEVICE, 0, 3, 20e9});
  toy.work.memory.push_back({"embedding", "", ORCH_DEVICE, 0, 0, 10e9});
  toy.work.memory.push_back({"logits", "", ORCH_DEVICE, 3, 3, 30e9});
  Estimator estimator;
  auto estimate = estimator.explain(toy.run, toy.work);
  CHECK(estimate.peak_stage == 3);
  CHECK(estimate.peak_memory == Approx(50e9 * 1.1 + 1e9));
  CHECK(estimate.fit == plan::MemoryFit::fits);
  REQUIRE(estimate.memory.size() == 3);  // 0; 1 and 2; 3
  CHECK(estimate.memory[1].last_stage == 2);
  for (const auto& stage : estimate.memory) CHECK(sum(stage.items) == Approx(stage.total));
  CHECK(estimate.memory[2].total == Approx(estimate.peak_memory));

  toy.work.memory.push_back({"more", "", ORCH_DEVICE, 3, 3, 16e9});  // 73.6 GB of 80
  CHECK(estimator.estimate(toy.run, toy.work).fit == plan::MemoryFit::tight);
  toy.work.memory.back().bytes = 30e9;
  CHECK(estimator.estimate(toy.run, toy.work).fit == plan::MemoryFit::oom);
}

TEST_CASE("the hardware says what a communicator takes", "[estimate]") {
  ToyBackend toy;
  toy.block("layer");
  toy.op(1, 2, 0, 1);
  toy.stages(0, 0, {1});
  toy.work.memory.push_back({"weights", "", ORCH_DEVICE, 0, 0, 1e9});
  const double without = Estimator().estimate(toy.run, toy.work).peak_memory;
  toy.work.memory.push_back({"communicators", "3 kinds of groups", ORCH_COMMUNICATORS, 0, 0, 3});
  const auto estimate = Estimator().explain(toy.run, toy.work);
  CHECK(estimate.peak_memory == Approx(without + 1.1 * 3 * 200e6));  // assumed, with slack
  REQUIRE(estimate.memory.size() == 1);
  CHECK(estimate.memory[0].items[1].amount == Approx(600e6));
  CHECK(estimate.memory[0].items[1].formula ==
        "3 kinds of groups x 200.0 MB; assumed: NCCL's channels and protocols");
}

TEST_CASE("a host that is too small is out of memory as well", "[estimate]") {
  ToyBackend toy;
  toy.block("layer");
  toy.op(1, 2, 0, 1);
  toy.stages(0, 0, {1});
  toy.work.memory.push_back({"weights", "", ORCH_DEVICE, 0, 0, 1e9});
  toy.work.memory.push_back({"optimizer", "", ORCH_HOST_MEMORY, 0, 0, 26e9});  // four ranks: 104 GB
  const auto estimate = Estimator().explain(toy.run, toy.work);
  CHECK(estimate.fit == plan::MemoryFit::oom);
  CHECK(estimate.fit_reason == "104.0 GB of 100.0 GB on the host");
}

// Batches 20 and 30 for 600 samples each, then 40. A micro-batch takes 3 s, the rest 0.25 s.
TEST_CASE("time to train integrates the batch ramp-up", "[estimate]") {
  ToyBackend toy;
  toy.run.layout = {1, 1, 4};
  toy.run.gpus = 4;
  toy.run.nodes = 1;
  toy.work.micro_batches = 10;
  toy.block("layer");
  toy.op(1, 2, 0, 1);
  toy.stages(0, 0, {1});
  toy.run.batch.rampup = plan::RampUp{20, 10, 1200, false};
  toy.run.tokens = 4200 * 100;  // samples: 600 + 600 + 3000
  const auto estimate = Estimator().estimate(toy.run, toy.work);
  const double seconds = 30 * (5 * 3 + 0.25) + 20 * (7.5 * 3 + 0.25) + 75 * (10 * 3 + 0.25);
  CHECK(estimate.days_to_train == Approx(seconds / 86400));
  CHECK(estimate.gpu_hours == Approx(seconds * 4 / 3600));
}

// 16 GPUs on four nodes: two doublings.
TEST_CASE("more nodes wait longer for the slowest", "[estimate]") {
  ToyBackend toy;
  toy.work.stages = 4;
  toy.work.micro_batches = 10;
  toy.block("layer");
  toy.op(1, 2, 1, 0.1);
  toy.stages(0, 3, {1});
  const auto alone = Estimator().explain(toy.run, toy.work);
  toy.cluster->partitions.front().efficiency.straggling = {0.05, "assumed: a test"};
  const auto waiting = Estimator().explain(toy.run, toy.work);
  CHECK(waiting.step_seconds == Approx(1.1 * alone.step_seconds));
  CHECK(waiting.micro_seconds == Approx(1.1 * alone.micro_seconds));
  CHECK(waiting.bubble == Approx(alone.bubble));
  CHECK(sum(waiting.time) == Approx(waiting.step_seconds));
}

}  // namespace estimate_test
