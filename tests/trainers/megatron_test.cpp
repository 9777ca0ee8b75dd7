// Tensor, pipeline and data parallelism compared with ddp's single process, which parity_test
// compares with autograd. Tolerances are for fp32 and 20 steps, with an epsilon that prevents noise
// about zero from becoming steps of the learning rate.
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "tests/trainers/trainer.h"

using namespace orch::test;

namespace {

using Json = nlohmann::ordered_json;

double largest(const TrainedRun& trained) {
  double most = 0;
  for (const auto& [name, values] : trained.weights)
    for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

// Padded as in ddp: on some processors products of another width round differently.
Json with_ddp_vocab(Json run) {
  run["settings"]["vocab_multiple"] = 128;
  return run;
}

struct LayoutShape {
  int tensor, pipeline, data;
  int zero = 0;
};

}  // namespace

TEST_CASE("megatron alone on every axis is ddp to the bit", "[train][megatron]") {
  const int data = GENERATE(1, 2);
  auto run = with_ddp_vocab(megatron_run(1, 1, data)), ddp = ddp_run(data);
  for (auto* json : {&run, &ddp}) (*json)["training"]["dropout"] = 0.1;
  CHECK(train(run) == train(ddp));
}

TEST_CASE("ranks that share layers train as one process", "[train][megatron]") {
  struct Case {
    int ranks;
    bool sequence;
    const char* family;
  };
  const auto [ranks, sequence, family] = GENERATE(Case{2, false, "gpt"}, Case{4, true, "gpt"},
                                                  Case{4, false, "bloom"}, Case{2, true, "bloom"});
  CAPTURE(ranks, sequence, family);
  auto run = megatron_run(ranks, 1, 1), ddp = ddp_run(1);
  run["settings"]["sequence_parallel"] = sequence;
  for (auto* json : {&run, &ddp}) {
    (*json)["model"]["family"] = family;
    (*json)["training"]["dropout"] = 0.1;
    (*json)["training"]["attention_dropout"] = 0.1;
  }
  expect_near(train(run), trained(ddp), 2e-6, 5e-6 * largest(trained(ddp)));
}

TEST_CASE("the first step of a pipeline is that of one process to the bit", "[train][megatron]") {
  auto run = megatron_run(1, 4, 1), single = megatron_run(1, 1, 1);
  for (auto* json : {&run, &single}) {
    (*json)["steps"] = 1;
    (*json)["training"]["clip"] = 0;
    (*json)["training"]["dropout"] = 0.1;
  }
  auto got = train(run), wanted = train(single);
  CHECK(got.losses == wanted.losses);
  CHECK(distance(got.weights.at("word_embedding.weight"),
                 wanted.weights.at("word_embedding.weight")) < 1e-6);  // added in another order
  for (auto* each : {&got, &wanted}) each->weights.erase("word_embedding.weight");
  CHECK(got.weights == wanted.weights);
}

TEST_CASE("pipelines train as one process", "[train][megatron]") {
  struct Case {
    int stages, chunks;
    const char* family;
  };
  const auto [stages, chunks, family] =
      GENERATE(Case{4, 1, "gpt"}, Case{2, 2, "gpt"}, Case{4, 2, "bloom"}, Case{2, 4, "bloom"});
  CAPTURE(stages, chunks, family);
  auto run = megatron_run(1, stages, 1), ddp = ddp_run(1);
  run["settings"]["interleave"] = chunks;
  for (auto* json : {&run, &ddp}) {
    (*json)["model"]["family"] = family;
    (*json)["model"]["layers"] = 8;
    (*json)["training"]["dropout"] = 0.1;
  }
  expect_near(train(run), trained(ddp), 1e-6, 1e-6);
}

// The first stage has forwards of as many micro-batches behind it as there are stages: with fewer
// the others wait, with more it stores too much. Neither changes a loss.
TEST_CASE("a stage keeps as many micro-batches as 1F1B has in flight", "[train][megatron]") {
  const auto kept = [](int micro_batches, bool filled) {
    auto json = megatron_run(1, 4, 1);
    json["accumulate"] = micro_batches;
    json["global_batch"] = 2 * micro_batches;
    json["settings"]["fill_bubbles"] = filled;
    json["steps"] = 2;
    TrainerRun run(json);
    const auto attempt = run.attempt();
    INFO(attempt.output);
    REQUIRE(attempt.ok());
    return attempt.event("profile").at("memory_items").at("activations").get<double>();
  };
  const double one = kept(1, false);
  CHECK(one > 0);
  CHECK(kept(8, false) == 4 * one);
  CHECK(kept(8, true) == 4 * one);
}

TEST_CASE("gradients of weights that fill bubbles change no bit", "[train][megatron]") {
  auto run = megatron_run(1, 4, 1);
  const auto plain = train(run);
  run["settings"]["fill_bubbles"] = true;
  CHECK(train(run) == plain);
}

TEST_CASE("uneven and empty stages train as one process", "[train][megatron]") {
  const auto [layers, stages] = GENERATE(std::pair{3, 2}, std::pair{2, 4}, std::pair{1, 3});
  CAPTURE(layers, stages);
  auto run = megatron_run(1, stages, 1), ddp = ddp_run(1);
  for (auto* json : {&run, &ddp}) (*json)["model"]["layers"] = layers;
  if (stages > 2) run["settings"]["stage_partition"] = "transformer|embedding";
  if (stages == 2) run["settings"]["stage_layers"] = "3,0";
  expect_near(train(run), trained(ddp), 1e-6, 1e-6);
}

TEST_CASE("stages without parameters train with the optimizer on the host", "[train][megatron]") {
  auto run = megatron_run(1, 4, 1), ddp = ddp_run(1);
  run["settings"]["stage_layers"] = "1,0,0,0";
  run["settings"]["offload"] = "optimizer";
  for (auto* json : {&run, &ddp}) {
    (*json)["model"]["layers"] = 1;
    (*json)["training"]["checkpoint_every"] = 10;
  }
  expect_near(train(run), trained(ddp), 1e-6, 1e-6);
}

TEST_CASE("stages without parameters train in 16 bits with sums in fp32", "[train][megatron]") {
  auto run = megatron_run(1, 3, 1), ddp = ddp_run(1);
  run["settings"]["stage_layers"] = "0,0,1";
  run["settings"]["fp32_accumulate"] = true;
  for (auto* json : {&run, &ddp}) {
    (*json)["model"]["layers"] = 1;
    (*json)["settings"]["dtype"] = "bf16";
    (*json)["steps"] = 6;
  }
  CHECK(worst_loss(train(run), train(ddp)) < 0.01);
}

TEST_CASE("sharded optimizers of two replicas are ddp to the bit", "[train][megatron]") {
  auto run = with_ddp_vocab(megatron_run(1, 1, 2)), ddp = ddp_run(2);
  run["settings"]["zero_stage"] = 1;
  for (auto* json : {&run, &ddp}) {
    (*json)["training"]["clip"] = 0;
    (*json)["training"]["evaluate_every"] = 5;
  }
  const auto wanted = train(ddp);
  CHECK(train(run) == wanted);
  // Weights that are still being gathered when forward begins.
  run["settings"]["overlap_param_gather"] = true;
  AttemptOptions slow;
  slow.environment = {{"ORCH_TEST_JITTER_MS", "3"}, {"ORCH_TEST_JITTER_SEED", "7"}};
  CHECK(train(run, slow) == wanted);
}

TEST_CASE("adafactor's means are of whole matrices in every layout", "[train][megatron]") {
  const auto [tensor, pipeline, data, zero] =
      GENERATE(LayoutShape{2, 1, 1}, LayoutShape{1, 1, 2, 1}, LayoutShape{2, 2, 2, 1});
  CAPTURE(tensor, pipeline, data, zero);
  auto run = megatron_run(tensor, pipeline, data), ddp = ddp_run(1);
  run["settings"]["zero_stage"] = zero;
  for (auto* json : {&run, &ddp}) {
    (*json)["settings"]["optimizer"] = "adafactor";
    (*json)["steps"] = 3;
  }
  auto got = train(run), wanted = trained(ddp);
  // A key's bias does not change scores: its gradient is noise, which Adafactor turns into whole
  // steps, and from the third on they shorten those of the biases beside it.
  for (auto* each : {&got, &wanted})
    std::erase_if(each->weights, [](const auto& item) { return item.first.ends_with("qkv.bias"); });
  CHECK(worst_loss(got, wanted) < 2e-6);
  CHECK(distance(got.weights, wanted.weights) < 1e-6);
}

TEST_CASE("gradients are summed in 16 bits where that is asked for", "[train][megatron]") {
  auto json = megatron_run(2, 2, 1);
  json["settings"]["dtype"] = "bf16";
  json["steps"] = 10;
  const auto gradients = [](Json run_json) {
    TrainerRun run(run_json);
    const auto attempt = run.attempt();
    if (!attempt.ok()) throw std::runtime_error(attempt.output);
    return std::pair{attempt.event("start").at("effective").at("gradients"), run.losses()};
  };
  const auto [narrow, narrow_losses] = gradients(json);
  json["settings"]["fp32_accumulate"] = true;
  const auto [wide, wide_losses] = gradients(json);
  CHECK(narrow == "bf16");
  CHECK(wide == "fp32");
  CHECK(narrow_losses != wide_losses);
  CHECK(std::abs(narrow_losses.rbegin()->second - wide_losses.rbegin()->second) < 0.02);
}

// After one step AdamW's first moment is the gradient times 1 - beta1: all tensors of the
// checkpoint give the norm, each once. Tensors that other ranks have too are large enough to show
// double counting.
TEST_CASE("the norm counts every gradient once", "[train][megatron]") {
  auto json = megatron_run(2, 2, 2);
  json["settings"]["zero_stage"] = 1;
  json["settings"]["sequence_parallel"] = true;
  json["training"]["clip"] = 0;
  json["training"]["beta1"] = 0.5;
  json["steps"] = 1;
  TrainerRun run(json);
  const auto attempt = run.attempt();
  INFO(attempt.output);
  REQUIRE(attempt.ok());
  double all = 0, replicated = 0, words = 0;
  for (const auto& [name, weights] : run.weights()) {
    double squares = 0;
    for (const double moment : run.saved("exp_avg/" + name)) squares += 4 * moment * moment;
    all += squares;
    if (name == "word_embedding.weight") words += squares;
    if (name.find("norm") != std::string::npos || name.ends_with("out.bias") ||
        name.ends_with("down.bias") || name.starts_with("position"))
      replicated += squares;
  }
  const double norm = attempt.event("step").at("gradient_norm");
  CHECK(std::abs(norm / std::sqrt(all) - 1) < 1e-6);
  CHECK(std::sqrt(1 + replicated / all) - 1 > 1e-3);
  CHECK(std::sqrt(1 + words / all) - 1 > 1e-3);
}

TEST_CASE("all axes together train as one process", "[train][megatron]") {
  const auto [tensor, pipeline, data, zero] =
      GENERATE(LayoutShape{1, 1, 4, 1}, LayoutShape{2, 1, 2, 1}, LayoutShape{1, 2, 2},
               LayoutShape{1, 2, 2, 1}, LayoutShape{2, 2, 2, 1});
  CAPTURE(tensor, pipeline, data, zero);
  auto run = megatron_run(tensor, pipeline, data), ddp = ddp_run(1);
  run["settings"]["sequence_parallel"] = tensor > 1;
  run["settings"]["zero_stage"] = zero;
  expect_near(train(run), trained(ddp), 2e-6, 5e-6 * largest(trained(ddp)));
}

TEST_CASE("what a rank computes again or waits for changes no bit of 2 x 2 ranks",
          "[train][megatron]") {
  auto json = megatron_run(2, 2, 1);
  json["settings"]["sequence_parallel"] = true;
  json["training"]["dropout"] = 0.1;
  json["steps"] = 8;
  const auto plain = train(json);
  AttemptOptions slow;
  slow.environment = {{"ORCH_TEST_JITTER_MS", "3"}, {"ORCH_TEST_JITTER_SEED", "5"}};
  json["settings"]["recompute"] = "selective";
  CHECK(train(json, slow) == plain);
  json["settings"]["recompute"] = "full";
  CHECK(train(json) == plain);
}

// The scale begins far too high: at the last skipped step, only some ranks have an overflow.
TEST_CASE("an overflow on one rank is one for all", "[train][megatron]") {
  const auto scales = [](nlohmann::ordered_json json) {
    json["settings"]["dtype"] = "fp16";
    json["training"]["loss_scale"] = 0x1p26;
    json["steps"] = 24;
    TrainerRun run(json);
    const auto attempt = run.attempt();
    if (!attempt.ok()) throw std::runtime_error(attempt.output);
    std::vector<std::string> all;
    for (const auto& event : attempt.events())
      if (event.at("event") == "step")
        all.push_back(fmt::format("{}{}", event.at("loss_scale").get<double>(),
                                  event.at("skipped").get<bool>() ? " skipped" : ""));
    return all;
  };
  const auto single = scales(megatron_run(1, 1, 1));
  REQUIRE(single.size() == 24);
  CHECK(single.front().ends_with("skipped"));
  CHECK_FALSE(single.back().ends_with("skipped"));
  auto run = megatron_run(2, 2, 1);
  run["settings"]["sequence_parallel"] = true;
  CHECK(scales(run) == single);
  // With fp32 sums, the number of replicas does not change which steps are skipped.
  const auto wide = scales(ddp_run(1));
  CHECK(scales(ddp_run(2)) == wide);
  CHECK(scales(ddp_run(4)) == wide);
  CHECK(scales(zero_run("fsdp", 2, {{"reduce_dtype", "fp32"}})) == wide);
  run = megatron_run(2, 1, 2);
  run["settings"]["fp32_accumulate"] = true;
  CHECK(scales(run) == wide);
}

TEST_CASE("a rank with padding alone, and the shortest sequence", "[train][megatron]") {
  auto run = megatron_run(4, 1, 1), ddp = ddp_run(1);
  for (auto* json : {&run, &ddp}) {
    (*json)["model"]["seq"] = 1;
    (*json)["steps"] = 10;
  }
  run["settings"]["vocab_multiple"] = 40;  // 4 x 40 = 160 for 100: the last rank has no vocabulary
  expect_near(train(run), trained(ddp), 2e-6, 5e-6 * largest(trained(ddp)));
}

TEST_CASE("what this trainer cannot do is refused, all of it at once", "[train][megatron]") {
  auto json = megatron_run(2, 1, 1);
  json["model"]["heads"] = 1;
  json["settings"]["interleave"] = 2;
  json["settings"]["stage_layers"] = "3,2";
  TrainerRun run(json);
  const auto attempt = run.attempt();
  CHECK(attempt.exit_codes == std::vector<int>{1, 1});
  const std::string why =
      "1 heads cannot be shared by tensor_parallel = 2 ranks; 4 layers cannot be shared by 1 "
      "stages "
      "of 2 chunks: use interleave = 1; stage_layers = '3,2' does not distribute 4 layers to 1 "
      "stages";
  CHECK(attempt.failure().failure == record::Failure::bad_exit);
  CHECK(attempt.failure().line.starts_with(why.substr(0, 190)));
  CHECK(attempt.output.find(": bad_exit: " + why) != std::string::npos);
}

TEST_CASE("any layout goes on from a checkpoint of any other", "[train][megatron]") {
  const std::vector<Json> layouts = [] {
    std::vector<Json> all = {ddp_run(1), ddp_run(4)};
    for (const auto& [t, p, d, zero] :
         {LayoutShape{1, 1, 1}, LayoutShape{2, 1, 1}, LayoutShape{1, 2, 1}, LayoutShape{2, 2, 1},
          LayoutShape{4, 1, 1}, LayoutShape{1, 4, 1}})
      all.push_back(megatron_run(t, p, d));
    for (const auto& [t, p, d, zero] :
         {LayoutShape{1, 1, 2}, LayoutShape{2, 1, 2}, LayoutShape{1, 2, 2}}) {
      all.push_back(megatron_run(t, p, d));
      all.back()["settings"]["zero_stage"] = 1;
    }
    all.push_back(megatron_run(1, 2, 1));
    all.back()["settings"]["interleave"] = 2;
    return all;
  }();
  const auto& whole = trained(ddp_run(1));
  // In a cycle: each layout's checkpoint is loaded by the next one, and it loads the previous
  // one's.
  const auto begin = GENERATE(0u, 4u, 8u);
  auto json = layouts[begin];
  json["steps"] = 8;
  json["training"]["decay_steps"] = 20;
  TrainerRun run(json);
  for (std::size_t i = 0; i < 5; ++i) {
    auto next = layouts[(begin + i) % layouts.size()];
    next["steps"] = 8 + 3 * static_cast<int>(i);
    next["training"]["decay_steps"] = 20;
    run.write(next);
    const auto attempt = run.attempt();
    INFO(attempt.output);
    REQUIRE(attempt.ok());
  }
  const TrainedRun got{run.losses(), run.weights()};
  CHECK(worst_loss(got, whole) <= 2e-6);
  CHECK(distance(got.weights, whole.weights) <= 5e-6 * largest(whole));
}
