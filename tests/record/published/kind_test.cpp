// The model of a row, and the software that trained it.
#include "core/record/published/sizes.h"
#include "tests/record/published/support.h"

namespace orch::published {
namespace {

using namespace test;
using plan::Value;

Value text(const char* word) { return std::string(word); }

TEST_CASE("an MLP that is not four times as wide is a gated one", "[measured][kind]") {
  auto llama = row();
  cell(llama, "ffn_hidden") = 28672;  // of 12288 in these rows
  cell(llama, "kv_heads") = 8;
  const auto sample = one(llama);
  const auto& model = sample.run.model;
  CHECK(model.family == "llama");
  CHECK(model.swiglu);
  CHECK(model.kv_heads == 8);
  CHECK(model.ffn_hidden == 28672);
  CHECK_FALSE(model.tied);
  CHECK(assumes(sample, "family llama"));
  cell(llama, "tied") = true;
  CHECK(one(llama).run.model.tied);
}

TEST_CASE("what a row calls its model is what it is", "[measured][kind]") {
  auto other = row();
  cell(other, "family") = "mpt";
  const auto mpt = one(other).run.model;
  CHECK_FALSE(mpt.bias);
  CHECK(mpt.tied);
  CHECK(mpt.learned_positions());
  CHECK(mpt.ffn_hidden == 4 * mpt.hidden);
  cell(other, "family") = "nemotron";
  cell(other, "kv_heads") = 8;
  const auto nemotron = one(other).run.model;
  CHECK(nemotron.rope);
  CHECK_FALSE(nemotron.swiglu);
  CHECK_FALSE(nemotron.tied);
  cell(other, "family") = "";
  CHECK(one(other).run.model == nemotron);
  other.set("family", "no such one");  // the column reports it; nothing crashes
  CHECK(shaped(other, usual_sizes(1e9, 50257, 1, 1)).family == "gpt");
  CHECK(one(row()).run.model.family == "gpt");
}

TEST_CASE("whether the head is tied is known from rows of the same width", "[measured][kind]") {
  auto says = row(), silent = row();
  cell(says, "family") = cell(silent, "family") = "llama";
  cell(says, "tied") = true;
  silent.id = "r2";
  const auto made = samples({says, silent});
  REQUIRE(made.samples.size() == 2);
  CHECK(made.samples[1].run.model.tied);
}

TEST_CASE("a model of which only the parameters are known is as usual", "[measured][kind]") {
  // GPT-3: 96 layers of 12288; by the rule of 128 times as wide as deep.
  const auto gpt3 = usual_sizes(175e9, 50257, 8, 8);
  CHECK(gpt3.layers == 96);
  CHECK(gpt3.hidden == 12288);
  for (const double params : {0.35e9, 1.3e9, 7.5e9, 52e9, 1e12}) {
    const auto sizes = usual_sizes(params, 50257, 1, 1);
    const double h = static_cast<double>(sizes.hidden), l = static_cast<double>(sizes.layers);
    CHECK(12 * l * h * h + 50257 * h == Approx(params).epsilon(0.06));
  }
  auto bare = row();
  cell(bare, "layers").reset();
  cell(bare, "hidden").reset();
  cell(bare, "heads").reset();
  cell(bare, "params_b") = 175;
  const auto sample = one(bare);
  CHECK(sample.run.model.params() == Approx(175e9).epsilon(0.06));
  CHECK(assumes(sample, "as usual for 175B parameters"));
  cell(bare, "tp").reset();  // and its layout is unknown
  CHECK(has(reason(bare), "layers: not given"));
}

TEST_CASE("context parallelism is one of the axes", "[measured][kind]") {
  auto shared = row();
  cell(shared, "context_parallel") = 2;
  cell(shared, "dp") = 8;
  cell(shared, "gas") = 64;
  CHECK(one(shared).run.layout == plan::Layout{4, 6, 8, 2});
  cell(shared, "dp") = 16;
  CHECK(has(reason(shared), "dp 16 x tp 4 x pp 6 x cp 2 is not 384"));
}

TEST_CASE("nanotron deals by costs, and FSDP shards as it says", "[measured][kind]") {
  auto nanotron = row();
  cell(nanotron, "framework") = "nanotron";
  cell(nanotron, "engine") = "nanotron";
  const auto run = one(nanotron).run;
  CHECK(run.setting("engine") == text("nanotron"));
  CHECK(run.setting("partition_rule") == text("costs"));
  auto fsdp = row();
  cell(fsdp, "framework") = "fsdp";
  lay_flat(fsdp);
  for (const auto& [said, meant] : {std::pair{"FULL_SHARD", "full"}, std::pair{"HSDP", "hybrid"},
                                    std::pair{"SHARD_GRAD_OP", "grad_op"}, std::pair{"", "full"}}) {
    cell(fsdp, "sharding") = said;
    CHECK(one(fsdp).run.setting("sharding") == text(meant));
  }
  cell(fsdp, "cross_entropy") = "fused";
  CHECK(one(fsdp).run.setting("cross_entropy") == text("fused"));
}

TEST_CASE("a GPU's name may be short, or long", "[measured][kind]") {
  CHECK(plain_gpu("NVIDIA A100-SXM4-80GB") == "a100-80g");
  CHECK(plain_gpu("Tesla V100-SXM2-32GB") == "v100-32g");
  auto brief = row();
  cell(brief, "gpu") = "A100";
  CHECK(one(brief).run.partition->name == "a100-80g");
  CHECK(assumes(one(brief), "gpu a100-80g"));
}

}  // namespace
}  // namespace orch::published
