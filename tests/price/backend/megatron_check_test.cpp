#include "core/plan/family.h"
#include "tests/price/backend/support.h"

namespace orch::test::megatron_check_test {
namespace {

const plan::Model kAligned = plan::sized("gpt", "aligned", 96, 12288, 96, 50257, 2048);

plan::Model with(std::int64_t plan::Model::*field, std::int64_t value) {
  auto model = kAligned;
  model.*field = value;
  return model;
}

void check_says(const Error& problem, const char* fact, const char* fix) {
  INFO(problem.text());
  CHECK(has(problem.fact, fact));
  CHECK(has(problem.fix, fix));
}

}  // namespace

TEST_CASE("a run in good shape has no problem", "[megatron]") {
  const auto problems = problems_of(
      make_run("megatron", kAligned, {8, 12, 4}, 2, 64, {{"fp32_accumulate", plan::Value(true)}}));
  CHECK(text(problems.reasons) == "");
  CHECK(text(problems.warnings) == "");
}

TEST_CASE("sums in fp32 are told off only where gradients are fp32 anyway", "[megatron]") {
  const auto warnings = [](const char* engine, const char* dtype, std::int64_t zero_stage) {
    return problems_of(make_run("megatron", kAligned, {8, 12, 4}, 2, 64,
                                {{"fp32_accumulate", plan::Value(true)},
                                 {"engine", plan::Value(std::string(engine))},
                                 {"dtype", plan::Value(std::string(dtype))},
                                 {"zero_stage", plan::Value(zero_stage)}}))
        .warnings;
  };
  // Otherwise Megatron-LM's job would sum in bf16: --grad-reduce-in-bf16.
  CHECK(text(warnings("megatron", "bf16", 1)) == "");
  CHECK(text(warnings("deepspeed", "bf16", 0)) == "");
  check_says(about(warnings("orch", "fp32", 1), "fp32_accumulate"),
             "gradients are fp32 already with dtype = 'fp32'", "try fp32_accumulate = false");
}

TEST_CASE("heads and hidden must divide over tensor-parallel ranks", "[megatron]") {
  const auto model = plan::sized("gpt", "104b", 64, 11700, 90, 50257, 2048);
  const auto problems = problems_of(make_run("megatron", model, {8, 12, 1}, 1, 64));
  REQUIRE(problems.reasons.size() == 2);
  check_says(problems.reasons[0], "heads = 90 is not divisible by tensor_parallel = 8",
             "try tensor_parallel = 6 or heads = 96");
  check_says(problems.reasons[1], "hidden = 11,700 is not divisible by tensor_parallel = 8",
             "try tensor_parallel = 6 or hidden = 11,704");
}

TEST_CASE("more stages than layers are refused", "[megatron]") {
  const auto model = with(&plan::Model::layers, 6);
  check_says(about(problems_of(make_run("megatron", model, {1, 8, 1}, 1, 64)).reasons,
                   "pipeline_parallel"),
             "8 stages for 6 layers", "try pipeline_parallel = 6");
}

TEST_CASE("interleaving needs divisible layers and full rounds of micro-batches", "[megatron]") {
  const auto problems =
      problems_of(make_run("megatron", kAligned, {8, 12, 1}, 1, 30, {{"interleave", number(3)}}));
  REQUIRE(problems.reasons.size() == 1);
  check_says(problems.reasons[0], "layers = 96 is not divisible by pipeline_parallel * interleave",
             "try interleave = 2 or layers = 108");
  check_says(about(problems.warnings, "interleave"),
             "accumulate = 30 is not a multiple of pipeline_parallel = 12", "try accumulate = 36");
}

// 94 layers on 8 x 2 chunks: fourteen of six and the first and the last of five. On the second
// stage twelve, of 11.75 on average. With embeddings counted, 96 divide.
TEST_CASE("Megatron-LM takes uneven chunks, and is told what they cost", "[megatron]") {
  const auto of = [](std::int64_t layers, const char* engine, std::int64_t stages) {
    return problems_of(make_run("megatron", with(&plan::Model::layers, layers), {1, stages, 1}, 1,
                                64, {{"interleave", number(2)}, {"engine", word(engine)}}));
  };
  const auto uneven = of(94, "megatron", 8);
  CHECK(uneven.reasons.empty());
  check_says(about(uneven.warnings, "interleave"),
             "layers = 94 is not divisible by pipeline_parallel * interleave = 8 * 2 = 16: chunks "
             "of 5 to 6 layers, "
             "12 on the largest stage; 2.1 % of the time is lost",
             "try stage_partition = 'transformer|embedding', interleave = 1 or layers = 96");
  check_says(about(of(61, "megatron", 16).warnings, "interleave"),
             "4 on the largest stage; 4.9 % of the time is lost",
             "try interleave = 1 or layers = 64");
  // Chunks of 1, 2, 2 and 1: three layers on each stage, of which 2 + 2 determine the rate in the
  // worst case.
  check_says(about(of(6, "megatron", 2).warnings, "interleave"),
             "3 on the largest stage; 0.0 % to 33.3 %", "layers = 8");
  check_says(about(of(94, "orch", 8).reasons, "interleave"), "layers = 94 is not divisible",
             "layers = 96");
  check_says(about(of(94, "nanotron", 8).reasons, "interleave"), "layers = 94 is not divisible",
             "layers = 96");
  check_says(about(of(12, "megatron", 8).reasons, "interleave"), "layers = 12 is not divisible",
             "layers = 16");
}

// Six layers, three of them dense, on chunks of 1, 2, 2 and 1: the first stage's second chunk has
// the 4th and 5th.
TEST_CASE("uneven chunks have the layers that come by", "[megatron]") {
  auto model = plan::sized("moe", "small", 6, 4096, 32, 32000, 4096);
  model.ffn_hidden = model.expert_hidden = 14336;
  model.experts = 8, model.experts_per_token = 2, model.dense_layers = 3;
  const auto run = make_run(
      "megatron", model, {1, 2, 8}, 1, 8,
      {{"interleave", number(2)}, {"engine", word("megatron")}, {"expert_parallel", number(8)}});
  const auto work = work_of(run);
  const double expert = 3 * 4096.0 * 14336;
  CHECK(memory(work, 0, "weights: experts") == 2 * 2 * expert);
  CHECK(memory(work, 1, "weights: experts") == 2 * 1 * expert);
}

TEST_CASE("sequence parallelism needs a divisible sequence", "[megatron]") {
  auto model = kAligned;
  model.seq = 2044;
  check_says(about(problems_of(make_run("megatron", model, {8, 12, 1}, 1, 64,
                                        {{"sequence_parallel", plan::Value(true)}}))
                       .reasons,
                   "sequence_parallel"),
             "micro_batch * seq = 2,044 is not divisible by tensor_parallel = 8",
             "try seq = 2,048");
  // The rows of two samples together are divisible, though those of one are not.
  CHECK(problems_of(make_run("megatron", model, {8, 12, 1}, 2, 64,
                             {{"sequence_parallel", plan::Value(true)}}))
            .reasons.empty());
}

TEST_CASE("counted embeddings that leave the last stage empty are refused", "[megatron]") {
  const auto model = with(&plan::Model::layers, 8);
  check_says(about(problems_of(make_run("megatron", model, {1, 7, 1}, 1, 64,
                                        {{"stage_partition", word("transformer|embedding")},
                                         {"partition_rule", word("portions")}}))
                       .reasons,
                   "stage_partition"),
             "used up before stage 6", "try pipeline_parallel = 5 or layers = 12");
  // Balanced there is one for each, up to a stage for each embedding.
  const auto reasons = [&](std::int64_t stages) {
    return problems_of(make_run("megatron", model, {1, stages, 1}, 1, 64,
                                {{"stage_partition", word("transformer|embedding")}}))
        .reasons;
  };
  CHECK(reasons(7).empty());
  CHECK(reasons(10).empty());
  check_says(about(reasons(11), "pipeline_parallel"), "11 stages for 8 layers and 2 embeddings",
             "try pipeline_parallel = 10");
}

TEST_CASE("uneven stages are warned of with the loss and a way out", "[megatron]") {
  const auto model = with(&plan::Model::layers, 78);
  check_says(about(problems_of(make_run("megatron", model, {8, 12, 1}, 1, 64)).warnings,
                   "pipeline_parallel"),
             "78 layers on 12 stages: 7 on the largest, 6 on the last; 7.7 % of the time is lost",
             "try pipeline_parallel = 6 or layers = 84");
  const auto better = with(&plan::Model::layers, 94);
  check_says(about(problems_of(make_run("megatron", better, {8, 24, 1}, 1, 96)).warnings,
                   "pipeline_parallel"),
             "94 layers on 24 stages", "try stage_partition = 'transformer|embedding'");
}

TEST_CASE("a pipe that never fills is warned of with its bubble", "[megatron]") {
  // 11 idle slots against 4 busy ones.
  check_says(
      about(problems_of(make_run("megatron", kAligned, {8, 12, 2}, 1, 4)).warnings, "accumulate"),
      "4 micro-batches on 12 stages: the pipe is never full, 73.3 %",
      "try accumulate = 48 (global_batch = 96)");
}

TEST_CASE("tensor parallelism across nodes is warned of", "[megatron]") {
  check_says(about(problems_of(make_run("megatron", kAligned, {16, 12, 1}, 1, 64)).warnings,
                   "tensor_parallel"),
             "tensor_parallel = 16 spans 2 nodes of 8 GPUs", "try tensor_parallel = 8");
  check_says(about(problems_of(make_run("megatron", kAligned, {6, 12, 1}, 1, 64)).warnings,
                   "tensor_parallel"),
             "does not divide the 8 GPUs of a node", "try tensor_parallel = 4");
}

TEST_CASE("a list of layers fits the stages and the model", "[megatron]") {
  const auto facts = [](const char* listed, SettingValues more = {}) {
    more["stage_layers"] = word(listed);
    std::string all;
    for (const auto& reason :
         problems_of(make_run("megatron", model_104b(), {4, 4, 2}, 1, 64, more)).reasons)
      all += reason.fact + "; ";
    return all;
  };
  CHECK(facts("15,17,17,15") == "");
  CHECK(facts("0,32,32,0") == "");
  CHECK(has(facts("16,16,16"), "3 stages are listed of pipeline_parallel = 4"));
  CHECK(has(facts("16,16,16,15"), "lists 63 layers, and the model has 64"));
  for (const char* wrong : {"16;48", "16,,16", "16,16,", "-1,65", "a", " 64"})
    CHECK(has(facts(wrong), "is not a list of integers"));
  CHECK(has(facts("16,16,16,16", {{"interleave", number(2)}}), "does not go with interleave"));
}

TEST_CASE("shapes that miss the fast kernels are warned of", "[megatron]") {
  // 14400 with 64 heads has head_dim 225; 13824 with 64 heads has 216.
  const auto shape = [](std::int64_t hidden, std::int64_t heads) {
    return plan::sized("gpt", "aligned", 96, hidden, heads, 50257, 2048);
  };
  const auto slow = shape(14400, 64);
  check_says(about(problems_of(make_run("megatron", slow, {8, 12, 4}, 2, 64)).warnings, "heads"),
             "head_dim = hidden / heads = 14,400 / 64 = 225 is not a multiple of 8",
             "try hidden = 14,848");
  const auto fast = shape(13824, 64);
  CHECK(problems_of(
            make_run("megatron", fast, {8, 12, 4}, 2, 64, {{"fp32_accumulate", plan::Value(true)}}))
            .warnings.empty());
  const auto heads = shape(13824, 108);
  check_says(
      about(problems_of(make_run("megatron", heads, {4, 12, 4}, 1, 64)).warnings, "micro_batch"),
      "(heads / tensor_parallel) * micro_batch = 27 * 1 = 27 is not a multiple of 4",
      "try micro_batch = 4 or heads = 112");
  check_says(
      about(problems_of(make_run("megatron", with(&plan::Model::seq, 4096), {8, 12, 4}, 2, 64))
                .warnings,
            "seq"),
      "not 4,096", "try flash_attention = true");
  check_says(about(problems_of(make_run("megatron", kAligned, {8, 12, 4}, 2, 64,
                                        {{"vocab_multiple", number(1)}}))
                       .warnings,
                   "vocab_multiple"),
             "50,257 / 8 padded to 6,283", "try vocab_multiple = 128");
  auto narrow = kAligned;
  narrow.hidden = 96 * 104;
  check_says(about(problems_of(make_run("megatron", narrow, {8, 12, 4}, 2, 64)).warnings,
                   "tensor_parallel"),
             "= 1,248 is not a multiple of 64", "try hidden = 10,240");
}

}  // namespace orch::test::megatron_check_test
