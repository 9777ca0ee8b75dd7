// FSDP with a pipeline, as in torchtitan: arithmetic written out, not read from the code.

#include "core/plan/family.h"
#include "tests/price/backend/support.h"

namespace orch::test::zero3_pipeline_test {
namespace {

// 14 layers of 2048 and both ends are 16 parts; separate vocabulary matrices for lookup and logits.
plan::Model small_llama() {
  auto model = plan::sized("llama", "1b", 14, 2048, 32, 131072, 4096);
  model.ffn_hidden = 8192;
  return model;
}

constexpr double kLayer = 4.0 * 2048 * 2048 + 3.0 * 2048 * 8192 + 2 * 2048;
constexpr double kWords = 131072.0 * 2048, kNorm = 2048;
constexpr double kInput = 2 * 4096.0 * 2048;

plan::Run staged(plan::Layout layout, SettingValues more = {}, std::int64_t micro_batches = 8) {
  SettingValues settings{{"engine", word("framework")},
                         {"recompute", word("full")},
                         {"flash_attention", plan::Value(true)}};
  for (const auto& [name, value] : more) settings[name] = value;
  return make_run("fsdp", small_llama(), layout, 1, micro_batches, settings);
}

}  // namespace

TEST_CASE("embedding and head count as a layer of a pipeline beside FSDP", "[zero3]") {
  const auto work = work_of(staged({1, 4, 8}));
  REQUIRE(work.stages == 4);
  // 16 items are four to a stage: the first has three layers, and so has the last.
  const auto layers = [&](std::size_t range) {
    return work.counts[work.stage_list[range].first_count];
  };
  REQUIRE(work.stage_list.size() == 3);
  CHECK(layers(0) == 3);
  CHECK(layers(1) == 4);
  CHECK(layers(2) == 3);
  CHECK(work.stage_list[1].first == 1);
  CHECK(work.stage_list[1].last == 2);
}

TEST_CASE("a stage's share of FSDP's states is 16 bytes per parameter", "[zero3][memory]") {
  // fp32 weights, gradients and two moments over eight ranks.
  const auto work = work_of(staged({1, 4, 8}));
  const auto states = [&](std::int64_t stage) {
    return memory(work, stage, "weights") + memory(work, stage, "gradients") +
           memory(work, stage, "optimizer states") -
           memory(work, stage, "gradients before reduction");
  };
  CHECK(states(0) == Approx(2 * (3 * kLayer + kWords)));
  CHECK(states(1) == Approx(2 * 4 * kLayer));
  CHECK(states(3) == Approx(2 * (3 * kLayer + kWords + kNorm)));
}

TEST_CASE("beside a pipeline weights and sums of gradients are whole", "[zero3][memory]") {
  // 16-bit weights stay after forward, gradients are summed in fp32 until the last backward.
  const auto work = work_of(staged({1, 4, 8}));
  CHECK(memory(work, 1, "gathered weights") == Approx(2 * 4 * kLayer));
  CHECK(memory(work, 1, "gradients before reduction") == Approx(4 * 4 * kLayer));
  CHECK(memory(work, 0, "gathered weights") == Approx(2 * (3 * kLayer + kWords)));
}

TEST_CASE("a pipeline beside FSDP holds what 1F1B has in flight", "[zero3][memory]") {
  const auto work = work_of(staged({1, 4, 8}));
  // Four micro-batches on the first stage, one on the last, with the inputs of their layers, and
  // the output of each to the next stage.
  CHECK(memory(work, 0, "activations") == Approx(4 * 3 * kInput));
  CHECK(memory(work, 1, "activations") == Approx(3 * 4 * kInput));
  CHECK(memory(work, 3, "activations") == Approx(1 * 3 * kInput));
  CHECK(memory(work, 0, "outputs of the stage") == Approx(4 * kInput));
  CHECK(memory(work, 3, "outputs of the stage") == 0);
}

TEST_CASE("beside a pipeline FSDP gathers and reduces once per step", "[zero3]") {
  const auto work = work_of(staged({1, 4, 8}));
  const auto& gather = op(work, "layer", "weight all-gather");
  const auto& scatter = op(work, "layer", "gradient reduce-scatter");
  CHECK(gather.forward + gather.backward == 0);
  CHECK(gather.step == 1);
  CHECK(gather.bytes == Approx(2 * kLayer));
  CHECK(gather.hidden == ORCH_UNDER_FORWARD);
  CHECK(scatter.backward == 0);
  CHECK(scatter.step == 1);
  CHECK(op(work, "to next stage", "send activations").bytes == Approx(kInput));
  CHECK(op(work, "to next stage", "send activations").group_stride == 8);
  // The first stage looks tokens up, and the last one has the head.
  CHECK(op(work, "embedding", "weight all-gather").bytes == Approx(2 * kWords));
  CHECK(op(work, "LM head", "weight all-gather").bytes == Approx(2 * (kWords + kNorm)));
  // With one stage it is done with every micro-batch, as before.
  const auto alone = work_of(staged({1, 1, 8}));
  CHECK(op(alone, "layer", "weight all-gather").forward == 1);
  CHECK(find_op(alone, "LM head", "weight all-gather") == nullptr);
}

TEST_CASE("what a pipeline beside FSDP cannot be combined with is named", "[zero3]") {
  const auto reason = [](const SettingValues& more, const char* field,
                         plan::Layout layout = {1, 4, 8}) {
    return about(problems_of(staged(layout, more)).reasons, field).fact;
  };
  CHECK(problems_of(staged({2, 4, 4})).reasons.empty());
  CHECK(problems_of(staged({1, 4, 8}, {{"interleave", number(2)}})).reasons.empty());
  CHECK(has(reason({{"engine", word("orch")}}, "pipeline_parallel"), "our own trainer"));
  CHECK(has(reason({{"offload", word("full")}}, "offload"), "stay on the device"));
  CHECK(has(reason({{"interleave", number(2)}}, "interleave", {1, 1, 8}), "needs a pipeline"));
  CHECK(has(reason({{"interleave", number(8)}}, "interleave"), "some would have none"));
  auto tied = staged({1, 4, 8});
  tied.model.tied = true;
  CHECK(has(about(problems_of(tied).reasons, "pipeline_parallel").fact, "ties no words"));
  const auto few = problems_of(staged({1, 4, 8}, {}, 2)).warnings;
  CHECK(has(about(few, "accumulate").fact, "60.0 % of the step is idle"));  // 3 of 5
}

}  // namespace orch::test::zero3_pipeline_test
