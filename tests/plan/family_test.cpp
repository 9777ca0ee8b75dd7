#include "core/plan/family.h"

#include "core/plan/model_json.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::plan;

namespace {

using GivenFields = std::vector<std::pair<Field, Value>>;

Model made(std::string_view family, const GivenFields& given) {
  return complete(*find_family(family), [&](Field field) -> Value {
    for (const auto& [known, value] : given)
      if (known == field) return value;
    return {};
  });
}

Value n(std::int64_t number) { return number; }

GivenFields llama_3_8b() {
  return {{Field::layers, n(32)},  {Field::hidden, n(4096)},      {Field::heads, n(32)},
          {Field::kv_heads, n(8)}, {Field::ffn_hidden, n(14336)}, {Field::vocab, n(128256)},
          {Field::seq, n(8192)}};
}

std::string wrong(const Model& model) {
  std::vector<Error> reasons;
  check_model(model, reasons);
  std::string all;
  for (const auto& reason : reasons) all += reason.text() + "\n";
  return all;
}

}  // namespace

TEST_CASE("fields and sizes have one order", "[plan]") {
  for (std::size_t i = 0; i < kSizes.size(); ++i)
    CHECK(name(static_cast<Field>(static_cast<std::size_t>(Field::layers) + i)) == kSizes[i].name);
}

// The published counts: of Llama 3 by Meta, of Qwen by Alibaba, of Mixtral by Mistral, of
// DeepSeek-V3 by its model card, as transformers counts their weights.
TEST_CASE("models have as many parameters as they were published with", "[plan]") {
  CHECK(made("llama", llama_3_8b()).params() == 8'030'261'248);
  CHECK(made("llama", {{Field::layers, n(16)},
                       {Field::hidden, n(2048)},
                       {Field::heads, n(32)},
                       {Field::kv_heads, n(8)},
                       {Field::ffn_hidden, n(8192)},
                       {Field::vocab, n(128256)},
                       {Field::seq, n(8192)},
                       {Field::tied, true}})
            .params() == 1'235'814'400);
  // Two thirds of four times the width, in whole tiles: the default.
  CHECK(sized("llama", "", 32, 4096, 32, 32000, 4096).params() == 6'738'415'616);
  CHECK(made("llama", {{Field::layers, n(28)},
                       {Field::hidden, n(3584)},
                       {Field::heads, n(28)},
                       {Field::kv_heads, n(4)},
                       {Field::ffn_hidden, n(18944)},
                       {Field::vocab, n(152064)},
                       {Field::seq, n(4096)},
                       {Field::qkv_bias, true}})
            .params() == 7'615'616'512);
  CHECK(made("llama", {{Field::layers, n(64)},
                       {Field::hidden, n(5120)},
                       {Field::heads, n(64)},
                       {Field::kv_heads, n(8)},
                       {Field::head_dim, n(128)},
                       {Field::ffn_hidden, n(25600)},
                       {Field::vocab, n(151936)},
                       {Field::seq, n(4096)},
                       {Field::qk_norm, true}})
            .params() == 32'762'123'264);
}

TEST_CASE("of experts a token meets its own", "[plan]") {
  const auto mixtral = made("moe", {{Field::layers, n(32)},
                                    {Field::hidden, n(4096)},
                                    {Field::heads, n(32)},
                                    {Field::kv_heads, n(8)},
                                    {Field::ffn_hidden, n(14336)},
                                    {Field::experts, n(8)},
                                    {Field::experts_per_token, n(2)},
                                    {Field::vocab, n(32000)},
                                    {Field::seq, n(4096)}});
  CHECK(mixtral.params() == 46'702'792'704);
  CHECK(mixtral.active_params() == 12'879'925'248);
  const auto deepseek = made("moe", {{Field::layers, n(61)},
                                     {Field::hidden, n(7168)},
                                     {Field::heads, n(128)},
                                     {Field::head_dim, n(128)},
                                     {Field::ffn_hidden, n(18432)},
                                     {Field::dense_layers, n(3)},
                                     {Field::experts, n(256)},
                                     {Field::experts_per_token, n(8)},
                                     {Field::shared_experts, n(1)},
                                     {Field::expert_hidden, n(2048)},
                                     {Field::router_bias, true},
                                     {Field::q_rank, n(1536)},
                                     {Field::kv_rank, n(512)},
                                     {Field::rope_dim, n(64)},
                                     {Field::value_dim, n(128)},
                                     {Field::vocab, n(129280)},
                                     {Field::seq, n(4096)}});
  CHECK(deepseek.params() == 671'026'419'200);
  CHECK(std::llround(deepseek.active_params() / 1e9) == 38);  // "37B", without the embedding
}

// Llama 3 8B: q and out 4096 x 4096, k and v 4096 x 1024, three matrices of 4096 x 14336; scores
// and context of 8192 tokens, 4096 wide.
TEST_CASE("operations of a layer are those of its products", "[plan]") {
  const auto model = made("llama", llama_3_8b());
  const double weights = 2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336;
  CHECK(model.layer_flops() == 2 * weights + 2 * 2 * 8192.0 * 4096);
  const auto gpt = sized("gpt", "", 24, 2048, 16, 50257, 1024);
  CHECK(gpt.layer_flops() == 24 * 2048.0 * 2048 + 4 * 1024.0 * 2048);
}

TEST_CASE("what a model cannot be", "[plan]") {
  auto model = made("llama", llama_3_8b());
  CHECK(wrong(model).empty());
  model.kv_heads = 5;
  CHECK_THAT(wrong(model), ContainsSubstring("kv_heads") && ContainsSubstring("try kv_heads = 4"));
  model = made("llama", llama_3_8b());
  model.head_dim = 63;
  CHECK_THAT(wrong(model), ContainsSubstring("rotary embeddings need an even head_dim"));
  model = sized("gpt", "", 2, 100, 3, 10, 8);
  CHECK_THAT(wrong(model), ContainsSubstring("hidden 100 does not divide into 3 heads"));
  // With a given head_dim, a llama's heads need not divide its width: 38 / 3 is 12.7.
  for (const std::int64_t head_dim : {12, 32}) {
    model = made("llama", {{Field::layers, n(2)},
                           {Field::hidden, n(38)},
                           {Field::heads, n(3)},
                           {Field::head_dim, n(head_dim)},
                           {Field::vocab, n(10)},
                           {Field::seq, n(8)}});
    CHECK(wrong(model).empty());
  }
}

TEST_CASE("experts and latent attention that cannot be", "[plan]") {
  const auto with = [](const GivenFields& more) {
    GivenFields given{
        {Field::layers, n(2)},           {Field::hidden, n(64)}, {Field::heads, n(4)},
        {Field::vocab, n(100)},          {Field::seq, n(16)},    {Field::experts, n(4)},
        {Field::experts_per_token, n(2)}};
    given.insert(given.begin(), more.begin(), more.end());
    return wrong(made("moe", given));
  };
  CHECK(with({}).empty());
  CHECK_THAT(with({{Field::experts, n(0)}}), ContainsSubstring("0 experts"));
  CHECK_THAT(with({{Field::experts_per_token, n(0)}}), ContainsSubstring("0 for a token"));
  CHECK_THAT(with({{Field::expert_hidden, n(0)}}), ContainsSubstring("of width 0"));
  CHECK_THAT(with({{Field::experts_per_token, n(5)}}), ContainsSubstring("at most 4"));
  CHECK_THAT(with({{Field::q_rank, n(8)}}), ContainsSubstring("kv_rank is 0"));
  CHECK_THAT(with({{Field::kv_rank, n(8)}}), ContainsSubstring("needs rope_dim"));
  CHECK(with({{Field::kv_rank, n(8)}, {Field::rope_dim, n(4)}}).empty());
}

TEST_CASE("a model is read as it was written", "[plan]") {
  for (const auto* family : families()) {
    auto given = llama_3_8b();
    given.push_back({Field::experts, n(8)});
    given.push_back({Field::experts_per_token, n(2)});
    given.push_back({Field::qkv_bias, true});
    given.push_back({Field::rope_theta, 5e5});
    const auto model = made(family->name, given);
    const auto back = parse_model(model_json(model), "model");
    REQUIRE(back);
    CHECK(*back == model);
  }
  // In the format of versions before families.
  const auto old =
      parse_model(R"({"family":"bloom","layers":2,"hidden":8,"heads":2,"vocab":9,"seq":4})", "m");
  REQUIRE(old);
  CHECK(*old == sized("bloom", "", 2, 8, 2, 9, 4));
  const auto bad = parse_model(R"({"family":"lama","layers":2})", "m");
  REQUIRE_FALSE(bad);
  CHECK_THAT(text(bad.error()), ContainsSubstring("did you mean 'llama'"));
  const auto missing = parse_model(R"({"family":"llama","layers":0,"hidden":64,"heads":"x"})", "m");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().size() == 4);  // layers, heads, vocab, seq
}
