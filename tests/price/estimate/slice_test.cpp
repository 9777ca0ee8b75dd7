#include "core/price/estimate/slice.h"

#include "core/plan/family.h"
#include "core/price/estimate/estimate.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::estimate;

namespace slice_test {
namespace {

backend::Op op_of(std::uint32_t kind, double bytes) {
  backend::Op op;
  op.data.kind = kind;
  op.data.bytes = bytes;
  op.data.forward = 1;
  op.data.backward = 2;
  op.data.group_size = kind == ORCH_COLLECTIVE ? 4 : 0;
  return op;
}

// Two kinds of stages: one layer on the first, three on the others; each layer computes for 1 s and
// communicates.
backend::Work pipeline_of_three() {
  backend::Work work;
  work.stages = 3;
  work.micro_batches = 10;
  work.blocks = {{"layer", 0, 2}, {"head", 2, 1}};
  work.ops = {op_of(ORCH_MEMORY, 1e12), op_of(ORCH_COLLECTIVE, 5e12), op_of(ORCH_MEMORY, 2e12)};
  work.stage_list = {{0, 0, 0}, {1, 2, 2}};
  work.counts = {1, 0, 3, 1};
  work.memory = {{"weights", "", ORCH_DEVICE, 0, 0, 7e9},
                 {"weights", "", ORCH_DEVICE, 1, 2, 21e9},
                 {"communicators", "", ORCH_COMMUNICATORS, 0, 2, 3}};
  return work;
}

}  // namespace

TEST_CASE("a slice is one stage without its talk", "[estimate][slice]") {
  plan::Partition at;
  at.gpu.memory_bandwidth.value = 1e12;
  at.efficiency.memory.value = 1;
  at.gpu.communicator_memory.value = 1e9;
  plan::Run run;
  run.strategy = std::make_shared<const plan::Strategy>();
  run.model = plan::sized("gpt", "m", 7, 1024, 8, 1000, 100);
  run.partition = &at;
  run.gpus = 12;
  const auto seconds_and_bytes = [&](std::int64_t stage) {
    const auto estimate = Estimator().explain(run, slice_of(pipeline_of_three(), stage), at);
    return std::pair(estimate.step_seconds, estimate.peak_memory);
  };
  // Ten micro-batches, forward once and backward twice.
  CHECK(seconds_and_bytes(0) == std::pair(10 * 3 * 1.0, 7e9));
  CHECK(seconds_and_bytes(2) == std::pair(10 * 3 * (3 + 2.0), 21e9));
}

TEST_CASE("a slice has as many micro-batches as fill it", "[estimate][slice]") {
  backend::Work work;
  const auto enough = [&](std::int64_t stages, std::int64_t chunks, std::int64_t all) {
    work.stages = stages;
    work.chunks = chunks;
    work.micro_batches = all;
    return enough_micro_batches(work);
  };
  CHECK(enough(1, 1, 1) == 1);
  CHECK(enough(1, 1, 64) == 2);    // gradients are added up
  CHECK(enough(12, 1, 96) == 12);  // the first stage holds twelve
  CHECK(enough(12, 1, 5) == 5);    // it is never full
  // Four stages of two chunks: the first holds 11 chunks of 16; with fewer than six micro-batches
  // there are fewer than that.
  CHECK(enough(4, 2, 8) == 8);
  CHECK(enough(4, 2, 64) == 8);
}

}  // namespace slice_test
