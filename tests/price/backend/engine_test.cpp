#include "tests/price/backend/support.h"

namespace orch::test::engine_test {
namespace {

// Parameters of a layer of the 104B on one of four tensor-parallel ranks: (12h^2 + 7h) / 4, and 6h
// that all of them have. Tensors end at multiples of 64: seven of 11,600 elements at 11,648, one of
// 8,700 at 8,704.
constexpr double kLayer = 403769900 + 7 * 48 + 4;
constexpr double kSbh = 2048.0 * 11600;

double count(const backend::Work& work, std::int64_t stage, const std::string& name) {
  for (const auto& range : work.stage_list)
    for (std::size_t b = 0; b < work.blocks.size(); ++b)
      if (range.first <= stage && stage <= range.last && work.blocks[b].name == name)
        return work.counts[range.first_count + b];
  FAIL("no block " + name);
  return 0;
}

backend::Work work_with(const SettingValues& settings, plan::Layout layout = {4, 8, 2}) {
  return work_of(make_run("megatron", model_104b(), layout, 1, 64, settings));
}

const SettingValues kDeepspeed{{"engine", word("deepspeed")}};
// Without replicated norms and biases: (12 h^2 + 13 h) / 4 with h = 11,600.
constexpr double kPlainLayer = 403717700;
const SettingValues kOffload{
    {"zero_stage", number(1)}, {"offload", word("optimizer")}, {"engine", word("megatron")}};

}  // namespace

TEST_CASE("DeepSpeed's pipeline pays at each hand-over, and twice per layer",
          "[megatron][engine]") {
  const auto own = work_with({});
  const auto deepspeed = work_with(kDeepspeed);
  for (const std::int64_t stage : {0, 3, 7}) {
    CHECK(count(own, stage, "pipeline") == 0);
    CHECK(count(deepspeed, stage, "pipeline") == 1);
  }
  const auto& handed = op(deepspeed, "pipeline", "stage overhead");
  CHECK(handed.kind == ORCH_STAGE_OVERHEAD);
  CHECK(handed.forward == 1);
  CHECK(handed.recompute == 0);
  CHECK(handed.backward == 1);
  CHECK(handed.step == 0);
  for (const auto& [work, times] : {std::pair{&own, 0.2}, std::pair{&deepspeed, 2.0}}) {
    const auto& layer = op(*work, "layer", "layer overhead");
    CHECK(layer.kind == ORCH_OVERHEAD);
    CHECK(layer.forward == times);
    CHECK(layer.recompute == times);
    CHECK(layer.backward == times);
  }
  // With one stage nothing is transferred.
  CHECK(count(work_with(kDeepspeed, {4, 1, 2}), 0, "pipeline") == 0);
}

// Its trainer wraps the model in PyTorch's DDP (buckets of 25 MiB, overlapping backward) unless
// sums in fp32 are sharded: then it reduces after backward.
TEST_CASE("nanotron hides its reductions unless ZeRO-1 shards fp32 sums", "[megatron][engine]") {
  const auto nanotron = [](std::int64_t stage, bool fp32) {
    return work_with({{"engine", word("nanotron")},
                      {"zero_stage", number(stage)},
                      {"fp32_accumulate", plan::Value(fp32)}});
  };
  const auto plain = nanotron(0, true);
  const auto& reduced = op(plain, "layer", "gradient all-reduce");
  CHECK(reduced.hidden == ORCH_HIDDEN);
  CHECK(reduced.calls == Approx(kPlainLayer * 2 / (25 * 1024 * 1024)).epsilon(0.01));
  CHECK(op(nanotron(1, true), "layer", "gradient reduce-scatter").hidden == ORCH_OPEN);
  CHECK(op(nanotron(1, false), "layer", "gradient reduce-scatter").hidden == ORCH_HIDDEN);
}

// "fp16 parameters, fp16 gradients: 20 bytes" (Megatron-Core's table of its distributed optimizer):
// 2 + 2, and 16 for the update, of which the fp32 gradients exist only during it.
TEST_CASE("Megatron sends gradients as it makes them, and copies fp16 ones to fp32",
          "[megatron][engine]") {
  const auto megatron = [](const char* dtype, bool fp32, std::int64_t micro_batch) {
    return work_of(make_run("megatron", model_104b(), {4, 8, 2}, micro_batch, 64,
                            {{"engine", word("megatron")},
                             {"dtype", word(dtype)},
                             {"fp32_accumulate", plan::Value(fp32)}}));
  };
  for (const auto& [dtype, fp32, bytes] :
       {std::tuple("fp16", false, 2.0), {"fp16", true, 4.0}, {"bf16", true, 4.0}}) {
    const auto work = megatron(dtype, fp32, 1);
    CHECK(op(work, "layer", "gradient all-reduce").bytes == Approx(bytes * kPlainLayer));
    CHECK(memory(work, 1, "gradients") == Approx(8 * bytes * kPlainLayer));
  }
  const auto work = megatron("fp16", false, 1);
  const double flying = memory(work, 7, "activations");
  const double params = 8 * kPlainLayer + 50688.0 * 11600 / 4;
  CHECK(memory(work, 7, "fp32 copies") == Approx(4 * params - flying).epsilon(0.001));
  CHECK(memory(megatron("fp16", false, 64), 0, "fp32 copies") == 0);  // activations are more
  CHECK(memory(megatron("fp16", true, 1), 7, "fp32 copies") == 0);
}

TEST_CASE("waiting for each kernel doubles a layer's overhead again", "[megatron][engine]") {
  auto blocking = kDeepspeed;
  blocking["launch_blocking"] = true;
  CHECK(op(work_with(blocking), "layer", "layer overhead").forward == 4);
  CHECK(
      op(work_with({{"launch_blocking", plan::Value(true)}}), "layer", "layer overhead").forward ==
      0.4);
}

TEST_CASE("DeepSpeed's pipeline does not interleave", "[megatron][engine]") {
  auto settings = kDeepspeed;
  settings["interleave"] = number(2);
  const auto found = problems_of(make_run("megatron", model_104b(), {4, 8, 2}, 1, 64, settings));
  CHECK(has(about(found.reasons, "interleave").fact, "DeepSpeed's pipeline does not interleave"));
}

// ZeRO-1 over two ranks: half of a layer's parameters each.
TEST_CASE("an offloaded optimizer moves its shard with every micro-batch", "[megatron][offload]") {
  const auto work = work_with(kOffload);
  const double shard = kPlainLayer / 2;
  const auto& gradients = op(work, "layer", "gradients to host");
  CHECK(gradients.kind == ORCH_COPY);
  CHECK(gradients.bytes == 2 * shard);
  CHECK(gradients.backward == 1);
  CHECK(gradients.step == 0);
  CHECK(gradients.hidden == 1);
  // fp32 gradient read; master weight and two moments read and written; 16-bit weight written: 4 +
  // 24 + 2.
  const auto& update = op(work, "layer", "optimizer on the host");
  CHECK(update.kind == ORCH_HOST);
  CHECK(update.bytes == 30 * shard);
  CHECK(update.step == 1);
  CHECK(update.backward == 0);
  const auto& weights = op(work, "layer", "updated weights to device");
  CHECK(weights.kind == ORCH_COPY);
  CHECK(weights.bytes == 2 * shard);
  CHECK(weights.step == 1);
  CHECK(find_op(work, "layer", "optimizer") == nullptr);
  const auto kept = work_with({{"zero_stage", number(1)}, {"engine", word("megatron")}});
  CHECK(op(kept, "layer", "optimizer").kind == ORCH_MEMORY);
  CHECK(find_op(kept, "layer", "gradients to host") == nullptr);
}

// Eight layers on each of eight stages. 12 bytes of states and 4 of gradients are on the host.
TEST_CASE("an offloaded optimizer leaves its states to the host", "[megatron][offload]") {
  const auto work = work_with(kOffload);
  CHECK(memory(work, 3, "optimizer states") == 0);
  CHECK(memory(work, 3, "fp32 gradients of the shard") == 0);
  CHECK(memory(work, 3, "weights") == 2 * 8 * kPlainLayer);
  CHECK(memory(work, 3, "gradients") == 2 * 8 * kPlainLayer);  // summed in bf16, as asked
  CHECK(memory(work, 3, "", ORCH_HOST_MEMORY) == 16 * 8 * kPlainLayer / 2);
  const auto whole = work_with({{"offload", word("optimizer")}, {"engine", word("megatron")}},
                               {4, 8, 1});  // nothing is sharded
  CHECK(memory(whole, 3, "", ORCH_HOST_MEMORY) == 16 * 8 * kPlainLayer);
  const auto kept = work_with({{"zero_stage", number(1)}, {"engine", word("megatron")}});
  CHECK(memory(kept, 3, "optimizer states") == 12 * 8 * kPlainLayer / 2);
  CHECK(memory(kept, 3, "", ORCH_HOST_MEMORY) == 0);
}

// The tensor cores round; what is stored, moved and sent has 4 bytes, and the weight is its own
// master.
TEST_CASE("tf32 is fp32 with another peak", "[megatron][tf32]") {
  const auto tf32 = work_with({{"dtype", word("tf32")}});
  CHECK(tf32.dtype == "tf32");
  CHECK(memory(tf32, 3, "weights: layers") == 4 * 8 * kLayer);
  CHECK(memory(tf32, 3, "gradients: layers") == 4 * 8 * kLayer);
  CHECK(memory(tf32, 3, "optimizer states: layers") == 8 * 8 * kLayer);
  CHECK(op(tf32, "layer", "tensor all-reduce").bytes == 4 * kSbh);
  CHECK(op(tf32, "to next stage", "send activations").bytes == kSbh);  // a quarter of 4 B
  const auto fp32 = work_with({{"dtype", word("fp32")}});
  CHECK(fp32.dtype == "fp32");
  REQUIRE(fp32.ops.size() == tf32.ops.size());
  for (std::size_t i = 0; i < fp32.ops.size(); ++i)
    CHECK(fp32.ops[i].data.bytes == tf32.ops[i].data.bytes);
  for (const auto* strategy : {"zero3", "fsdp", "ddp"}) {
    CAPTURE(strategy);
    const auto work =
        work_of(make_run(strategy, model_104b(), {1, 1, 8}, 1, 1, {{"dtype", word("tf32")}}));
    CHECK(work.dtype == "tf32");
  }
}

// Two layers' inputs and 1.4 for transfers between stages, for each micro-batch in flight: 32 on
// the first of 32 stages, one on the last.
TEST_CASE("with recomputation a stage also keeps what it hands over", "[megatron][memory]") {
  const auto work = work_with(kDeepspeed, {4, 32, 1});
  CHECK(memory(work, 0, "activations") == Approx(32 * 3.4 * 2 * kSbh));
  CHECK(memory(work, 20, "activations") == Approx(12 * 3.4 * 2 * kSbh));
  CHECK(memory(work, 31, "activations") == Approx(3.4 * 2 * kSbh));
  // With one stage nothing is transferred; its output counts as one more input.
  CHECK(memory(work_with(kDeepspeed, {4, 1, 1}), 0, "activations") == Approx(65 * 2 * kSbh));
  // Our trainer stores a quarter of each output, on each of the four ranks that have all of it.
  CHECK(memory(work_with({}, {4, 32, 1}), 0, "activations") == Approx(32 * 2.25 * 2 * kSbh));
  CHECK(memory(work_with({}, {4, 1, 1}), 0, "activations") == Approx(64 * 2 * kSbh));
}

// One for each kind of group with more than one rank, and one for all ranks if there are several
// kinds.
TEST_CASE("every kind of group keeps a communicator", "[megatron][memory]") {
  const auto groups = [](plan::Layout layout, std::int64_t stage) {
    return memory(work_with({}, layout), stage, "communicators", ORCH_COMMUNICATORS);
  };
  CHECK(groups({1, 1, 1}, 0) == 0);
  CHECK(groups({4, 1, 1}, 0) == 1);
  CHECK(groups({1, 1, 8}, 0) == 1);
  CHECK(groups({1, 8, 1}, 7) == 1);
  CHECK(groups({4, 1, 2}, 0) == 3);
  for (const std::int64_t stage : {0, 3, 7}) CHECK(groups({4, 8, 2}, stage) == 4);
}

// Our trainer copies them once, in the type of the sum, and they stay on the device as well.
TEST_CASE("our own gradients go to the host once a step", "[megatron][offload]") {
  const auto work = work_with({{"zero_stage", number(1)},
                               {"offload", word("optimizer")},
                               {"fp32_accumulate", plan::Value(true)}});
  const double shard = kLayer / 2;
  const auto& gradients = op(work, "layer", "gradients to host");
  CHECK(gradients.bytes == 4 * shard);
  CHECK(gradients.backward == 0);
  CHECK(gradients.step == 1);
  CHECK(memory(work, 3, "gradients") == 4 * 8 * kLayer);
  CHECK(memory(work, 3, "optimizer", ORCH_HOST_MEMORY) == 12 * 8 * kLayer / 2);
}

TEST_CASE("the host's optimizer is AdamW, and DeepSpeed's pipeline does not interleave",
          "[megatron][check]") {
  const auto reasons = [](const SettingValues& settings) {
    return problems_of(make_run("megatron", model_104b(), {4, 8, 2}, 1, 64, settings)).reasons;
  };
  CHECK(has(about(reasons({{"offload", word("optimizer")},
                           {"optimizer", word("adafactor")},
                           {"engine", word("megatron")}}),
                  "offload")
                .fact,
            "only AdamW"));
  CHECK(has(
      about(reasons({{"engine", word("deepspeed")}, {"interleave", number(2)}}), "interleave").fact,
      "does not interleave"));
}

}  // namespace orch::test::engine_test
