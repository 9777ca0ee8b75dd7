#include "core/price/estimate/without.h"

#include "core/plan/family.h"
#include "core/price/estimate/estimate.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::estimate;

namespace without_test {
namespace {

// Memory traffic at 1 TB/s, so that bytes equal seconds; products at 100 TFLOPs, and at a tenth of
// it in unaligned attention.
plan::Partition partition() {
  plan::Partition made;
  made.gpus_per_node = 4;
  made.gpu.memory_bandwidth.value = 1e12;
  made.gpu.peaks["bf16"].value = 100e12;
  made.gpu.usable_memory.value = 80e9;
  made.efficiency.memory.value = 1;
  made.efficiency.gemm.value = 1;
  made.efficiency.attention.value = 1;
  made.efficiency.attention_unaligned.value = 0.1;
  return made;
}

// Three stages of 3, 2 and 1 layers and four micro-batches. A layer takes 1 s forward, 1 s again,
// 2 s backward, and 1 s more for attention with a head_dim of 84; the head on the last stage 6 s;
// a step ends with 5 s for each layer.
struct PipelineCase {
  std::shared_ptr<plan::Cluster> cluster = std::make_shared<plan::Cluster>();
  plan::Run run;
  backend::Work work;

  PipelineCase() {
    cluster->partitions.push_back(partition());
    run.cluster = cluster;
    run.partition = &cluster->partitions.front();
    run.strategy = std::make_shared<const plan::Strategy>();
    run.model = plan::sized("gpt", "m", 6, 1024, 8, 1000, 100);
    run.gpus = 3;
    run.nodes = 1;
    run.layout = {1, 3, 1};
    run.batch = {1, 4, 4, {}};
    work.stages = 3;
    work.micro_batches = 4;
    work.recompute = ORCH_RECOMPUTE_FULL;
    work.blocks = {{"layer", 0, 3}, {"LM head", 3, 1}};
    add("norms", ORCH_MEMORY, 1e12, {1, 1, 2, 0});
    auto& attention = add("scores", ORCH_ATTENTION, 0, {1, 0, 0, 0});
    attention.m = 5e12, attention.n = attention.k = attention.batch = 1, attention.align = 84;
    add("optimizer", ORCH_MEMORY, 5e12, {0, 0, 0, 1});
    add("logits", ORCH_MEMORY, 6e12, {1, 0, 0, 0});
    work.stage_list = {{0, 0, 0}, {1, 1, 2}, {2, 2, 4}};
    work.counts = {3, 0, 2, 0, 1, 1};
    work.memory = {{"weights: layers", "", ORCH_DEVICE, 0, 2, 30e9},
                   {"activations", "", ORCH_DEVICE, 0, 2, 10e9}};
  }

  orch_op& add(const char* name, std::uint32_t kind, double bytes, std::array<double, 4> passes) {
    auto& op = work.ops.emplace_back();
    op.name = name;
    op.data.kind = kind, op.data.bytes = bytes;
    op.data.forward = passes[0], op.data.recompute = passes[1];
    op.data.backward = passes[2], op.data.step = passes[3];
    return op.data;
  }

  plan::Estimate without(const std::vector<std::string>& names) {
    std::set<std::string> known;
    add_names(work, known);
    const auto made = LeftOutTerms::from(names, known);
    REQUIRE(made);
    auto less = work;
    made->apply(less);
    return Estimator().estimate(run, less);
  }
  double seconds(const std::vector<std::string>& names) { return without(names).step_seconds; }
};

}  // namespace

TEST_CASE("an operation or a block that is left out takes no time", "[estimate][without]") {
  PipelineCase pipeline;
  // Stages of 15, 10 and 11 s: 4 * 15 + 10 + 11, and 3 * 5 at the end.
  CHECK(pipeline.seconds({}) == Approx(96));
  CHECK(pipeline.seconds({"optimizer"}) == Approx(81));
  CHECK(pipeline.seconds({"LM head"}) == Approx(60 + 10 + 5 + 15));
  CHECK(pipeline.seconds({"lm HEAD", "optimizer"}) == Approx(75));
  CHECK(pipeline.seconds({"layer"}) == Approx(4 * 6));  // the head alone
  CHECK(pipeline.seconds({"memory-bound"}) == Approx(4 * 3 + 2 + 1));
}

TEST_CASE("words leave out what is no single operation", "[estimate][without]") {
  PipelineCase pipeline;
  // Attention ten times as fast: 4.1 s for a layer.
  CHECK(pipeline.seconds({"alignment"}) == Approx(4 * 12.3 + 8.2 + 10.1 + 15));
  CHECK(pipeline.seconds({"recompute"}) == Approx(4 * 12 + 8 + 10 + 15));
  CHECK(pipeline.seconds({"bubble"}) == Approx(4 * 15 + 15));
  // Two layers each: 10, 10 and 16 s, and 2 * 5 at the end.
  CHECK(pipeline.seconds({"partition"}) == Approx(4 * 16 + 20 + 10));
  // 12 s each, and the end is unchanged.
  CHECK(pipeline.seconds({"slowest stage"}) == Approx(4 * 12 + 24 + 15));
  CHECK(pipeline.seconds({"slowest stage", "bubble"}) == Approx(4 * 12 + 15));
  CHECK(pipeline.seconds({"eras"}) == Approx(96));  // a property of machines, not of a run
}

TEST_CASE("without tiles a product takes its own columns alone", "[estimate][without]") {
  PipelineCase pipeline;
  auto& op = pipeline.work.ops.back().data;
  op.kind = ORCH_GEMM;
  op.m = 10, op.n = 2900, op.k = 30, op.batch = 4;
  const auto made = LeftOutTerms::from({"tiles"}, {});
  REQUIRE(made);
  made->apply(pipeline.work);
  CHECK(op.m * op.n * op.k * op.batch == Approx(10.0 * 2900 * 30 * 4));
  CHECK(std::fmod(op.n, 256) == 0);
}

TEST_CASE("no communication is no collective", "[estimate][without]") {
  PipelineCase pipeline;
  pipeline.cluster->partitions.front().intra_node.bandwidth.value = 1e9;
  pipeline.cluster->partitions.front().intra_node.efficiency.value = 1;
  auto& send = pipeline.work.ops[1].data;
  send.kind = ORCH_COLLECTIVE, send.collective = ORCH_SEND;
  send.bytes = 2e9, send.group_size = 3, send.group_stride = 1;
  // A layer takes 6 s with the send, and 4 s without.
  CHECK(pipeline.seconds({}) == Approx(4 * 18 + 12 + 12 + 15));
  CHECK(pipeline.seconds({"communication"}) == Approx(4 * 12 + 8 + 10 + 15));
}

TEST_CASE("memory is left out by its name or its kind", "[estimate][without]") {
  PipelineCase pipeline;
  CHECK(pipeline.without({}).peak_memory == Approx(40e9));
  CHECK(pipeline.without({"Activations"}).peak_memory == Approx(30e9));
  CHECK(pipeline.without({"weights"}).peak_memory == Approx(10e9));
  CHECK(pipeline.without({"activations"}).step_seconds == Approx(96));
}

TEST_CASE("every name that does not occur is told, with a guess", "[estimate][without]") {
  PipelineCase pipeline;
  std::set<std::string> known;
  add_names(pipeline.work, known);
  CHECK(known == std::set<std::string>{"LM head", "activations", "layer", "logits", "norms",
                                       "optimizer", "scores", "weights"});
  const auto made = LeftOutTerms::from({"LM hed", "bubble", "buble"}, known);
  REQUIRE_FALSE(made);
  REQUIRE(made.error().size() == 2);
  CHECK(made.error()[0].fact == "no 'LM hed' in the work of these rows");
  CHECK(made.error()[0].fix == "did you mean 'LM head'?");
  CHECK(made.error()[1].fix == "did you mean 'bubble'?");
  CHECK_FALSE(LeftOutTerms::from({"lm"}, known));  // whole names
}

}  // namespace without_test
