// The memory of frameworks by their own accounts: arithmetic written out, not read from the code.

#include "core/plan/family.h"
#include "core/train/pipeline/partition.h"
#include "tests/price/backend/support.h"

namespace orch::test::kept_test {
namespace {

using Layers = std::vector<std::int64_t>;

// Llama 3.2 1B as in nanotron's sweep: 16 layers of 2048, an MLP of 8192, a vocabulary of 131,072.
plan::Model small_llama() {
  auto model = plan::sized("llama", "1b", 16, 2048, 32, 131072, 4096);
  model.ffn_hidden = 8192;
  model.tied = true;
  return model;
}

constexpr double kLayer = 4.0 * 2048 * 2048 + 3.0 * 2048 * 8192 + 2 * 2048;
constexpr double kParams = 16 * kLayer + 131072.0 * 2048 + 2048;

SettingValues nanotron(std::int64_t zero_stage) {
  return {{"engine", word("nanotron")},           {"partition_rule", word("costs")},
          {"zero_stage", number(zero_stage)},     {"fp32_accumulate", plan::Value(true)},
          {"flash_attention", plan::Value(true)}, {"recompute", word("none")}};
}

double states(const backend::Work& work) {
  double sum = 0;
  for (const auto& item : work.memory)
    if (item.name.find(":") != std::string_view::npos)
      sum += item.bytes;  // of layers, embedding, and the rest
  return sum;
}

plan::Run llama(const SettingValues& settings, plan::Layout layout) {
  return make_run("megatron", small_llama(), layout, 1, 16, settings);
}

}  // namespace

TEST_CASE("nanotron's states are what it logs between steps", "[megatron][memory]") {
  // 20 bytes per parameter without ZeRO, 18 on one replica; 10 and 14 that ZeRO-1 shards, of which
  // 2 and 2 are weights being gathered.
  CHECK(states(work_of(llama(nanotron(0), {1, 1, 8}))) == Approx(20 * kParams).epsilon(0.001));
  CHECK(states(work_of(llama(nanotron(0), {1, 1, 1}))) == Approx(18 * kParams).epsilon(0.001));
  CHECK(states(work_of(llama(nanotron(1), {1, 1, 4}))) == Approx(11 * kParams).epsilon(0.001));
}

TEST_CASE("activations take the place of weights that nanotron gathered", "[megatron][memory]") {
  // Between steps 13.5 bytes; a short micro-batch's activations fit into the memory of gathered
  // weights.
  auto model = small_llama();
  model.seq = 256;
  const auto work = work_of(make_run("megatron", model, {1, 1, 4}, 1, 16, nanotron(1)));
  const double gathered = memory(work, 0, "weights being gathered");
  const double activations = memory(work, 0, "activations");
  CHECK(activations == Approx(16 * 256.0 * 2048 * 52));
  CHECK(states(work) + gathered + activations == Approx(13.5 * kParams).epsilon(0.001));
  // A long one's exceed it.
  CHECK(memory(work_of(llama(nanotron(1), {1, 1, 4})), 0, "weights being gathered") == 0);
}

TEST_CASE("nanotron may keep what it gathered for a product", "[megatron][memory]") {
  // Two inputs of each layer, of which a rank has a quarter already: 2 x 2 x 3/4 bytes more.
  auto settings = nanotron(0);
  settings["sequence_parallel"] = plan::Value(true);
  const auto again = work_of(llama(settings, {4, 1, 2}));
  settings["keep_gathered"] = plan::Value(true);
  const auto kept = work_of(llama(settings, {4, 1, 2}));
  CHECK(memory(kept, 0, "activations") - memory(again, 0, "activations") ==
        Approx(16 * 4096.0 * 2048 * 3));
  settings["engine"] = word("megatron");
  const auto found = problems_of(llama(settings, {4, 1, 2}));
  CHECK(has(about(found.reasons, "keep_gathered").fact, "only nanotron"));
}

TEST_CASE("without fused kernels rotations and the gate's activation are kept",
          "[megatron][memory]") {
  // Norms' inputs and outputs 8; queries, keys, values 6; rotated 4; attention 2; gate and up 16,
  // the gate's activation 8, the product of both 8 bytes per element.
  const double each = 4096.0 * 2048 * (8 + 6 + 4 + 2 + 16 + 8 + 8);
  CHECK(memory(work_of(llama(nanotron(0), {1, 1, 8})), 0, "activations") == Approx(16 * each));
  auto settings = nanotron(0);
  settings["engine"] = word("megatron");
  CHECK(memory(work_of(llama(settings, {1, 1, 8})), 0, "activations") ==
        Approx(16 * 4096.0 * 2048 * (8 + 6 + 2 + 16 + 8)));
}

TEST_CASE("layers are dealt until a stage has its share of the costs", "[megatron]") {
  // The head costs as much as four layers: each of four stages has 5 of 20, rounded up.
  CHECK(pipeline::dealt_by_cost(16, 4, 4) == Layers{6, 5, 5, 0});
  CHECK(pipeline::dealt_by_cost(16, 2, 4) == Layers{11, 5});
  CHECK(pipeline::dealt_by_cost(32, 1, 2) == Layers{32});
  for (std::int64_t stages = 1; stages < 20; ++stages) {
    std::int64_t sum = 0;
    for (const auto layers : pipeline::dealt_by_cost(28, stages, 3.6)) sum += layers;
    CHECK(sum == 28);
  }
  auto own = nanotron(0);
  own["engine"] = word("orch");
  const auto found = problems_of(llama(own, {1, 4, 2}));
  CHECK(has(about(found.reasons, "partition_rule").fact, "the rule of nanotron"));
}

TEST_CASE("a fused cross entropy holds four bytes of each logit", "[zero3][memory]") {
  const double logits = 4.0 * 2048 * 50257;
  const auto model = plan::sized("gpt", "1.3b", 24, 2048, 16, 50257, 2048);
  const auto held = [&](const char* strategy, SettingValues settings) {
    settings["engine"] = word(std::string_view(strategy) == "megatron" ? "megatron" : "framework");
    settings["recompute"] = word("none");
    if (std::string_view(strategy) == "megatron") settings["vocab_multiple"] = number(1);
    return memory(work_of(make_run(strategy, model, {1, 1, 8}, 4, 1, settings)), 0, "logits");
  };
  for (const auto* strategy : {"fsdp", "zero3", "ddp", "megatron"}) {
    CHECK(held(strategy, {}) == (strategy == std::string_view("megatron") ? 8 : 12) * logits);
    CHECK(held(strategy, {{"cross_entropy", word("fused")}}) == 4 * logits);
  }
}

TEST_CASE("selective recomputation of FSDP keeps every second product", "[zero3][memory]") {
  const auto model = small_llama();
  const auto run = [&](const char* recompute) {
    return work_of(make_run("fsdp", model, {1, 1, 8}, 1, 1,
                            {{"engine", word("framework")},
                             {"recompute", word(recompute)},
                             {"flash_attention", plan::Value(true)}}));
  };
  // The input and the halves of both narrow products are 2, attention 1, half of 3 + 8 of the
  // others' widths.
  const double kept = 2 * 4096.0 * 2048 * (2 + 1 + 5.5);
  CHECK(memory(run("selective"), 0, "activations") == Approx(16 * kept));
  CHECK(op(run("selective"), "layer", "MLP up").recompute == 0.5);
  CHECK(op(run("none"), "layer", "MLP up").recompute == 0);
}

TEST_CASE("DeepSpeed gathers a billion parameters at most beside the matrix in use",
          "[zero3][memory]") {
  const auto model = plan::sized("gpt", "530b", 105, 20480, 128, 50257, 1024);
  const SettingValues framework{{"engine", word("framework")}};
  const auto work = work_of(make_run("zero3", model, {1, 1, 512}, 8, 1, framework));
  const double matrix = 4.0 * 20480 * 20480;
  CHECK(memory(work, 0, "gathered weights") == Approx(2 * (1e9 + matrix)));
  CHECK(memory(work, 0, "gradients before reduction") == Approx(2 * (5e8 + matrix)));
  // Two layers of a small model are less than that.
  const auto small = work_of(make_run("zero3", small_llama(), {1, 1, 8}, 1, 1, framework));
  CHECK(memory(small, 0, "gathered weights") == Approx(2 * (kLayer + 131072.0 * 2048)));
}

TEST_CASE("our own DDP keeps neither masks nor logits in fp32", "[ddp][memory]") {
  const auto model = plan::sized("gpt", "1.3b", 24, 2048, 16, 50257, 2048);
  const auto work = [&](const char* engine) {
    return work_of(make_run("ddp", model, {1, 1, 1}, 8, 1,
                            {{"engine", word(engine)}, {"flash_attention", plan::Value(true)}}));
  };
  const double sbh = 8.0 * 2048 * 2048;
  CHECK(memory(work("orch"), 0, "activations") == Approx(24 * 32 * sbh));
  CHECK(memory(work("framework"), 0, "activations") == Approx(24 * 34 * sbh));
  // The gradients of a slice of logits are smaller than a layer's, and freed before those.
  CHECK(memory(work("orch"), 0, "logits") == 0);
  CHECK(memory(work("orch"), 0, "layer in backward") == Approx(32 * sbh));
  CHECK(memory(work("framework"), 0, "logits") == 12.0 * 8 * 2048 * 50257);
}

TEST_CASE("what Megatron's optimizer has on the host passes through three slices",
          "[megatron][offload]") {
  const auto model = plan::sized("gpt", "1.3b", 24, 2048, 16, 50257, 2048);
  const auto work =
      work_of(make_run("megatron", model, {1, 1, 1}, 1, 1,
                       {{"offload", word("optimizer")}, {"fp32_accumulate", plan::Value(true)}}));
  // 4-byte gradients to the host, 2-byte weights back, 2^22 of them at a time.
  CHECK(memory(work, 0, "staging on the host", ORCH_HOST_MEMORY) == 3 * (4 + 2) * 4194304.0);
}

}  // namespace orch::test::kept_test
