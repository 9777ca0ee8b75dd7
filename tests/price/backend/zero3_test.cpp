#include "core/plan/family.h"
#include "tests/price/backend/support.h"

namespace orch::test::zero3_test {
namespace {

// As done by the framework that the strategy is named after.
plan::Run framework_run(const std::string& strategy, const plan::Model& model,
                        const plan::Layout& layout, std::int64_t micro_batch,
                        std::int64_t accumulate, SettingValues settings = {}) {
  settings["engine"] = word("framework");
  return make_run(strategy, model, layout, micro_batch, accumulate, settings);
}

// bloom-7b1: 7,069,016,064 parameters.
const plan::Model kBloom = plan::sized("bloom", "bloom-7b", 30, 4096, 32, 250880, 2048);
const double kParams = kBloom.params();
const double kLayer = 12.0 * 4096 * 4096 + 13 * 4096;

plan::Run deepspeed(std::int64_t stage, std::int64_t ranks, SettingValues settings = {}) {
  settings["stage"] = number(stage);
  return framework_run("deepspeed", kBloom, {1, 1, ranks}, 2, 64, settings);
}

double states(const backend::Work& work) {
  return memory(work, 0, "weights") + memory(work, 0, "gradients", ORCH_DEVICE) -
         memory(work, 0, "gradients before") + memory(work, 0, "optimizer states");
}

}  // namespace

TEST_CASE("the test's model is bloom-7b1", "[zero3]") { CHECK(kParams == 7069016064); }

TEST_CASE("ZeRO's stages shard 12, 14 and 16 of 16 bytes per parameter", "[zero3]") {
  // Rajbhandari et al. 2020, figure 1, with K = 12.
  CHECK(states(work_of(deepspeed(1, 32))) == Approx(kParams * (4 + 12 / 32.0)));
  CHECK(states(work_of(deepspeed(2, 32))) == Approx(kParams * (2 + 14 / 32.0)));
  CHECK(states(work_of(deepspeed(3, 32))) == Approx(kParams * 16 / 32.0));
  CHECK(states(work_of(framework_run("zero3", kBloom, {1, 1, 32}, 2, 64))) ==
        Approx(kParams * 0.5));
  CHECK(states(work_of(framework_run("fsdp", kBloom, {1, 1, 32}, 2, 64))) == Approx(kParams * 0.5));
}

TEST_CASE("stage 1 talks once per step, stage 2 scatters and stage 3 gathers every time",
          "[zero3]") {
  const auto one = work_of(deepspeed(1, 32));
  CHECK(op(one, "layer", "gradient reduce-scatter").step == 1);
  CHECK(op(one, "layer", "gradient reduce-scatter").backward == 0);
  CHECK(op(one, "layer", "updated weight all-gather").bytes == 2 * kLayer);
  const auto two = work_of(deepspeed(2, 32));
  CHECK(op(two, "layer", "gradient reduce-scatter").backward == 1);
  CHECK(op(two, "layer", "gradient reduce-scatter").hidden == 1);
  CHECK(op(two, "layer", "updated weight all-gather").step == 1);
  const auto three = work_of(deepspeed(3, 32));
  const auto& gather = op(three, "layer", "weight all-gather");
  CHECK(gather.forward == 1);
  CHECK(gather.backward == 1);
  CHECK(gather.group_size == 32);
  CHECK(gather.hidden == 1);
  CHECK(find_op(three, "layer", "updated weight all-gather") == nullptr);
  const auto eager = work_of(deepspeed(3, 32, {{"prefetch", number(0)}}));
  CHECK(op(eager, "layer", "weight all-gather").hidden == 0);
}

// 7.07 G parameters in 2 + 2 bytes and 12 / 32: 30.9 GB of states.
TEST_CASE("stage 1 is a hint only where its states fit the GPU", "[zero3]") {
  auto run = deepspeed(3, 32);
  auto gpu = *run.partition;
  run.partition = &gpu;
  for (const auto& [usable, fits] : {std::pair(24e9, false), {40e9, true}, {0.0, true}}) {
    gpu.gpu.usable_memory.value = usable;
    const auto warnings = problems_of(run).warnings;
    const auto moves = std::find_if(warnings.begin(), warnings.end(),
                                    [](const Error& error) { return error.place == "accumulate"; });
    REQUIRE(moves != warnings.end());
    CHECK((moves->fix.find("stage = 1") != std::string::npos) == fits);
  }
}

// Four ranks have 512 positions each of 2048: weights are sharded over all 32 ranks, and keys and
// values of width 4096, 2 * 2048 * 8192 bytes per sample, circulate among four.
TEST_CASE("ranks that share a sample shard the states too", "[zero3]") {
  auto run = framework_run("fsdp", kBloom, {1, 1, 8}, 2, 64, {{"context_parallel", number(4)}});
  run.layout.context_parallel = 4;
  const auto work = work_of(run);
  const auto alone = work_of(framework_run("fsdp", kBloom, {1, 1, 32}, 2, 64));
  CHECK(op(work, "layer", "weight all-gather").group_size == 32);
  CHECK(states(work) == states(alone));
  CHECK(4 * op(work, "layer", "QKV").m == op(alone, "layer", "QKV").m);
  CHECK(op(work, "layer", "context all-gather").group_size == 4);
  CHECK(op(work, "layer", "context all-gather").bytes ==
        2 * 2.0 * static_cast<double>(kBloom.seq * 2 * kBloom.hidden));
}

TEST_CASE("grad_op keeps gathered weights for backward", "[zero3]") {
  const auto work =
      work_of(framework_run("fsdp", kBloom, {1, 1, 32}, 2, 64, {{"sharding", word("grad_op")}}));
  CHECK(op(work, "layer", "weight all-gather").backward == 0);
  CHECK(memory(work, 0, "gathered weights") == 2 * kParams);
}

TEST_CASE("hybrid sharding gathers inside a node and reduces across", "[zero3]") {
  const SettingValues hybrid{{"sharding", word("hybrid")}};
  const auto work = work_of(framework_run("fsdp", kBloom, {1, 1, 32}, 2, 64, hybrid));
  CHECK(op(work, "layer", "weight all-gather").group_size == 8);
  const auto& between = op(work, "layer", "gradient all-reduce between replicas");
  CHECK(between.group_size == 4);
  CHECK(between.group_stride == 8);
  CHECK(between.bytes == 2 * kLayer / 8);
  CHECK(states(work) == Approx(kParams * 16 / 8));
  auto odd = hybrid;
  odd["hybrid_shard_group"] = number(5);
  const auto reasons = problems_of(framework_run("fsdp", kBloom, {1, 1, 32}, 2, 64, odd)).reasons;
  CHECK(has(about(reasons, "hybrid_shard_group").fact, "32 ranks do not make groups of 5"));
  CHECK(has(about(reasons, "hybrid_shard_group").fix, "= 4"));
}

TEST_CASE("offload moves states to the host and their update with them", "[zero3]") {
  const double shard = kLayer / 4;
  const auto work =
      work_of(framework_run("zero3", kBloom, {1, 1, 4}, 1, 8, {{"offload", word("optimizer")}}));
  CHECK(memory(work, 0, "optimizer states") == 0);
  CHECK(memory(work, 0, "optimizer states", ORCH_HOST_MEMORY) == Approx(12 * kParams / 4));
  CHECK(memory(work, 0, "weights") == Approx(2 * kParams / 4));
  CHECK(op(work, "layer", "gradients to host").bytes == 2 * shard);
  CHECK(op(work, "layer", "gradients to host").backward == 1);
  CHECK(op(work, "layer", "optimizer on the host").kind == ORCH_HOST);
  CHECK(op(work, "layer", "optimizer on the host").bytes == 30 * shard);
  CHECK(op(work, "layer", "updated weights to device").step == 1);
  const auto full =
      work_of(framework_run("zero3", kBloom, {1, 1, 4}, 1, 8, {{"offload", word("full")}}));
  CHECK(memory(full, 0, "weights") == 0);
  CHECK(memory(full, 0, "weights", ORCH_HOST_MEMORY) == Approx(2 * kParams / 4));
  CHECK(op(full, "layer", "weights to device").forward == 1);
  CHECK(op(full, "layer", "weights to device").backward == 1);
}

TEST_CASE("what ZeRO cannot do is refused, what it should not is warned of", "[zero3]") {
  const auto whole = problems_of(deepspeed(1, 8, {{"offload", word("full")}}));
  CHECK(has(about(whole.reasons, "offload").fix, "try stage = 3"));
  const auto ada = problems_of(
      deepspeed(2, 8, {{"offload", word("optimizer")}, {"optimizer", word("adafactor")}}));
  CHECK(has(about(ada.reasons, "offload").fact, "only AdamW"));
  const auto alone = problems_of(framework_run("zero3", kBloom, {1, 1, 1}, 1, 1));
  CHECK(has(about(alone.warnings, "gpus").fact, "one rank"));
  const auto slow = problems_of(deepspeed(3, 32));
  CHECK(has(about(slow.warnings, "accumulate").fact,
            "each of 64 micro-batches moves 42.4 GB between 4 nodes"));
  CHECK(has(about(slow.warnings, "accumulate").fix, "deepspeed{ stage = 1 }"));
  CHECK(problems_of(deepspeed(1, 32)).warnings.empty());
}

// Twelve of thirty layers and the final norm: 0.4 of them, rounded up. They are what forward needs
// last.
TEST_CASE("a fraction of our own states lives on the host, updated under the next forward",
          "[zero3]") {
  const double away = 12 * kLayer + 2 * 4096;
  SettingValues settings{{"offload", word("optimizer")}, {"offload_fraction", plan::Value(0.39)}};
  const auto some = work_of(make_run("zero3", kBloom, {1, 1, 1}, 1, 8, settings));
  CHECK(memory(some, 0, "optimizer states on the host", ORCH_HOST_MEMORY) == Approx(12 * away));
  CHECK(memory(some, 0, "optimizer states") == Approx(12 * (kParams - away)));
  CHECK(memory(some, 0, "gradients") == Approx(4 * kParams));
  CHECK(memory(some, 0, "staging on the host", ORCH_HOST_MEMORY) == Approx(3 * 6 * 4194304.));
  const auto& update = op(some, "layer", "optimizer on the host");
  CHECK(update.bytes == Approx(30 * kLayer * 12 / 30));
  CHECK(update.hidden == ORCH_UNDER_FORWARD);
  CHECK(op(some, "layer", "optimizer").bytes > 0);
  CHECK(find_op(some, "layer", "weights to device") == nullptr);
  settings["overlap"] = plan::Value(false);
  const auto waits = work_of(make_run("zero3", kBloom, {1, 1, 1}, 1, 8, settings));
  CHECK(op(waits, "layer", "optimizer on the host").hidden == ORCH_OPEN);

  const auto full =
      work_of(make_run("zero3", kBloom, {1, 1, 1}, 1, 1, {{"offload", word("full")}}));
  CHECK(memory(full, 0, "weights") == 0);
  CHECK(memory(full, 0, "weights on the host", ORCH_HOST_MEMORY) == Approx(2 * kParams));
  CHECK(memory(full, 0, "gradients on the host", ORCH_HOST_MEMORY) == Approx(4 * kParams));
  CHECK(op(full, "layer", "gradients to host").backward == 1);
  CHECK(op(full, "layer", "weights to device").backward == Approx(28. / 30));
  const auto refused = problems_of(
      framework_run("zero3", kBloom, {1, 1, 4}, 1, 8,
                    {{"offload", word("optimizer")}, {"offload_fraction", plan::Value(0.5)}}));
  CHECK(has(about(refused.reasons, "offload_fraction").fact, "all layers or none"));
}

// Weights, their gradients and two moments in fp32; they are transferred in fp32, and cast on the
// device.
TEST_CASE("FSDP with CPUOffloadPolicy is planned, ours offloads by another name", "[zero3]") {
  const SettingValues offload{{"offload", word("full")}};
  const auto work = work_of(framework_run("fsdp", kBloom, {1, 1, 4}, 1, 8, offload));
  CHECK(memory(work, 0, "weights") == 0);
  CHECK(memory(work, 0, "weights", ORCH_HOST_MEMORY) == Approx(4 * kParams / 4));
  CHECK(memory(work, 0, "optimizer states", ORCH_HOST_MEMORY) == Approx(8 * kParams / 4));
  CHECK(memory(work, 0, "fp32 gradients", ORCH_HOST_MEMORY) == Approx(4 * kParams / 4));
  CHECK(op(work, "layer", "weights to device").bytes == 4 * kLayer / 4);
  CHECK(op(work, "layer", "weight all-gather").bytes == 2 * kLayer);
  CHECK(op(work, "layer", "optimizer on the host").bytes == 28 * kLayer / 4);
  CHECK(problems_of(framework_run("fsdp", kBloom, {1, 1, 4}, 1, 8, offload)).reasons.empty());
  CHECK(has(
      about(problems_of(make_run("fsdp", kBloom, {1, 1, 4}, 1, 8, offload)).reasons, "offload").fix,
      "zero3"));
}

// A separate head is behind the layers: with any fraction it is the first in host memory.
TEST_CASE("an untied head lives on the host with the last layers", "[zero3]") {
  auto model = plan::sized("llama", "small", 4, 1024, 8, 1024, 512);
  const SettingValues settings{{"offload", word("optimizer")},
                               {"offload_fraction", plan::Value(0.5)}};
  const auto work = work_of(make_run("zero3", model, {1, 1, 1}, 1, 2, settings));
  const double layer = static_cast<double>(model.layer_params());
  CHECK(memory(work, 0, "optimizer states on the host", ORCH_HOST_MEMORY) ==
        Approx(12 * (2 * layer + 1024 + 1024 * 1024)));
  // Two of four layers in host memory, and two slots: fetched once per step, and then they stay.
  const auto full =
      work_of(make_run("zero3", model, {1, 1, 1}, 1, 2,
                       {{"offload", word("full")}, {"offload_fraction", plan::Value(0.5)}}));
  const auto& fetched = op(full, "layer", "weights to device");
  CHECK(fetched.bytes * 4 == 2 * 2 * layer);
  CHECK(fetched.forward == 0.5);
  CHECK(fetched.backward == 0);
}

// Overlapping the forward that needs them, not a backward that has ended.
TEST_CASE("updated weights are gathered under the next forward", "[zero3]") {
  const auto gather = [](bool overlap) {
    return op(work_of(make_run(
                  "deepspeed", kBloom, {1, 1, 8}, 1, 8,
                  {{"stage", plan::Value(std::int64_t{2})}, {"overlap", plan::Value(overlap)}})),
              "layer", "updated weight all-gather")
        .hidden;
  };
  CHECK(gather(true) == ORCH_UNDER_FORWARD);
  CHECK(gather(false) == ORCH_OPEN);
}

TEST_CASE("settings that change nothing are told", "[zero3]") {
  const auto warned = [](const char* strategy, SettingValues settings, const char* place) {
    return about(problems_of(make_run(strategy, kBloom, {1, 1, 4}, 1, 8, std::move(settings)))
                     .warnings,
                 place)
        .fact;
  };
  CHECK(has(warned("zero3", {{"offload_fraction", plan::Value(0.3)}}, "offload_fraction"),
            "no effect"));
  CHECK(
      has(warned("zero3", {{"offload", word("optimizer")}, {"offload_fraction", plan::Value(0.0)}},
                 "offload"),
          "on the device"));
  CHECK(has(
      warned("deepspeed",
             {{"stage", plan::Value(std::int64_t{1})}, {"prefetch", plan::Value(std::int64_t{4})}},
             "prefetch"),
      "whole weights"));
  CHECK(has(
      warned("fsdp",
             {{"sharding", word("hybrid")}, {"hybrid_shard_group", plan::Value(std::int64_t{8})}},
             "hybrid_shard_group"),
      "all of them"));
}

// Two of thirty layers are still in slots at each turn: the first forward gathers 30, the other
// seven and all eight backwards 28 each. The embedding stays for the step.
TEST_CASE("our own trainer gathers what is not there, and reduces between replicas once",
          "[zero3]") {
  const auto work = work_of(make_run("zero3", kBloom, {1, 1, 32}, 2, 8));
  const auto& gather = op(work, "layer", "weight all-gather");
  CHECK(gather.bytes == 2 * kLayer);
  CHECK(8 * 30 * gather.forward == Approx(30 + 7 * 28));
  CHECK(8 * 30 * gather.backward == Approx(8 * 28));
  CHECK(8 * op(work, "embedding", "weight all-gather").forward == Approx(1));
  CHECK(op(work, "layer", "gradient reduce-scatter").backward == 1);
  CHECK(memory(work, 0, "gathered weights") == Approx(2 * (2 * kLayer + kParams - 30 * kLayer)));
  const auto first =
      work_of(make_run("deepspeed", kBloom, {1, 1, 32}, 2, 8, {{"stage", number(1)}}));
  CHECK(op(first, "layer", "gradient reduce-scatter").bytes == 4 * kLayer);
  CHECK(op(first, "layer", "gradient reduce-scatter").step == 1);
  CHECK(memory(first, 0, "gradients") == Approx(4 * kParams));
  const auto hybrid =
      work_of(make_run("fsdp", kBloom, {1, 1, 32}, 2, 8,
                       {{"sharding", word("hybrid")}, {"hybrid_shard_group", number(8)}}));
  const auto& between = op(hybrid, "layer", "gradient all-reduce between replicas");
  CHECK(between.step == 1);
  CHECK(between.backward == 0);
  CHECK(between.bytes == 4 * kLayer / 8);
}

}  // namespace orch::test::zero3_test
