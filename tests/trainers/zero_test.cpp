// ZeRO and FSDP compared with ddp: sharding changes no arithmetic. Tolerances are for fp32 and 20
// steps.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "core/base/flight.h"
#include "tests/trainers/trainer.h"

using namespace orch::test;

namespace {

using Json = nlohmann::ordered_json;

struct ZeroKind {
  const char* name;
  Json settings;
};

std::vector<ZeroKind> kinds() {
  return {{"deepspeed", {{"stage", 1}}},      {"deepspeed", {{"stage", 2}}},
          {"deepspeed", {{"stage", 3}}},      {"zero3", {{"prefetch", 0}}},
          {"zero3", {{"prefetch", 4}}},       {"fsdp", {{"sharding", "full"}}},
          {"fsdp", {{"sharding", "grad_op"}}}};
}

}  // namespace

// The sum of two terms does not depend on their order, and a step has one micro-batch: more terms
// are added up in another order.
TEST_CASE("every kind of shards on two ranks is ddp to the bit", "[train][zero]") {
  auto ddp = ddp_run(2);
  ddp["micro_batch"] = 4;
  ddp["accumulate"] = 1;
  ddp["training"]["clip"] = 0;
  ddp["training"]["dropout"] = 0.1;
  ddp["training"]["evaluate_every"] = 7;
  const auto wanted = train(ddp);
  for (const auto& [name, settings] : kinds()) {
    CAPTURE(name, settings.dump());
    auto run = zero_run(name, 2, settings);
    run["micro_batch"] = 4;
    run["accumulate"] = 1;
    run["training"] = ddp["training"];
    CHECK(train(run) == wanted);
  }
}

TEST_CASE("shards of three and four ranks train as one process", "[train][zero]") {
  for (const auto& [name, settings] :
       {ZeroKind{"deepspeed", {{"stage", 1}}}, ZeroKind{"deepspeed", {{"stage", 2}}},
        ZeroKind{"zero3", Json::object()}}) {
    CAPTURE(name, settings.dump());
    expect_near(train(zero_run(name, 4, settings)), trained(ddp_run(1)), 1e-6, 1e-6);
  }
  expect_near(train(zero_run("fsdp", 4, {{"sharding", "hybrid"}, {"hybrid_shard_group", 2}})),
              trained(ddp_run(1)), 1e-6, 1e-6);
  // Three divide neither the layers' parameters nor the batch's eight samples.
  auto three = zero_run("zero3", 3), ddp = ddp_run(1);
  three["global_batch"] = 6;
  three["accumulate"] = 1;
  ddp["global_batch"] = 6;
  ddp["accumulate"] = 3;
  expect_near(train(three), trained(ddp), 1e-6, 1e-6);
}

TEST_CASE("delays, overlap and recomputation change no bit of shards", "[train][zero]") {
  const auto [name, settings] =
      GENERATE(ZeroKind{"zero3", Json::object()}, ZeroKind{"deepspeed", {{"stage", 2}}},
               ZeroKind{"deepspeed", {{"stage", 1}}});
  CAPTURE(name, settings.dump());
  auto json = zero_run(name, 3, settings);
  json["micro_batch"] = 1;
  json["global_batch"] = 6;
  json["accumulate"] = 2;
  json["steps"] = 8;
  json["training"]["dropout"] = 0.1;
  json["model"]["family"] = "bloom";
  const auto plain = train(json);
  AttemptOptions slow;
  slow.environment = {{"ORCH_TEST_JITTER_MS", "3"}, {"ORCH_TEST_JITTER_SEED", "5"}};
  json["settings"]["recompute"] = "full";
  CHECK(train(json, slow) == plain);
  json["settings"]["overlap"] = false;
  json["settings"]["offload_activations"] = true;
  CHECK(train(json) == plain);
}

// The word embedding's gradient is then the sum of two rounded ones.
TEST_CASE("a tied gradient that is reduced twice is the same to rounding", "[train][zero]") {
  auto json = zero_run("zero3", 2, {{"tied_scatter", "twice"}, {"recompute", "full"}});
  expect_near(train(json), trained(ddp_run(1)), 1e-6, 1e-6);
  json["settings"]["offload"] = "full";
  json["settings"]["overlap"] = false;
  expect_near(train(json), trained(ddp_run(1)), 1e-6, 1e-6);
}

TEST_CASE("groups that mirror each other stand beside tensor parallelism", "[train][zero]") {
  auto json = zero_run("fsdp", 8,
                       {{"sharding", "hybrid"}, {"hybrid_shard_group", 2}, {"tensor_parallel", 2}});
  json["tensor_parallel"] = 2;
  json["data_parallel"] = 4;
  json["accumulate"] = 1;
  json["steps"] = 6;
  auto ddp = ddp_run(1);
  ddp["steps"] = 6;
  const auto got = train(json), wanted = train(ddp);
  CHECK(worst_loss(got, wanted) <= 2e-6);
  CHECK(distance(got.weights, wanted.weights) <= 5e-6);
}

TEST_CASE("what a run does not set is told as it is done", "[train][zero]") {
  auto json = zero_run("fsdp", 2);
  json["steps"] = 1;
  json["settings"].erase("tied_scatter");
  TrainerRun run(json);
  const auto attempt = run.attempt();
  REQUIRE(attempt.ok());
  for (const auto& [name, value] : attempt.event("start").at("effective").items()) {
    INFO(name);
    CHECK(value != "");
  }
}

// A scale that overflows: all ranks skip the step, and continue with half of it.
TEST_CASE("an overflow of fp16 is skipped by all shards, on the host too", "[train][zero]") {
  const char* offload = GENERATE("none", "optimizer", "full");
  auto json = zero_run("zero3", 2, {{"dtype", "fp16"}, {"offload", offload}});
  json["training"]["loss_scale"] = 1e9;
  json["training"]["loss_scale_window"] = 1000;
  json["steps"] = 30;
  TrainerRun run(json);
  const auto attempt = run.attempt();
  INFO(attempt.output);
  REQUIRE(attempt.ok());
  int skipped = 0;
  double last = 0;
  for (const auto& event : attempt.events()) {
    if (event.at("event") != "step") continue;
    skipped += event.value("skipped", false) ? 1 : 0;
    last = event.at("loss_scale");
  }
  CHECK(skipped > 3);
  CHECK(skipped < 25);
  CHECK(last == 1e9 / std::pow(2, skipped));
  const auto losses = run.losses();
  CHECK(losses.rbegin()->second < losses.begin()->second - 0.1);
}

TEST_CASE("shards beside tensor parallelism train as one process", "[train][zero]") {
  const int stage = GENERATE(2, 3);
  auto json = zero_run("deepspeed", 4, {{"stage", stage}, {"tensor_parallel", 2}});
  json["tensor_parallel"] = 2;
  json["data_parallel"] = 2;
  json["accumulate"] = 2;
  const auto got = train(json), &wanted = trained(ddp_run(1));
  CHECK(worst_loss(got, wanted) <= 2e-6);
  CHECK(worst_norm(got, wanted) <= 1e-6);
  CHECK(distance(got.weights, wanted.weights) <= 5e-6);
}

TEST_CASE("16-bit shards learn as ddp does", "[train][zero]") {
  const auto [name, settings] =
      GENERATE(ZeroKind{"zero3", Json::object()}, ZeroKind{"fsdp", Json::object()});
  auto ddp = ddp_run(2);
  ddp["settings"]["dtype"] = "bf16";
  auto json = zero_run(name, 2, settings);
  json["settings"]["dtype"] = "bf16";
  const auto wanted = train(ddp);
  CHECK(worst_loss(train(json), wanted) < 0.02);
  json["settings"]["reduce_dtype"] = "fp32";
  CHECK(worst_loss(train(json), wanted) < 0.005);
}

// The host does the same work as the device would, while the next step begins. On one rank,
// gradients of several micro-batches are added up in another order if they leave the device.
TEST_CASE("what is offloaded to the host changes no bit", "[train][zero]") {
  struct Case {
    const char* name;
    int ranks, stage, accumulate;
    const char* dtype;
  };
  const auto [name, ranks, stage, accumulate, dtype] =
      GENERATE(Case{"zero3", 2, 3, 2, "fp32"}, Case{"zero3", 3, 3, 1, "bf16"},
               Case{"zero3", 1, 3, 1, "fp32"}, Case{"deepspeed", 2, 2, 2, "bf16"},
               Case{"deepspeed", 2, 1, 2, "fp32"});
  CAPTURE(name, ranks, stage, dtype);
  auto json = zero_run(name, ranks, Json::object());
  if (stage < 3) json["settings"]["stage"] = stage;
  json["micro_batch"] = 2;
  json["global_batch"] = 2 * ranks * accumulate;
  json["accumulate"] = accumulate;
  json["steps"] = 6;
  json["settings"]["dtype"] = dtype;
  json["training"]["dropout"] = 0.1;
  json["training"]["clip"] = 0.5;
  json["training"]["evaluate_every"] = 3;
  const auto plain = train(json);
  AttemptOptions slow;
  slow.environment = {{"ORCH_TEST_JITTER_MS", "3"}, {"ORCH_TEST_JITTER_SEED", "7"}};
  for (const auto& [offload, fraction] :
       {std::pair{"optimizer", 1.0}, {"optimizer", 0.5}, {"full", 1.0}, {"full", 0.4}}) {
    if (stage < 3 && offload == std::string("full")) continue;
    CAPTURE(offload, fraction);
    json["settings"]["offload"] = offload;
    json["settings"]["offload_fraction"] = fraction;
    json["settings"]["overlap"] = !(ranks == 1 && fraction < 1);
    CHECK(train(json, slow) == plain);
  }
}

// Gathers start when the host has updated a unit: all of the last step's must have started when a
// rank exits, otherwise another would wait for them.
TEST_CASE("all ranks have ended the same gathers at the end", "[train][zero]") {
  const bool megatron = GENERATE(false, true);
  auto json = megatron ? megatron_run(2, 1, 2) : zero_run("deepspeed", 2, {{"stage", 2}});
  json["steps"] = 3;
  json["settings"]["offload"] = "optimizer";
  if (megatron) json["settings"].update({{"zero_stage", 1}, {"overlap_param_gather", true}});
  TrainerRun run(json);
  const auto attempt = run.attempt();
  REQUIRE(attempt.ok());
  for (int rank = 0; rank < 2; ++rank) {
    const auto recording =
        orch::flight::read((attempt.folder / "flight" / orch::flight::file_name(rank)).string());
    REQUIRE(recording);
    const auto is_gather = [&](const auto& each) {
      return each.kind == "all_gather" && each.group == (megatron ? "data" : "gather") &&
             !each.inside();
    };
    // In each of three steps two buckets, or four layers, the embedding and the final norm.
    CHECK(std::ranges::count_if(recording->collectives, is_gather) == (megatron ? 6 : 18));
  }
}

// Both buffers of the ring then hold the same layer's gradients, of two micro-batches.
TEST_CASE("one layer's gradients of several micro-batches add up wherever they are",
          "[train][zero]") {
  const int ranks = GENERATE(1, 2);
  auto json = zero_run("zero3", ranks, Json::object());
  json["model"]["layers"] = 1;
  json["micro_batch"] = 1;
  json["accumulate"] = 3;
  json["global_batch"] = 3 * ranks;
  json["steps"] = 4;
  auto like = small_run(ranks);
  for (const auto* key : {"model", "micro_batch", "accumulate", "global_batch", "steps"})
    like[key] = json[key];
  const auto expected = train(like);
  AttemptOptions slow;
  slow.environment = {{"ORCH_TEST_JITTER_MS", "3"}, {"ORCH_TEST_JITTER_SEED", "7"}};
  for (const auto* offload : {"none", "full"}) {
    CAPTURE(ranks, offload);
    json["settings"]["offload"] = offload;
    CHECK(distance(train(json, slow).weights, expected.weights) < 1e-6);
  }
}

TEST_CASE("host memory that is not there is refused before it is taken", "[train][zero]") {
  auto json = zero_run("zero3", 1, {{"offload", "optimizer"}});
  json["model"]["hidden"] = 65536;
  json["model"]["heads"] = 64;
  json["model"]["layers"] = 64;
  json["accumulate"] = 4;
  TrainerRun run(json);
  const auto attempt = run.attempt();
  INFO(attempt.output);
  CHECK_FALSE(attempt.ok());
  CHECK(attempt.failure().failure == record::Failure::host_memory);
  // 12 bytes each of 12 x 65536^2 + 13 x 65536 in 64 layers, and of the ends.
  CHECK(attempt.failure().line.starts_with("39.6 TB of host memory are needed, and "));
}

TEST_CASE("any shards go on from a checkpoint of any other", "[train][zero]") {
  const std::vector<Json> layouts = {
      zero_run("deepspeed", 2, {{"stage", 1}}),
      zero_run("zero3", 4),
      megatron_run(2, 2, 1),
      zero_run("fsdp", 4, {{"sharding", "hybrid"}, {"hybrid_shard_group", 2}}),
      zero_run("zero3", 2, {{"offload", "full"}}),
      zero_run("deepspeed", 4, {{"stage", 2}}),
      zero_run("deepspeed", 2, {{"stage", 1}, {"offload", "optimizer"}, {"offload_fraction", 0.5}}),
      ddp_run(2)};
  const auto& whole = trained(ddp_run(1));
  auto json = layouts.front();
  TrainerRun run(json);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    auto next = layouts[i];
    next["steps"] = 6 + 2 * static_cast<int>(i);
    next["training"]["decay_steps"] = 20;
    run.write(next);
    const auto attempt = run.attempt();
    INFO(attempt.output);
    REQUIRE(attempt.ok());
  }
  const TrainedRun got{run.losses(), run.weights()};
  CHECK(worst_loss(got, whole) <= 1e-6);
  CHECK(distance(got.weights, whole.weights) <= 1e-6);
}

TEST_CASE("Adafactor's means go to any other shards", "[train][zero]") {
  std::vector<Json> layouts = {
      zero_run("deepspeed", 2, {{"stage", 2}}), megatron_run(2, 1, 2),
      zero_run("zero3", 2, {{"tensor_parallel", 2}}),
      zero_run("fsdp", 4, {{"sharding", "hybrid"}, {"hybrid_shard_group", 2}}), ddp_run(1)};
  layouts[1]["settings"]["zero_stage"] = 1;
  layouts[2]["tensor_parallel"] = 2;
  layouts[2]["data_parallel"] = 1;
  layouts[2]["accumulate"] = 4;
  // No biases: a key's does not change scores, so that its gradient is noise, which Adafactor turns
  // into whole steps.
  const auto adafactor = [](Json run, int steps) {
    run["model"] = small_llama();
    run["settings"]["optimizer"] = "adafactor";
    run["steps"] = steps;
    run["training"]["decay_steps"] = 10;
    return run;
  };
  TrainerRun run(layouts.front());
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    run.write(adafactor(layouts[i], 2 + 2 * static_cast<int>(i)));
    const auto attempt = run.attempt();
    INFO(attempt.output);
    REQUIRE(attempt.ok());
  }
  const TrainedRun got{run.losses(), run.weights()}, wanted = train(adafactor(ddp_run(1), 10));
  CHECK(got.losses.size() == 10);
  CHECK(worst_loss(got, wanted) <= 1e-6);
  CHECK(distance(got.weights, wanted.weights) <= 1e-6);
}
