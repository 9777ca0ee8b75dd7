// The work of a rank for recent models, computed by hand.

#include "core/plan/family.h"
#include "core/train/pipeline/schedule.h"
#include "tests/price/backend/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::test;

namespace families_test {
namespace {

plan::Model llama_70b() {
  auto model = plan::sized("llama", "llama-3-70b", 80, 8192, 64, 128256, 8192);
  model.kv_heads = 8;
  model.ffn_hidden = 28672;
  return model;
}

plan::Model mixtral() {
  auto model = plan::sized("moe", "mixtral", 32, 4096, 32, 32000, 4096);
  model.kv_heads = 8;
  model.ffn_hidden = model.expert_hidden = 14336;
  model.experts = 8;
  model.experts_per_token = 2;
  return model;
}

}  // namespace

TEST_CASE("a llama's products on one of eight tensor-parallel ranks", "[backend]") {
  const auto run = make_run("megatron", llama_70b(), {8, 4, 1}, 1, 4, {});
  const auto work = work_of(run);
  const auto& qkv = op(work, "layer", "QKV");
  CHECK(qkv.m == 8192);
  CHECK(qkv.n == (8192 + 2 * 8 * 128) / 8);
  CHECK(qkv.k == 8192);
  CHECK(op(work, "layer", "MLP up").n == 2 * 28672 / 8);
  CHECK(op(work, "layer", "MLP down").k == 28672 / 8);
  CHECK(op(work, "layer", "attention scores").batch == 8);
  // Twenty layers of 855,654,400 parameters cut in eight, norms on every rank.
  const double matrices = 8192.0 * (8192 + 2 * 1024) + 8192.0 * 8192 + 3 * 8192.0 * 28672;
  CHECK_THAT(memory(work, 1, "weights: layers"),
             WithinRel(2 * 20 * (matrices / 8 + 2 * 8192), 1e-12));
  // The head is a separate matrix, so no tied embedding is reduced.
  CHECK_FALSE(find_op(work, "LM head", "tied embedding all-reduce"));
  const double vocab = 129024;  // a multiple of 128 * 8
  CHECK_THAT(memory(work, 3, "weights: embedding") + memory(work, 3, "weights: positions"),
             WithinRel(2 * (vocab * 8192 / 8 + 8192), 1e-12));
}

// The products to 1536 and 512 + 64 numbers belong to no head: all eight ranks have them, with
// norms and the router.
TEST_CASE("narrow products of latent attention are on every tensor-parallel rank", "[backend]") {
  auto model = mixtral();
  model.kv_heads = model.heads;
  model.q_rank = 1536, model.kv_rank = 512, model.rope_dim = 64, model.value_dim = model.head_dim;
  const auto work = work_of(make_run("megatron", model, {8, 4, 1}, 1, 4, {}));
  const double narrow = 4096.0 * (1536 + 512 + 64), shared = 2 * 4096.0 + 4096.0 * 8;
  CHECK_THAT(memory(work, 1, "weights: layers"),
             WithinRel(2 * 8 * (model.layer_params() / 8 + (narrow + shared) * 7 / 8), 1e-12));
}

// Four tensors as wide as the model, and an eighth of queries, keys and values (8192 + 2 * 1024),
// of attention's output (8192), and of gate, up and their product (3 * 28672): 2 bytes each.
TEST_CASE("products that wait for a bubble keep what a rank has of them", "[backend]") {
  const auto run =
      make_run("megatron", llama_70b(), {8, 4, 1}, 1, 8,
               {{"fill_bubbles", plan::Value(true)}, {"sequence_parallel", plan::Value(true)}});
  const auto work = work_of(run);
  const double layer = 2 * 8192.0 * (4 * 8192 + (8192 + 2 * 1024 + 8192 + 3 * 28672) / 8.0);
  for (std::int64_t stage = 0; stage < 4; ++stage)
    CHECK(memory(work, stage, "deferred products") ==
          20 * layer * static_cast<double>(pipeline::put_off({4, 1, 8, true}, stage)));
  CHECK(memory(work, 0, "deferred products") > 0);
}

TEST_CASE("keys and values that ranks cannot share are refused with a number that works",
          "[backend]") {
  const auto problems = problems_of(make_run("megatron", llama_70b(), {16, 1, 1}, 1, 4, {}));
  const auto found = about(problems.reasons, "tensor_parallel");
  CHECK(found.fact.starts_with("kv_heads = 8 is not divisible by tensor_parallel = 16"));
  CHECK(found.fix == "try tensor_parallel = 8");
}

// FSDP's root unit stays gathered: both vocabulary matrices, besides the layer in use and the next
// one.
TEST_CASE("a head of its own is gathered with the embedding", "[backend]") {
  const auto work = work_of(
      make_run("fsdp", llama_70b(), {1, 1, 64}, 1, 1,
               {{"engine", plan::Value(std::string("framework"))}, {"prefetch", number(1)}}));
  const double layer = 8192.0 * (8192 + 2 * 1024) + 8192.0 * 8192 + 3 * 8192.0 * 28672 + 2 * 8192;
  CHECK_THAT(memory(work, 0, "gathered weights"),
             WithinRel(2 * (2 * layer + 2 * 128256.0 * 8192), 1e-12));
}

// As PyTorch's plans and torchtitan have it; gathers run under the products if they are
// asynchronous.
TEST_CASE("tensor parallelism beside FSDP shards the sequence in frameworks", "[backend]") {
  const auto run = [](const char* engine, bool overlap) {
    return make_run("fsdp", llama_70b(), {8, 1, 8}, 1, 1,
                    {{"engine", plan::Value(std::string(engine))},
                     {"recompute", plan::Value(std::string("selective"))},
                     {"flash_attention", plan::Value(true)},
                     {"overlap_tensor", plan::Value(overlap)}});
  };
  const auto plain = work_of(run("framework", false)), hidden = work_of(run("framework", true));
  CHECK(find_op(plain, "layer", "tensor all-reduce") == nullptr);
  CHECK(find_op(work_of(run("orch", false)), "layer", "tensor all-reduce") != nullptr);
  CHECK(op(plain, "layer", "sequence reduce-scatter").hidden == ORCH_OPEN);
  CHECK(op(hidden, "layer", "sequence all-gather").hidden != ORCH_OPEN);
  CHECK(op(hidden, "layer", "sequence reduce-scatter").hidden == ORCH_OPEN);  // as PyTorch's
  // An input, attention's result, and one in two products' outputs (8192 + 2 * 1024 of queries,
  // keys and values, 2 * 28672 of gate and up), all of an eighth.
  const double layer = 2 * 8192.0 * (2 * 8192 + 8192 + (8192 + 2 * 1024 + 2 * 28672) / 2.0) / 8;
  CHECK_THAT(memory(plain, 0, "activations"), WithinRel(80 * layer, 1e-12));
  CHECK(about(problems_of(run("orch", true)).reasons, "overlap_tensor").fact ==
        "only frameworks cut products to send their parts");
}

TEST_CASE("what a model has not cannot be asked for", "[backend]") {
  const auto fact = [](const plan::Run& run, const char* field) {
    return about(problems_of(run).reasons, field).fact;
  };
  const auto text = [](const char* word) { return plan::Value(std::string(word)); };
  CHECK(fact(make_run("zero3", llama_70b(), {1, 1, 64}, 1, 1, {{"tied_scatter", text("twice")}}),
             "tied_scatter") == "the head is not tied to the embedding");
  auto odd = mixtral();
  odd.expert_hidden = 1407;
  CHECK(fact(make_run("megatron", odd, {8, 1, 1}, 1, 4, {}), "tensor_parallel") ==
        "expert_hidden = 1,407 is not divisible by tensor_parallel = 8");
  CHECK(fact(make_run("megatron", llama_70b(), {1, 1, 8}, 1, 4, {{"expert_parallel", number(2)}}),
             "expert_parallel") == "a llama has no experts to distribute");
  CHECK(fact(make_run("ddp", mixtral(), {1, 1, 8}, 1, 4, {{"compression", text("powersgd")}}),
             "compression") == "PowerSGD is not estimated for models with experts");
}

// Eight experts on four ranks: two each. A micro-batch of 4096 tokens visits 8192 times, and so do
// those of the other three ranks: 4096 rows for each expert.
TEST_CASE("experts are dealt to ranks, and tokens to experts", "[backend]") {
  const auto run = make_run("megatron", mixtral(), {1, 1, 8}, 1, 4,
                            {{"expert_parallel", number(4)}, {"zero_stage", number(1)}});
  const auto work = work_of(run);
  const auto& up = op(work, "layer", "experts up");
  CHECK(up.batch == 2);
  CHECK(up.m == 4096);
  CHECK(up.n == 2 * 14336);
  CHECK(up.k == 4096);
  const auto& exchange = op(work, "layer", "expert all-to-all");
  CHECK(exchange.bytes == 2.0 * 4096 * 2 * 4096);
  CHECK(exchange.group_size == 4);
  CHECK(exchange.forward == 2);
  CHECK(exchange.backward == 2);
  // Two of eight experts; their states are shared by two ranks only.
  const double expert = 3 * 4096.0 * 14336;
  CHECK(memory(work, 0, "weights: experts") == 2 * 32 * 2 * expert);
  CHECK(memory(work, 0, "optimizer states: experts") == 12 * 32 * 2 * expert / 2);
}

// 2 tensor-parallel ranks x 4 of the data hold 8 experts. Whole ones on 8 ranks, one each: a rank
// sends its 2048 rows twice, and the expert is met by 4 x 4096 tokens x 2 visits / 8. On 4 ranks,
// two each, every two ranks have the same.
TEST_CASE("experts may lie on tensor-parallel ranks too", "[backend]") {
  SettingValues settings{{"expert_parallel", number(8)},
                         {"expert_tensor_parallel", number(1)},
                         {"sequence_parallel", plan::Value(true)},
                         {"engine", plan::Value("megatron")},
                         {"zero_stage", number(1)},
                         {"recompute", plan::Value("none")}};
  const double expert = 3 * 4096.0 * 14336;
  const auto run = make_run("megatron", mixtral(), {2, 1, 4}, 1, 4, settings);
  CHECK(problems_of(run).reasons.empty());
  const auto work = work_of(run);
  const auto& up = op(work, "layer", "experts up");
  CHECK(up.batch == 1);
  CHECK(up.m == 4096);
  CHECK(up.n == 2 * 14336);
  const auto& exchange = op(work, "layer", "expert all-to-all");
  CHECK(exchange.bytes == 2.0 * 2048 * 2 * 4096);
  CHECK(exchange.group_size == 8);
  CHECK(exchange.group_stride == 1);
  CHECK(find_op(work, "layer", "expert all-gather") == nullptr);
  CHECK(op(work, "layer", "tokens to experts and back").bytes == 4 * 2 * 2048.0 * 4096 * 2);
  // Only for attention: no rank needs all rows for an MLP.
  CHECK(op(work, "layer", "sequence all-gather").forward == 1);
  CHECK(op(work, "layer", "sequence reduce-scatter").backward == 1);
  CHECK(memory(work, 0, "weights: experts") == 2 * 32 * expert);
  CHECK(memory(work, 0, "optimizer states: experts") == 12 * 32 * expert);
  settings["expert_parallel"] = number(4);
  const auto twice = work_of(make_run("megatron", mixtral(), {2, 1, 4}, 1, 4, settings));
  CHECK(op(twice, "layer", "experts up").batch == 2);
  CHECK(op(twice, "layer", "experts up").m == 2048);
  CHECK(memory(twice, 0, "weights: experts") == 2 * 32 * 2 * expert);
  CHECK(memory(twice, 0, "optimizer states: experts") == 12 * 32 * 2 * expert / 2);
  const orch_op* gather = nullptr;  // the layer's second one: in the experts' group
  for (const auto& each : twice.ops)
    if (each.name == "weight all-gather" && each.data.group_stride == 4) gather = &each.data;
  REQUIRE(gather);
  CHECK(gather->group_size == 2);
  CHECK(gather->bytes == 2 * 2 * expert);
  // A rank's dense layer is the same however experts are cut.
  settings["expert_tensor_parallel"] = number(0);
  const auto cut = work_of(make_run("megatron", mixtral(), {2, 1, 4}, 1, 4, settings));
  CHECK(memory(cut, 0, "weights: layers") == memory(twice, 0, "weights: layers"));
  CHECK(op(cut, "layer", "experts up").n == 14336);
  CHECK(op(cut, "layer", "experts up").m == 4096);
  CHECK(op(cut, "layer", "expert all-to-all").group_stride == 2);
}

// Four tensor-parallel ranks, two to an expert: each sends 1024 rows twice, two gather theirs.
TEST_CASE("ranks that share an expert gather its rows", "[backend]") {
  const auto work = work_of(make_run("megatron", mixtral(), {4, 1, 2}, 1, 4,
                                     {{"expert_parallel", number(4)},
                                      {"expert_tensor_parallel", number(2)},
                                      {"sequence_parallel", plan::Value(true)},
                                      {"engine", plan::Value("megatron")}}));
  CHECK(op(work, "layer", "experts up").m == 2 * 4096 * 2 / 8);
  CHECK(op(work, "layer", "experts up").n == 14336);
  CHECK(op(work, "layer", "expert all-to-all").bytes == 2.0 * 1024 * 2 * 4096);
  CHECK(op(work, "layer", "expert all-to-all").group_stride == 2);
  const auto& gather = op(work, "layer", "expert all-gather");
  CHECK(gather.bytes == 2.0 * 2 * 1024 * 2 * 4096);
  CHECK(gather.group_size == 2);
  CHECK(gather.forward == 1);
  CHECK(op(work, "layer", "expert reduce-scatter").backward == 1);
}

TEST_CASE("experts lie on the ranks of a stage, cut as these are or less", "[backend]") {
  const auto problem = [](const char* field, SettingValues settings,
                          plan::Layout layout = {4, 1, 2}) {
    settings.insert({"engine", plan::Value("megatron")});
    return about(problems_of(make_run("megatron", mixtral(), layout, 1, 4, settings)).reasons,
                 field);
  };
  const SettingValues whole{{"expert_tensor_parallel", number(1)},
                            {"sequence_parallel", plan::Value(true)}};
  auto asked = whole;
  asked["expert_parallel"] = number(16);
  CHECK(problem("expert_parallel", asked).fact == "8 experts cannot be distributed to 16 ranks");
  const auto unfolded = problem("expert_parallel", {{"expert_parallel", number(8)}});
  CHECK(unfolded.fact == "2 ranks have the same weights, and 8 do not divide them");
  CHECK(unfolded.fix == "try expert_parallel = 2, or expert_tensor_parallel = 1");
  asked["expert_parallel"] = number(8);
  const auto six = problem("expert_parallel", asked, {4, 1, 3});
  CHECK(six.fact == "each stage has 12 ranks, 1 for each expert: 8 do not divide 12");
  CHECK(six.fix == "try expert_parallel = 6");
  auto three = whole;
  three["expert_tensor_parallel"] = number(3);
  CHECK(problem("expert_tensor_parallel", three).fact == "3 does not divide tensor_parallel = 4");
  auto unsharded = whole;
  unsharded["sequence_parallel"] = plan::Value(false);
  CHECK(problem("expert_tensor_parallel", unsharded).fix ==
        "try sequence_parallel = true or expert_tensor_parallel = 0");
  auto own = whole;
  own["engine"] = plan::Value("orch");
  CHECK(problem("expert_tensor_parallel", own).fact ==
        "engine = 'orch' cuts experts as it cuts layers");
  const auto dense = problems_of(make_run("megatron", llama_70b(), {4, 1, 2}, 1, 4, whole));
  CHECK(about(dense.reasons, "expert_tensor_parallel").fact == "a llama has no experts to cut");
}

// Of 4096 tokens each visits two experts: their inputs are kept, in a byte each where products read
// such. The rest of a layer: two norms' inputs and outputs, q, k, v, attention's result, up and
// what activation gives.
TEST_CASE("Megatron keeps an expert's inputs and not what it gives", "[backend]") {
  const auto kept = [](SettingValues settings, plan::Layout layout = {1, 1, 8}) {
    settings.insert({{"recompute", plan::Value("none")}, {"flash_attention", plan::Value(true)}});
    return memory(work_of(make_run("megatron", mixtral(), layout, 1, 1, settings)), 0,
                  "activations") /
           32;
  };
  const SettingValues megatron{{"engine", plan::Value("megatron")}};
  const double sbh = 4096.0 * 4096, up = 2 * 2 * 14336.0 / 4096, inner = 2 * 14336.0 / 4096;
  const double rest = 8 + 2 * (1.5 + 1 + up + inner);
  CHECK_THAT(kept(megatron), WithinRel(sbh * (rest + 2 * 2), 1e-12));
  CHECK_THAT(kept({{"engine", plan::Value("nanotron")}}),
             WithinRel(sbh * (rest + 2 * (1.25 + inner) + 2 * 4), 1e-12));
  auto narrow = megatron;
  narrow["dtype"] = plan::Value("fp8");  // norms' and activation's outputs in a byte, attention's
                                         // once more
  CHECK_THAT(kept(narrow), WithinRel(sbh * (rest - 2 - inner + 1 + 2 * 1), 1e-12));
  // Cut over two ranks an expert's rows are of both: whole, they are half as many.
  auto sequence = megatron;
  sequence["sequence_parallel"] = plan::Value(true);
  CHECK_THAT(kept(sequence, {2, 1, 4}), WithinRel(sbh * (rest / 2 + 2 * 2), 1e-12));
  sequence["expert_tensor_parallel"] = number(1);
  CHECK_THAT(kept(sequence, {2, 1, 4}), WithinRel(sbh * (rest / 2 + 2), 1e-12));
}

// To 1536 and 512 numbers, each stored for its norm and for the next product.
TEST_CASE("latent attention keeps what its narrow products give", "[backend]") {
  auto model = mixtral();
  model.kv_heads = model.heads;
  model.kv_rank = 512, model.rope_dim = 64, model.value_dim = model.head_dim;
  const auto kept = [&](std::int64_t q_rank) {
    model.q_rank = q_rank;
    return memory(work_of(make_run(
                      "megatron", model, {1, 1, 8}, 1, 1,
                      {{"engine", plan::Value("megatron")}, {"recompute", plan::Value("none")}})),
                  0, "activations");
  };
  CHECK_THAT(kept(1536) - kept(0), WithinRel(32 * 4096.0 * 1536 * (2 + 2), 1e-9));
}

// Of 32 layers three are dense; recomputing all of a layer launches its experts again.
TEST_CASE("a layer with experts has their launches beside a dense one's", "[backend]") {
  auto model = mixtral();
  model.dense_layers = 3;
  SettingValues settings{{"engine", plan::Value("megatron")}, {"recompute", plan::Value("full")}};
  const auto work = [&] { return work_of(make_run("megatron", model, {1, 1, 8}, 1, 4, settings)); };
  CHECK(op(work(), "layer", "layer overhead").forward == 1);
  CHECK(op(work(), "layer", "launches of experts").forward == 1);
  CHECK(op(work(), "layer", "launches of experts").recompute == 1);
  CHECK(op(work(), "layer", "launches of experts").backward == 1);
  CHECK(op(work(), "dense layer", "layer overhead").forward == 1);
  for (const auto& each : work().ops)
    if (each.name == "launches of experts") CHECK(each.data.kernel == ORCH_OF_EXPERTS);
  settings["dtype"] = plan::Value("fp8");  // with four casts beside six products
  CHECK(op(work(), "layer", "launches of experts").forward == 1.45);
}

// Mixtral on 8 ranks in bf16 with flash attention, and DeepSeek's attention in its place.
struct Modules {
  plan::Model model = mixtral();
  SettingValues settings{{"engine", plan::Value("megatron")},
                         {"recompute", plan::Value("selective")},
                         {"flash_attention", plan::Value(true)},
                         {"expert_parallel", number(8)}};
  plan::Layout layout{1, 1, 8};

  backend::Work work(const char* modules) {
    settings["recompute_modules"] = word(modules);
    const auto run = make_run("megatron", model, layout, 1, 1, settings);
    CHECK(text(problems_of(run).reasons) == "");
    return work_of(run);
  }
  // Bytes of a layer that are not stored.
  double saved(const char* modules) {
    return (memory(work(""), 0, "activations") - memory(work(modules), 0, "activations")) / 32;
  }
};

// Per token: two norms output 4096 numbers each; two experts' activations read 2 x 14336 and output
// 14336.
TEST_CASE("modules that are computed again are not kept", "[backend]") {
  Modules bf16;
  const double n = 4096, h = 4096, f = 14336;
  CHECK(bf16.saved("layernorm") == n * 2 * 2 * h);
  CHECK(bf16.saved("moe_act") == n * 2 * 2 * f);
  CHECK(bf16.saved("moe") == n * 2 * (2 * h + 3 * 2 * f));
  CHECK(bf16.saved("core_attn") == 0);  // its result is the next product's input
  CHECK(bf16.saved("layernorm+moe_act") == n * (4 * h + 4 * f));
  auto fp8 = bf16;
  fp8.settings["dtype"] = plan::Value("fp8");
  CHECK(fp8.saved("layernorm") == n * 2 * h);
  CHECK(fp8.saved("moe_act") == n * 2 * f);
  CHECK(fp8.saved("moe") == n * (2 * h + 5 * 2 * f));
  // Used in one layer at a time, on a stage without logits: the first of two.
  auto stages = bf16;
  stages.layout.pipeline_parallel = 2;
  CHECK(memory(stages.work("layernorm"), 0, "recomputed layer") == n * 2 * 2 * h);
  CHECK(fp8.saved("core_attn") == n * 2 * h);  // 16 bits here, 8 in the next product
  auto half = bf16;
  half.layout = {2, 1, 4};
  half.settings["expert_parallel"] = number(4);
  half.settings["sequence_parallel"] = plan::Value(true);
  CHECK(half.saved("layernorm") == n * 2 * h);
  auto scores = bf16;
  scores.settings["flash_attention"] = plan::Value(false);
  CHECK(memory(scores.work("layernorm"), 0, "activations") -
            memory(scores.work("layernorm+core_attn"), 0, "activations") ==
        32 * 2 * 32.0 * 4096 * 4096);  // softmax gives 16 bits, and nothing is dropped
  CHECK(op(scores.work("layernorm"), "layer", "attention scores").recompute == 0);
  CHECK(op(scores.work("core_attn"), "layer", "scores forward").recompute == 1);
}

TEST_CASE("modules are computed once more, and nothing else is", "[backend]") {
  Modules modules;
  const auto norms = modules.work("layernorm");
  CHECK(op(norms, "layer", "norms, activations of recomputed modules").bytes == 8 * 4096.0 * 4096);
  CHECK(op(norms, "layer", "experts up").recompute == 0);
  CHECK(op(norms, "layer", "QKV").recompute == 0);
  const auto moe = modules.work("moe");
  for (const auto* name : {"router", "experts up", "experts down", "tokens to experts and back"})
    CHECK(op(moe, "layer", name).recompute == 1);
  CHECK(op(moe, "layer", "expert all-to-all").recompute == 2);
  CHECK(op(moe, "layer", "attention output").recompute == 0);
  // Two experts' 2 x 14336 read and 14336 written, in 16 bits.
  const auto activation = modules.work("moe_act");
  CHECK_THAT(op(activation, "layer", "norms, activations of recomputed modules").bytes,
             WithinRel(4096 * 2 * 2 * 3 * 14336.0, 1e-12));
  CHECK(op(activation, "layer", "expert all-to-all").recompute == 0);
  CHECK(op(modules.work("core_attn"), "layer", "attention scores").recompute == 0.5);
  modules.model = llama_70b();
  modules.settings["expert_parallel"] = number(1);
  const auto mlp = modules.work("mlp");
  CHECK(op(mlp, "layer", "MLP up").recompute == 1);
  CHECK(op(mlp, "layer", "MLP down").recompute == 1);
  CHECK(op(mlp, "layer", "attention output").recompute == 0);
  CHECK_THAT((memory(modules.work(""), 0, "activations") - memory(mlp, 0, "activations")) / 80,
             WithinRel(8192 * 2 * 3 * 28672.0, 1e-9));
}

// Per token and head 128 + 64 numbers of a query and of a key, and 128 of a value.
TEST_CASE("up-projections of latent attention are repeated from their narrow inputs", "[backend]") {
  Modules latent;
  latent.model.kv_heads = latent.model.heads;
  latent.model.q_rank = 1536, latent.model.kv_rank = 512, latent.model.rope_dim = 64,
  latent.model.value_dim = 128;
  CHECK_THAT(latent.saved("mla_up_proj"), WithinRel(4096 * 2 * 32.0 * (192 + 192 + 128), 1e-12));
  const auto work = latent.work("mla_up_proj");
  CHECK(op(work, "layer", "Q up").recompute == 1);
  CHECK(op(work, "layer", "KV up").recompute == 1);
  CHECK(op(work, "layer", "Q down").recompute == 0);
  CHECK(op(work, "layer", "attention scores").recompute == 0);
}

TEST_CASE("modules are Megatron-LM's, and a model's own", "[backend]") {
  const auto fact = [](const char* modules, SettingValues settings = {},
                       const plan::Model& model = mixtral()) {
    settings.insert({{"engine", plan::Value("megatron")},
                     {"recompute", plan::Value("selective")},
                     {"recompute_modules", word(modules)}});
    return about(problems_of(make_run("megatron", model, {1, 1, 8}, 1, 4, settings)).reasons,
                 "recompute_modules")
        .fact;
  };
  CHECK(fact("mla_up") == "'mla_up' is not a module of Megatron-LM's layers");
  CHECK(fact("moe+") == "'+' is not a module of Megatron-LM's layers");
  CHECK(fact("mla_up_proj") == "a moe without kv_rank has no up-projections of latent attention");
  CHECK(fact("moe+moe_act") == "moe computes all of the experts again, moe_act a part of them");
  CHECK(fact("moe_act", {}, llama_70b()) == "a llama has no experts");
  CHECK(fact("moe", {{"recompute", plan::Value("full")}})
            .starts_with("modules are computed again one by one"));
  CHECK(fact("moe", {{"engine", plan::Value("orch")}})
            .starts_with("modules are computed again one by one"));
}

// Three dense layers of eight on four stages: two on the first, one on the second. Interleaved, a
// chunk has one layer: one on each of the first three.
TEST_CASE("the layers without experts are the first ones", "[backend]") {
  auto model = mixtral();
  model.layers = 8;
  model.dense_layers = 3;
  const double expert = 3 * 4096.0 * 14336, attention = 2 * 4096.0 * 4096 + 2 * 4096 * 1024.0;
  const double dense = attention + expert + 2 * 4096, mixed = attention + 2 * 4096 + 8 * 4096;
  SettingValues settings{{"expert_parallel", number(4)},
                         {"engine", plan::Value("megatron")},
                         {"recompute", plan::Value("none")}};
  const auto work = work_of(make_run("megatron", model, {1, 4, 8}, 1, 8, settings));
  const auto layers = [&](std::int64_t stage) { return memory(work, stage, "weights: layers"); };
  CHECK(layers(0) == 2 * 2 * dense);
  CHECK(layers(1) == 2 * (dense + mixed));
  CHECK(layers(2) == 2 * 2 * mixed);
  CHECK(memory(work, 0, "weights: experts") == 0);
  CHECK(memory(work, 1, "weights: experts") == 2 * 2 * expert);
  CHECK(memory(work, 3, "weights: experts") == 2 * 2 * 2 * expert);
  CHECK(find_op(work, "dense layer", "expert all-to-all") == nullptr);
  CHECK(op(work, "dense layer", "MLP down").k == 14336);
  CHECK(op(work, "layer", "expert all-to-all").forward == 2);
  CHECK(memory(work, 0, "activations of dense layers") > 0);
  CHECK(memory(work, 2, "activations of dense layers") == 0);
  settings["interleave"] = number(2);
  const auto chunks = work_of(make_run("megatron", model, {1, 4, 8}, 1, 8, settings));
  for (std::int64_t stage = 0; stage < 4; ++stage)
    CHECK(memory(chunks, stage, "weights: experts") == 2 * 2 * (stage < 3 ? 1 : 2) * expert);
}

// Of 2 nodes, a token that chooses 2 of 8 experts at random meets 2 x (1 - 1/4) = 1.5; on the way
// there it has 1 byte a number, on the way back 2.
TEST_CASE("a token may be sent once to each node that has its experts", "[backend]") {
  const auto sent = [](SettingValues settings) {
    settings["expert_parallel"] = number(8);
    return op(work_of(make_run("megatron", mixtral(), {2, 1, 8}, 1, 4, settings)), "layer",
              "expert all-to-all");
  };
  const auto copies = sent({});
  CHECK(copies.bytes == 2.0 * 4096 * 2 * 4096);
  CHECK(copies.hidden == ORCH_OPEN);
  const SettingValues nodes{{"expert_dispatch", plan::Value("nodes")}};
  CHECK(sent(nodes).bytes == 2.0 * 4096 * 1.5 * 4096);
  auto narrow = nodes;
  narrow["dtype"] = plan::Value("fp8");
  narrow["overlap_experts"] = plan::Value(true);
  CHECK(sent(narrow).bytes == 1.5 * 4096 * 1.5 * 4096);
  CHECK(sent(narrow).forward == Approx(2 * 0.55));  // and 0.45 under products
  auto chosen = nodes;
  chosen["nodes_limit"] = number(1);
  CHECK(sent(chosen).bytes == 2.0 * 4096 * 4096);
}

// As in Transformer Engine and DeepSeek-V3: head and router, which choose tokens and experts, stay
// in bf16.
TEST_CASE("fp8 is for the products of layers, not for head and router", "[backend]") {
  const auto work =
      work_of(make_run("megatron", mixtral(), {1, 1, 8}, 1, 4, {{"dtype", plan::Value("fp8")}}));
  for (const auto* name : {"QKV", "attention output", "experts up", "experts down"})
    CHECK(op(work, "layer", name).kernel == ORCH_NARROW);
  CHECK(op(work, "layer", "router").kernel == ORCH_WIDE);
  CHECK(op(work, "LM head", "logits").kernel == ORCH_WIDE);
}

// The bits in a format's name define it. Llama-3-70B on 8 ranks: a layer has 855,654,400 weights.
TEST_CASE("a number format that nobody has named yet is priced by its bits", "[backend]") {
  const auto with = [](const char* strategy, plan::Layout layout, const char* dtype) {
    return work_of(make_run(strategy, llama_70b(), layout, 1, 4, {{"dtype", plan::Value(dtype)}}));
  };
  const double layer = 855654400.0;
  const auto four = with("megatron", {1, 1, 8}, "nvfp4"),
             eight = with("megatron", {1, 1, 8}, "fp8");
  CHECK(memory(four, 0, "weights that products read") == 80 * layer);
  CHECK(memory(eight, 0, "weights that products read") == 2 * 80 * layer);
  // 2 bytes read, twice half a byte or a byte written.
  CHECK(op(four, "layer", "casts for products").bytes * 4 ==
        op(eight, "layer", "casts for products").bytes * 3);
  const auto sharded = with("fsdp", {1, 1, 8}, "fp8");
  CHECK(memory(sharded, 0, "weights that products read") == 2 * layer);
  CHECK(op(sharded, "layer", "casts of weights for products").bytes == 3 * layer);
  CHECK(op(sharded, "layer", "QKV").kernel == ORCH_NARROW);
}

// A sample of 8192 tokens on two ranks: each has half of its rows and needs all keys and values, 2
// x 8 x 128 numbers per token.
TEST_CASE("ranks that share samples send keys and values round", "[backend]") {
  auto run = make_run("megatron", llama_70b(), {8, 4, 2}, 1, 4,
                      {{"context_parallel", number(2)}, {"flash_attention", plan::Value(true)}});
  run.layout.context_parallel = 2;
  run.layout.data_parallel = 1;
  const auto work = work_of(run);
  CHECK(op(work, "layer", "QKV").m == 4096);
  CHECK(op(work, "layer", "attention scores").m == 4096);
  CHECK(op(work, "layer", "attention scores").n == 8192);
  const auto& gather = op(work, "layer", "context all-gather");
  CHECK(gather.bytes == 2.0 * 8192 * 2048 / 8);
  CHECK(gather.group_size == 2);
  CHECK(gather.group_stride == 8);
  CHECK(find_op(work, "layer", "gradient all-reduce"));  // both have all weights
}

}  // namespace families_test
