// Llama under every kind of parallelism compared with ddp's single process, which parity_test
// compares with autograd: fewer key-value heads than query heads, their norms, a separate head.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/trainers/trainer.h"

using namespace orch::test;

namespace {

using Json = nlohmann::ordered_json;

Json llama(Json run, int layers = 2) {
  run["model"] = small_llama();
  run["model"]["layers"] = layers;
  return run;
}

}  // namespace

TEST_CASE("a Llama's layers are shared by ranks, norms of heads too", "[train][megatron]") {
  const bool sequence = GENERATE(false, true);
  auto run = llama(megatron_run(2, 1, 1));
  run["settings"]["sequence_parallel"] = sequence;
  run["settings"]["recompute"] = sequence ? "full" : "none";
  expect_near(train(run), trained(llama(ddp_run(1))), 2e-6, 1e-5);
}

TEST_CASE("a Llama's head is at the pipeline's end alone", "[train][megatron]") {
  auto run = llama(megatron_run(1, 2, 2), 4);
  run["settings"]["interleave"] = 2;
  run["settings"]["zero_stage"] = 1;
  expect_near(train(run), trained(llama(ddp_run(1), 4)), 1e-6, 2e-6);
}

TEST_CASE("a Llama's shards and its host train as one process", "[train][zero]") {
  const auto settings = GENERATE(Json::object(), Json{{"offload", "full"}, {"recompute", "full"}});
  expect_near(train(llama(zero_run("zero3", 2, settings))), trained(llama(ddp_run(1))), 1e-6, 1e-6);
}

// Gradients of head norms are added up over the ranks that share them, from the host.
TEST_CASE("a Llama's gradients on the host are those of all its ranks", "[train][zero]") {
  auto run = llama(zero_run("zero3", 4, {{"offload", "full"}, {"tensor_parallel", 2}}));
  run["tensor_parallel"] = 2;
  run["data_parallel"] = 2;
  run["accumulate"] = 2;
  expect_near(train(run), trained(llama(ddp_run(1))), 2e-6, 1e-5);
}

TEST_CASE("what a trainer cannot do it says at once", "[train]") {
  auto run = llama(megatron_run(4, 1, 1));  // two heads of keys and values
  const auto shared = TrainerRun(run).attempt();
  CHECK_FALSE(shared.ok());
  CHECK(shared.output.find("2 kv_heads cannot be shared equally by 4 ranks") != std::string::npos);
  auto mixture = ddp_run(1);
  mixture["model"] = {{"name", "m"},  {"family", "moe"}, {"layers", 2},
                      {"hidden", 32}, {"heads", 4},      {"vocab", 100},
                      {"seq", 16},    {"experts", 4},    {"experts_per_token", 2}};
  const auto experts = TrainerRun(mixture).attempt();
  CHECK_FALSE(experts.ok());
  CHECK(experts.output.find("can be planned, not trained") != std::string::npos);
}
