#include "core/plan/family.h"
#include "tests/price/backend/support.h"

namespace orch::test::zero3_tensor_test {
namespace {

// As done by the framework that the strategy is named after.
plan::Run framework_run(const std::string& strategy, const plan::Model& model,
                        const plan::Layout& layout, std::int64_t micro_batch,
                        std::int64_t accumulate, SettingValues settings = {}) {
  settings["engine"] = word("framework");
  return make_run(strategy, model, layout, micro_batch, accumulate, settings);
}

const plan::Model kBloom = plan::sized("bloom", "bloom-7b", 30, 4096, 32, 250880, 2048);
constexpr double kLayer = 12.0 * 4096 * 4096 + 13 * 4096;
constexpr double kSbh = 2048.0 * 2 * 4096;

// Four tensor-parallel ranks, micro-batches of two.
backend::Work four(const std::string& strategy, std::int64_t data, SettingValues settings = {}) {
  settings["tensor_parallel"] = number(4);
  return work_of(framework_run(strategy, kBloom, {4, 1, data}, 2, 8, settings));
}

}  // namespace

TEST_CASE("with tensor parallelism, shards are gathered every fourth rank", "[zero3][tensor]") {
  const auto work = four("zero3", 8);
  const auto& gather = op(work, "layer", "weight all-gather");
  CHECK(gather.group_size == 8);
  CHECK(gather.group_stride == 4);
  CHECK(gather.bytes == 2 * kLayer / 4);
  const auto& scatter = op(work, "layer", "gradient reduce-scatter");
  CHECK(scatter.group_size == 8);
  CHECK(scatter.group_stride == 4);
  CHECK(scatter.bytes == 2 * kLayer / 4);
  const auto& reduce = op(work, "layer", "tensor all-reduce");
  CHECK(reduce.group_size == 4);
  CHECK(reduce.group_stride == 1);
  CHECK(reduce.bytes == 2 * kSbh);
  CHECK(op(work, "layer", "QKV").n == 3 * 4096 / 4.0);
}

// Nodes of 8 hold two ranks of a group whose members are four apart.
TEST_CASE("hybrid sharding stays in the node with tensor parallelism as well", "[zero3][tensor]") {
  const auto work = four("fsdp", 8, {{"sharding", word("hybrid")}});
  const auto& gather = op(work, "layer", "weight all-gather");
  CHECK(gather.group_size == 2);
  CHECK(gather.group_stride == 4);
  const auto& between = op(work, "layer", "gradient all-reduce between replicas");
  CHECK(between.group_size == 4);
  CHECK(between.group_stride == 8);
  CHECK(between.bytes == 2 * kLayer / 4 / 2);
}

// Weights of a rank: a quarter of layers and embedding, and all of the norms' 4h; 16 bytes each,
// over eight shards.
TEST_CASE("tensor parallelism quarters what ZeRO shards", "[zero3][tensor]") {
  const auto work = four("zero3", 8);
  const double params = (30 * kLayer + 250880.0 * 4096) / 4 + 4 * 4096;
  CHECK(memory(work, 0, "weights") == Approx(2 * params / 8));
  CHECK(memory(work, 0, "optimizer states") == Approx(12 * params / 8));
}

TEST_CASE("checkpointed inputs are dealt to the tensor-parallel ranks", "[zero3][tensor]") {
  const auto full = four("zero3", 8, {{"recompute", word("full")}});
  CHECK(memory(full, 0, "activations") == Approx(30 / 4.0 * 2 * kSbh));
  // Other activations are each rank's own: s*b*h*(10 + 24/t + 5*a*s/(h*t)).
  const auto none = four("zero3", 8, {{"recompute", word("none")}});
  CHECK(memory(none, 0, "activations") ==
        Approx(30 * kSbh * (10 + 24 / 4.0 + 5 * 32 * 2048 / (4096 * 4.0))));
  const auto alone =
      work_of(framework_run("zero3", kBloom, {1, 1, 8}, 2, 8, {{"recompute", word("full")}}));
  CHECK(memory(alone, 0, "activations") == Approx(30 * 2 * kSbh));
}

TEST_CASE("ZeRO keeps a communicator for each kind of group", "[zero3][tensor]") {
  CHECK(memory(four("zero3", 8), 0, "communicators", ORCH_COMMUNICATORS) == 2);
  CHECK(memory(four("zero3", 1), 0, "communicators", ORCH_COMMUNICATORS) == 1);
  CHECK(memory(four("fsdp", 8, {{"sharding", word("hybrid")}}), 0, "communicators",
               ORCH_COMMUNICATORS) == 3);
  const auto ranks = [](const char* strategy, std::int64_t data) {
    return memory(work_of(framework_run(strategy, kBloom, {1, 1, data}, 2, 8)), 0, "communicators",
                  ORCH_COMMUNICATORS);
  };
  CHECK(ranks("zero3", 8) == 1);
  CHECK(ranks("zero3", 1) == 0);
  CHECK(ranks("ddp", 8) == 1);
  CHECK(ranks("ddp", 1) == 0);
}

TEST_CASE("heads must divide over ZeRO's tensor-parallel ranks", "[zero3][tensor]") {
  const auto found = problems_of(
      framework_run("zero3", kBloom, {3, 1, 8}, 2, 8, {{"tensor_parallel", number(3)}}));
  CHECK(has(about(found.reasons, "tensor_parallel").fact, "heads = 32 is not divisible"));
}

}  // namespace orch::test::zero3_tensor_test
