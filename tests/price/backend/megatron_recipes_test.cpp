// What recipes for mixtures set besides their layout: CUDA graphs, overlap, chunks by hand, layers
// of multi-token prediction. Held against published counts and arithmetic written out.

#include "core/plan/family.h"
#include "tests/price/backend/support.h"

namespace orch::test::megatron_recipes_test {
namespace {

// By its configuration file.
plan::Model deepseek_v3() {
  auto model = plan::sized("moe", "v3", 61, 7168, 128, 129280, 4096);
  model.ffn_hidden = 18432, model.head_dim = 128, model.value_dim = 128, model.rope_dim = 64;
  model.q_rank = 1536, model.kv_rank = 512;
  model.experts = 256, model.experts_per_token = 8, model.shared_experts = 1;
  model.expert_hidden = 2048, model.dense_layers = 3;
  return model;
}

plan::Run recipe(plan::Layout layout, SettingValues more = {}) {
  SettingValues settings{{"engine", word("megatron")},
                         {"expert_parallel", number(64)},
                         {"zero_stage", number(1)},
                         {"flash_attention", plan::Value(true)},
                         {"recompute", word("none")}};
  for (const auto& [name, value] : more) settings[name] = value;
  return make_run("megatron", deepseek_v3(), layout, 1, 64, settings);
}

double weights(const backend::Work& work, std::int64_t stage) {
  return memory(work, stage, "weights: ") / 2;  // bytes each
}

}  // namespace

TEST_CASE("DeepSeek-V3's module of multi-token prediction has the published size",
          "[megatron][memory]") {
  // 685B parameters are published, 671B of them the model's: 14B, in which the embedding and the
  // head are counted again.
  const plan::Layout layout{1, 4, 64};
  const SettingValues more{{"mtp_layers", number(1)}};
  const auto without = work_of(recipe(layout)), with = work_of(recipe(layout, more));
  const auto rank = weights(with, 3) - weights(without, 3);
  const double experts = 256 * 3 * 7168.0 * 2048;
  const double all = rank + experts * (1 - 1 / 64.0), shared = 2 * 129280 * 7168.0;
  CHECK_THAT((all + shared) / 1e9, WithinRel(13.5, 0.01));
  CHECK(weights(with, 2) == weights(without, 2));
  // Its product reads the last layer's output and an embedding, and the head runs once more.
  const auto& joined = op(with, "multi-token prediction", "embedding and output");
  CHECK(joined.k == 2 * 7168);
  CHECK(joined.n == 7168);
  CHECK(op(with, "multi-token prediction", "logits").n == op(with, "LM head", "logits").n);
  CHECK(memory(with, 3, "logits") == 2 * memory(without, 3, "logits"));
  CHECK(has(about(problems_of(recipe(layout, {{"engine", word("orch")}, {"mtp_layers", number(1)}}))
                      .reasons,
                  "mtp_layers")
                .fact,
            "does not train"));
}

TEST_CASE("a list of chunks gives the layers of interleaved stages", "[megatron]") {
  // Megatron-Bridge's layout of DeepSeek-V3 on 8 stages of 4 chunks, "Et|(tt|)*30mL": seven layers
  // on the first stage, six on the last and eight on the others.
  std::string chunks = "1";
  for (int i = 0; i < 30; ++i) chunks += ",2";
  const SettingValues more{{"interleave", number(4)},
                           {"stage_layers", word((chunks + ",0").c_str())}};
  const plan::Layout layout{1, 8, 64};
  const auto run = recipe(layout, more);
  CHECK(text(problems_of(run).reasons) == "");
  const auto work = work_of(run);
  std::vector<double> layers;
  for (const auto& stages : work.stage_list)
    for (auto stage = stages.first; stage <= stages.last; ++stage)
      layers.push_back(work.counts[stages.first_count] + work.counts[stages.first_count + 8]);
  CHECK(layers == std::vector<double>{7, 8, 8, 8, 8, 8, 8, 6});
  const auto short_list =
      recipe(layout, {{"interleave", number(4)}, {"stage_layers", word("31,30")}});
  CHECK(has(about(problems_of(short_list).reasons, "stage_layers").fact, "2 stages are listed"));
}

TEST_CASE("what is in a CUDA graph is not launched", "[megatron]") {
  const auto work = [](const char* graphs) {
    return work_of(recipe({1, 4, 64}, {{"cuda_graphs", word(graphs)}}));
  };
  const auto none = work("none"), router = work("router"), all = work("all");
  CHECK(op(none, "layer", "layer overhead").kernel == ORCH_OF_LAYER);
  CHECK(op(all, "layer", "layer overhead").kernel == ORCH_IN_GRAPH);
  CHECK(op(all, "dense layer", "layer overhead").kernel == ORCH_IN_GRAPH);
  CHECK(find_op(all, "layer", "launches of experts") == nullptr);
  CHECK(op(router, "layer", "launches of experts").forward <
        op(none, "layer", "launches of experts").forward);
  CHECK(op(work("attention"), "layer", "layer overhead").kernel == ORCH_IN_GRAPH);
  CHECK(op(work("attention"), "dense layer", "layer overhead").kernel == ORCH_OF_LAYER);
  // The device's time is the same.
  CHECK(op(all, "layer", "experts up").batch == op(none, "layer", "experts up").batch);
}

TEST_CASE("a part of the experts' exchange hides under products", "[megatron]") {
  const auto plain = work_of(recipe({1, 4, 64}));
  const auto hidden = work_of(recipe({1, 4, 64}, {{"overlap_experts", plan::Value(true)}}));
  const auto& open = op(hidden, "layer", "expert all-to-all");
  const auto& under = op(hidden, "layer", "expert all-to-all under products");
  CHECK(open.hidden == ORCH_OPEN);
  CHECK(under.hidden == ORCH_HIDDEN);
  CHECK(open.forward + under.forward == op(plain, "layer", "expert all-to-all").forward);
  CHECK(under.forward == Approx(0.9));
  // As measured: a step of 24.7 s with 8.25 s of exchanges became 21.0 s (Qwen3-30B on 16 H100).
  CHECK_THAT(under.forward / 2, WithinRel((24.71 - 20.99) / 8.25, 0.01));
}

TEST_CASE("a fused cross entropy moves a fifth of the bytes", "[megatron]") {
  // Transformer Engine's kernels: logits of two bytes are read twice and written once in forward,
  // read and written in backward.
  const auto work = work_of(recipe({1, 4, 64}, {{"cross_entropy", word("fused")}}));
  const auto& fused = op(work, "LM head", "cross entropy");
  CHECK(fused.bytes * (fused.forward + fused.backward) == Approx((6 + 4) * 4096.0 * 129280));
}

TEST_CASE("each expert's rows are rounded by kernels of their own", "[megatron]") {
  const auto casts = [](int expert_parallel, const char* dtype) {
    return work_of(
        recipe({1, 4, 64}, {{"expert_parallel", number(expert_parallel)}, {"dtype", word(dtype)}}));
  };
  const auto few = casts(64, "fp8"), many = casts(8, "fp8"), wide = casts(8, "bf16");
  CHECK(op(few, "layer", "casts of each expert").calls == 4);
  CHECK(op(many, "layer", "casts of each expert").calls == 32);
  CHECK(op(many, "layer", "casts of each expert").backward == 10);
  CHECK(find_op(many, "dense layer", "casts of each expert") == nullptr);
  CHECK(find_op(wide, "layer", "casts of each expert") == nullptr);
}

TEST_CASE("products have workspaces", "[megatron][memory]") {
  // Two of 32 MiB, and one for each of the four streams of experts' products.
  CHECK(memory(work_of(recipe({1, 4, 64})), 2, "workspaces of products") == 6.0 * (32 << 20));
  CHECK(memory(work_of(recipe({1, 4, 64}, {{"engine", word("deepspeed")}})), 2,
               "workspaces of products") == 0);
}

TEST_CASE("dropout keeps a mask of a byte for each of two sums", "[megatron][memory]") {
  const auto kept = [](const char* masks) {
    return memory(work_of(recipe({1, 4, 64}, {{"dropout_masks", word(masks)}})), 1, "activations");
  };
  CHECK(kept("usual") == kept("no"));
  CHECK(kept("yes") - kept("no") == Approx(3 * 15 * 4096.0 * 7168 * 2));
}

}  // namespace orch::test::megatron_recipes_test
