// What Megatron-LM shards besides the optimizer and what it offloads to the host, by its own
// accounts: arithmetic written out, not read from the code.

#include "core/plan/family.h"
#include "tests/price/backend/support.h"

namespace orch::test::megatron_fsdp_test {
namespace {

// 16 layers of 2048, an MLP of 8192 and a tied vocabulary of 131,072.
plan::Model small_llama() {
  auto model = plan::sized("llama", "1b", 16, 2048, 32, 131072, 4096);
  model.ffn_hidden = 8192;
  model.tied = true;
  return model;
}

constexpr double kLayer = 4.0 * 2048 * 2048 + 3.0 * 2048 * 8192 + 2 * 2048;
constexpr double kWords = 131072.0 * 2048, kParams = 16 * kLayer + kWords + 2048;

plan::Run sharded(std::int64_t stage, plan::Layout layout, SettingValues more = {}) {
  SettingValues settings{{"engine", word("megatron")},
                         {"zero_stage", number(stage)},
                         {"fp32_accumulate", plan::Value(true)},
                         {"flash_attention", plan::Value(true)},
                         {"recompute", word("none")}};
  for (const auto& [name, value] : more) settings[name] = value;
  return make_run("megatron", small_llama(), layout, 1, 4, settings);
}

double states(const backend::Work& work) {
  return memory(work, 0, "weights: ") + memory(work, 0, "gradients: ") +
         memory(work, 0, "optimizer states: ");
}

}  // namespace

TEST_CASE("ZeRO-2 and 3 divide gradients and weights over the replicas", "[megatron][memory]") {
  // Of 18 bytes per parameter 12 belong to the optimizer, 4 to a sum in fp32 and 2 to weights
  // (Rajbhandari et al. 2020, with fp32 gradients).
  const auto held = [](std::int64_t stage) { return states(work_of(sharded(stage, {1, 1, 8}))); };
  CHECK(held(0) == Approx(18 * kParams));
  CHECK(held(1) == Approx((6 + 12 / 8.0) * kParams));
  CHECK(held(2) == Approx((2 + 16 / 8.0) * kParams));
  CHECK(held(3) == Approx(18 / 8.0 * kParams));
}

TEST_CASE("Megatron-FSDP gathers half a billion parameters ahead and queues a billion gradients",
          "[megatron][memory]") {
  // 67.1M in a layer: eight of them are the half billion ahead of the one in use.
  const auto work = work_of(sharded(3, {1, 1, 8}));
  CHECK(memory(work, 0, "gathered weights") == Approx(2 * (9 * kLayer + kWords)));
  CHECK(memory(work, 0, "gradients before reduction") == Approx(4 * (1e9 + kLayer)));
  CHECK(memory(work_of(sharded(2, {1, 1, 8})), 0, "gathered weights") == 0);
  // A stage of four layers has no more than these; the first also has the word embedding.
  const auto stages = work_of(sharded(3, {1, 4, 8}));
  CHECK(memory(stages, 1, "gathered weights") == Approx(2 * 4 * kLayer));
  CHECK(memory(stages, 0, "gathered weights") == Approx(2 * (4 * kLayer + kWords)));
  CHECK(memory(stages, 1, "gradients before reduction") == Approx(4 * 4 * kLayer));
  CHECK(memory(work_of(sharded(1, {1, 1, 8})), 0, "gradients before reduction") == 0);
}

TEST_CASE("ZeRO-3 moves one and a half times as much as all-reduce, with every micro-batch",
          "[megatron]") {
  // 3 Psi against 2 Psi, where all numbers have 16 bits (Rajbhandari et al. 2020).
  const SettingValues narrow{{"fp32_accumulate", plan::Value(false)}};
  const auto work = work_of(sharded(3, {1, 1, 8}, narrow));
  const auto& gather = op(work, "layer", "weight all-gather");
  const auto& scatter = op(work, "layer", "gradient reduce-scatter");
  CHECK(gather.bytes * (gather.forward + gather.backward) + scatter.bytes * scatter.backward ==
        Approx(2 * 3 * kLayer));
  CHECK(gather.step + scatter.step == 0);
  CHECK(gather.hidden == ORCH_HIDDEN);
  CHECK(scatter.hidden == ORCH_HIDDEN);
  // The word embedding stays gathered from lookup to logits.
  CHECK(op(work, "embedding", "weight all-gather").forward == 1);
  CHECK(op(work, "embedding", "weight all-gather").backward == 0);
}

TEST_CASE("ZeRO-2 scatters with every micro-batch and gathers once per step", "[megatron]") {
  const auto one = work_of(sharded(1, {1, 1, 8})), two = work_of(sharded(2, {1, 1, 8}));
  CHECK(op(one, "layer", "gradient reduce-scatter").step == 1);
  CHECK(op(two, "layer", "gradient reduce-scatter").backward == 1);
  CHECK(op(two, "layer", "gradient reduce-scatter").bytes == Approx(4 * kLayer));
  CHECK(op(two, "layer", "weight all-gather").step == 1);
  CHECK(op(two, "layer", "weight all-gather").bytes == Approx(2 * kLayer));
}

TEST_CASE("Megatron-FSDP is Megatron-LM's and has its own terms", "[megatron]") {
  const auto reason = [](const SettingValues& more, const char* field) {
    return about(problems_of(sharded(3, {1, 1, 8}, more)).reasons, field).fact;
  };
  for (const auto* engine : {"orch", "deepspeed", "nanotron"})
    CHECK(has(reason({{"engine", word(engine)}}, "zero_stage"), "shards the optimizer alone"));
  CHECK(has(reason({{"optimizer", word("adafactor")}}, "optimizer"), "no Adafactor"));
  CHECK(problems_of(sharded(3, {1, 2, 8})).reasons.empty());
  const auto warned = problems_of(sharded(3, {1, 1, 16})).warnings;
  CHECK(has(about(warned, "zero_stage").fact, "each of 4 micro-batches moves"));
}

TEST_CASE("inputs of modules go to the host but those of the last layer", "[megatron][memory]") {
  // Queries, keys and values are 6, what attention gives 2 bytes per element; a layer keeps 40.
  const double element = 4096.0 * 2048;
  const SettingValues modules{{"offload_activations", plan::Value(true)},
                              {"offload_modules", word("core_attn+attn_proj")}};
  const auto work = work_of(sharded(1, {1, 1, 8}, modules));
  CHECK(memory(work, 0, "activations on the host", ORCH_HOST_MEMORY) == Approx(15 * 8 * element));
  // One of those comes back while the layer before it runs.
  CHECK(memory(work, 0, "activations") == Approx((16 * 40 - 14 * 8) * element));
  const auto& copy = op(work, "layer", "activations to host and back");
  CHECK(copy.bytes == Approx(8 * element));
  CHECK(copy.forward == 1);
  CHECK(copy.backward == 1);
  CHECK(copy.hidden == ORCH_HIDDEN);
  // Of two stages the first holds two micro-batches of eight layers.
  const auto stages = work_of(sharded(1, {1, 2, 8}, modules));
  CHECK(memory(stages, 0, "activations on the host", ORCH_HOST_MEMORY) == Approx(15 * 8 * element));
  CHECK(memory(stages, 1, "activations on the host", ORCH_HOST_MEMORY) == Approx(7 * 8 * element));
}

TEST_CASE("Megatron's own test of offloading allocates what it publishes", "[megatron][memory]") {
  // gpt3_moe_mcore_te_tp2_pp2_ep4_etp1_no_mtp_no_a2a_ovlp_fine_grained_offloading, on 8 H100: 4.31
  // GB between steps, 7.10 at most.
  auto model = plan::sized("moe", "", 15, 1024, 32, 50257, 4096);
  model.ffn_hidden = 4096, model.head_dim = 128, model.value_dim = 128, model.rope_dim = 64;
  model.kv_rank = 512, model.q_rank = 1536;
  model.experts = 32, model.experts_per_token = 4, model.shared_experts = 1;
  model.expert_hidden = 1024, model.dense_layers = 3;
  auto run =
      make_run("megatron", model, {2, 2, 2}, 1, 4,
               {{"engine", word("megatron")},
                {"interleave", number(4)},
                {"expert_parallel", number(4)},
                {"expert_tensor_parallel", number(1)},
                {"sequence_parallel", plan::Value(true)},
                {"zero_stage", number(1)},
                {"fp32_accumulate", plan::Value(true)},
                {"recompute", word("selective")},
                {"recompute_modules", word("layernorm+mla_up_proj+mlp+moe_act")},
                {"vocab_multiple", number(3232)},
                {"offload_activations", plan::Value(true)},
                {"offload_modules",
                 word("expert_fc1+moe_act+attn_norm+mlp_norm+qkv_linear+core_attn+attn_proj")}});
  const auto work = work_of(run);
  double kept = 0, all = 0;
  for (const auto& item : work.memory) {
    if (item.first > 0 || item.place != ORCH_DEVICE) continue;
    all += item.bytes;
    if (item.name.find(":") != std::string_view::npos) kept += item.bytes;
  }
  CHECK(kept == Approx(4.3134e9).epsilon(0.02));
  CHECK(all == Approx(7.1035e9).epsilon(0.06));
}

TEST_CASE("whole layers go to the host on one stage, without recomputation", "[megatron][memory]") {
  const double kept = 40 * 4096.0 * 2048;
  SettingValues whole{{"offload_activations", plan::Value(true)}};
  const auto all = work_of(sharded(1, {1, 1, 8}, whole));
  CHECK(memory(all, 0, "activations on the host", ORCH_HOST_MEMORY) == Approx(15 * kept));
  CHECK(memory(all, 0, "activations") == Approx(2 * kept));  // the last, and one copied back
  whole["offload_layers"] = number(4);
  const auto some = work_of(sharded(1, {1, 1, 8}, whole));
  CHECK(memory(some, 0, "activations on the host", ORCH_HOST_MEMORY) == Approx(4 * kept));
  CHECK(op(some, "layer", "activations to host and back").bytes == Approx(4 / 16.0 * kept));
  const auto reasons = [&](plan::Layout layout, const SettingValues& more) {
    return problems_of(sharded(1, layout, more)).reasons;
  };
  CHECK(has(about(reasons({1, 2, 8}, whole), "offload_activations").fact, "one stage only"));
  whole["offload_layers"] = number(16);
  CHECK(has(about(reasons({1, 1, 8}, whole), "offload_layers").fact, "keeps one of 16"));
  whole["offload_layers"] = number(0), whole["recompute"] = word("full");
  CHECK(has(about(reasons({1, 1, 8}, whole), "offload_activations").fact, "computed again"));
}

TEST_CASE("modules that Megatron-LM cannot offload are named", "[megatron]") {
  const auto reason = [](const char* modules, const char* engine = "megatron") {
    const auto run = sharded(1, {1, 1, 8},
                             {{"offload_activations", plan::Value(true)},
                              {"engine", word(engine)},
                              {"offload_modules", word(modules)}});
    const auto reasons = problems_of(run).reasons;
    return reasons.empty() ? std::string() : reasons.front().fact;
  };
  CHECK(reason("core_attn+mlp_norm") == "");
  CHECK(has(reason("core_atn"), "'core_atn' is not a module"));
  CHECK(has(reason("attn_proj"), "needs as well"));
  CHECK(has(reason("expert_fc1"), "has no experts"));
  CHECK(has(reason("core_attn", "orch"), "keeps them on the device"));
}

}  // namespace orch::test::megatron_fsdp_test
