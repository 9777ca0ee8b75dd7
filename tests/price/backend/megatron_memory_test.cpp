#include "core/base/units.h"
#include "core/plan/family.h"
#include "tests/price/backend/support.h"

namespace orch::test::megatron_memory_test {
namespace {

double state(const backend::Work& work, std::int64_t stage, const std::string& group) {
  return memory(work, stage, "weights: " + group) + memory(work, stage, "gradients: " + group) +
         memory(work, stage, "optimizer states: " + group);
}

}  // namespace

TEST_CASE("the 104B's states take 18 bytes per parameter, to the byte", "[megatron]") {
  const auto work = work_of(make_run("megatron", model_104b(), {4, 32, 1}, 1, 64,
                                     {{"fp32_accumulate", plan::Value(true)}}));
  // The published numbers, and norms and biases of two layers on every tensor-parallel rank: of 6h
  // three quarters more. Tensors end at multiples of 64: 340 elements of a layer lie between them.
  const double more = 2 * (6 * 11600 * 3 / 4.0 + 340);
  CHECK(state(work, 1, "layers") == 14533837200 + 18 * more);
  CHECK(state(work, 0, "layers") + state(work, 0, "embedding") == 17157252600 + 18 * more);
  CHECK(state(work, 31, "layers") + state(work, 31, "embedding") == 17157252600 + 18 * more);
  CHECK(state(work, 1, "embedding") == 0);
  CHECK(memory(work, 0, "weights: layers") + memory(work, 0, "weights: embedding") ==
        2 * (953180700.0 + more));
}

TEST_CASE("weights over all ranks add up to the model, the tied copy aside", "[megatron]") {
  for (const auto* family : {"gpt", "bloom"}) {
    const auto model =
        plan::sized(family, "104b", 64, 11600, 80, 50260, 2048);  // vocab divisible by 4
    const auto run =
        make_run("megatron", model, {4, 16, 1}, 1, 64, {{"vocab_multiple", number(1)}});
    const auto work = work_of(run);
    double params = 0;
    for (std::int64_t stage = 0; stage < 16; ++stage) {
      params += 4 * memory(work, stage, "weights: layers") / 2;
      params += memory(work, stage, "weights: positions") / 2;  // on every tensor-parallel rank
    }
    params += 4 * memory(work, 0, "weights: embedding") / 2;
    const double copies = 3 * 64 * 6 * 11600.0;  // norms, and biases of products cut by rows
    // The gaps between tensors: in a layer, at the embedding of both ends, around one norm or two.
    const double padding = 4 * 64 * 340 + 2 * 48 + (model.embedding_norm ? 4 : 2) * 48;
    CHECK(params == model.params() + copies + padding);
  }
}

TEST_CASE("the vocabulary is padded to a multiple of vocab_multiple times TP", "[megatron]") {
  const auto work = work_of(make_run("megatron", model_104b(), {4, 32, 1}, 1, 64));
  // 50257 -> 50688, the size that the Perlmutter runs with TP=4 report.
  CHECK(op(work, "LM head", "logits").n == 50688 / 4.0);
  const double padding = 431 * 11600 / 4.0;
  CHECK(memory(work, 0, "weights: positions") == 2 * (padding + 2048.0 * 11600));
}

TEST_CASE("ZeRO-1 from one to two ranks frees what the 200B's rows say", "[megatron]") {
  // 73 GB -> 51 GB measured on 80 x 14400, TP=8, PP=10: 22 GiB.
  const plan::Model model = plan::sized("gpt", "200b", 80, 14400, 96, 250000, 2048);
  const auto peak = [&](std::int64_t data) {
    const auto work = work_of(make_run("megatron", model, {8, 10, data}, 1, 1024,
                                       {{"zero_stage", number(1)}, {"engine", word("deepspeed")}}));
    return memory(work, 0, "weights") + memory(work, 0, "gradients") +
           memory(work, 0, "optimizer") + memory(work, 0, "fp32 gradients of the shard");
  };
  CHECK((peak(1) - peak(2)) / kGiB == Approx(22).margin(0.5));
}

TEST_CASE("fp32 accumulation adds four unsharded bytes per parameter", "[megatron]") {
  const auto work = work_of(make_run("megatron", model_104b(), {4, 32, 4}, 1, 64,
                                     {{"zero_stage", number(1)},
                                      {"engine", word("deepspeed")},
                                      {"fp32_accumulate", plan::Value(true)}}));
  CHECK(memory(work, 1, "gradients: layers") == 2 * 807435400.0);
  CHECK(memory(work, 1, "fp32 gradient accumulation") == 4 * 807435400.0);
  // Our trainer adds within the product, in fp32 or in 16 bits.
  for (const bool wide : {false, true}) {
    const auto own =
        work_of(make_run("megatron", model_104b(), {4, 32, 4}, 1, 64,
                         {{"zero_stage", number(1)}, {"fp32_accumulate", plan::Value(wide)}}));
    CHECK(memory(own, 1, "gradients: layers") == (wide ? 4 : 2) * 807540480.0);
    CHECK(memory(own, 1, "fp32 gradient") == 0);
  }
  // So does Megatron-LM, whose job has --grad-reduce-in-bf16 without it; fp16 gradients are summed
  // in fp16.
  const auto of_megatron = [](const char* dtype, bool wide) {
    return memory(work_of(make_run("megatron", model_104b(), {4, 32, 4}, 1, 64,
                                   {{"engine", word("megatron")},
                                    {"dtype", word(dtype)},
                                    {"fp32_accumulate", plan::Value(wide)}})),
                  1, "gradients: layers");
  };
  CHECK(of_megatron("bf16", false) == 2 * 807435400.0);
  CHECK(of_megatron("bf16", true) == 4 * 807435400.0);
  CHECK(of_megatron("fp16", false) == 2 * 807435400.0);
  CHECK(of_megatron("fp16", true) == 4 * 807435400.0);
}

TEST_CASE("activations are Korthikanti's, times the micro-batches in flight", "[megatron]") {
  const double sbh = 2048.0 * 11600, layer = sbh * (10 + 24 / 4.0 + 5 * 80 * 2048 / (11600 * 4.0));
  const auto none = work_of(make_run("megatron", model_104b(), {4, 32, 1}, 1, 64,
                                     {{"recompute", word("none")}, {"engine", word("megatron")}}));
  CHECK(memory(none, 0, "activations") == Approx(32 * 2 * layer));
  CHECK(memory(none, 30, "activations") == Approx(2 * 2 * layer));
  const auto full = work_of(
      make_run("megatron", model_104b(), {4, 32, 1}, 1, 64, {{"engine", word("deepspeed")}}));
  CHECK(memory(full, 0, "activations") == Approx(32 * (2 + 1.4) * 2 * sbh));
  CHECK(memory(full, 0, "recomputed layer") == Approx(layer));
  const auto selective =
      work_of(make_run("megatron", model_104b(), {4, 32, 1}, 1, 8,
                       {{"recompute", word("selective")}, {"engine", word("megatron")}}));
  CHECK(memory(selective, 0, "activations") == Approx(8 * 2 * sbh * 16));
  const auto sequence = work_of(make_run("megatron", model_104b(), {4, 32, 1}, 1, 64,
                                         {{"recompute", word("none")},
                                          {"engine", word("megatron")},
                                          {"flash_attention", plan::Value(true)},
                                          {"sequence_parallel", plan::Value(true)}}));
  CHECK(memory(sequence, 0, "activations") == Approx(32 * 2 * sbh * 34 / 4));
}

// No masks and no second copy of the scores; with selective recomputation neither norms nor GELU's
// output. Logits in bf16, and two copies in fp32 if ranks share them, but a gigabyte at a time.
TEST_CASE("our own trainer keeps less", "[megatron]") {
  const auto own = [](const char* recompute, bool sequence, std::int64_t vocab = 50257) {
    auto model = model_104b();
    model.vocab = vocab;
    return work_of(
        make_run("megatron", model, {4, 32, 1}, 1, 64,
                 {{"recompute", word(recompute)}, {"sequence_parallel", plan::Value(sequence)}}));
  };
  const double sbh = 2048.0 * 11600, scores = 80.0 / 4 * 2048 * 2048;
  CHECK(memory(own("none", false), 31, "activations") == Approx(2 * (14 * sbh + 2 * scores)));
  CHECK(memory(own("none", true), 31, "activations") == Approx(2 * (8 * sbh + 2 * scores)));
  CHECK(memory(own("selective", false), 31, "activations") == Approx(2 * 8 * sbh));
  CHECK(memory(own("selective", true), 31, "activations") == Approx(2 * 5 * sbh));
  CHECK(memory(own("selective", false), 0, "recomputed layer") == Approx(6 * sbh + 2 * scores));
  // A layer's gradients are as large as its activations; logits count if they exceed that.
  CHECK(memory(own("none", false), 31, "layer in backward") == Approx(14 * sbh + 2 * scores));
  CHECK(memory(own("none", false), 31, "logits") == 0);
  CHECK(memory(own("none", false, 400000), 31, "logits") == 1073741824);
  CHECK(memory(own("none", false, 400000), 31, "layer in backward") == 0);
  CHECK(memory(own("none", false), 0, "gradient of the words") == 4 * 50688.0 * 11600 / 4);
}

TEST_CASE("interleaved stages hold more chunks of fewer layers", "[megatron]") {
  const auto work = work_of(make_run(
      "megatron", model_104b(), {4, 4, 1}, 1, 8,
      {{"interleave", number(2)}, {"engine", word("megatron")}, {"recompute", word("none")}}));
  const double layer = 2048.0 * 11600 * (16 + 5 * 80 * 2048 / (11600 * 4.0));
  CHECK(memory(work, 0, "activations") == Approx(11 * 8 * layer));
  CHECK(work.chunks == 2);
}

// Six layers on chunks of 1, 2, 2 and 1. The first stage runs ahead by two micro-batches of each
// chunk, 1 + 1 + 2 + 2 layers, and one more layer before each backward; the second by two of its
// first chunk, 2 + 2, to which come two layers of the next group while a chunk of one goes.
TEST_CASE("uneven chunks are held as the schedule has them", "[megatron]") {
  auto model = model_104b();
  model.layers = 6;
  const auto held = [&](std::int64_t chunks, std::int64_t stage) {
    const auto work = work_of(make_run("megatron", model, {4, 2, 1}, 1, 8,
                                       {{"interleave", number(chunks)},
                                        {"engine", word("megatron")},
                                        {"recompute", word("none")}}));
    return memory(work, stage, "activations");
  };
  const double layer = held(1, 1) / 3;
  CHECK(held(2, 0) == Approx(7 * layer));
  CHECK(held(2, 1) == Approx(6 * layer));
}

TEST_CASE("of logits and a recomputed layer the last stage counts the larger", "[megatron]") {
  const auto work = work_of(make_run("megatron", model_104b(), {4, 32, 1}, 1, 64));
  CHECK(memory(work, 31, "recomputed layer") > 0);
  CHECK(memory(work, 31, "logits") == 0);
  auto model = model_104b();
  model.vocab = 250880;
  const auto large =
      work_of(make_run("megatron", model, {4, 32, 1}, 1, 64, {{"engine", word("megatron")}}));
  CHECK(memory(large, 31, "logits") == 8 * 2048 * 250880.0 / 4);
  CHECK(memory(large, 31, "recomputed layer") == 0);
  CHECK(memory(large, 30, "logits") == 0);
}

TEST_CASE("formulas carry their numbers", "[megatron]") {
  const auto work = work_of(make_run("megatron", model_104b(), {4, 32, 1}, 1, 64));
  for (const auto& item : work.memory)
    if (item.name == "weights: layers") CHECK(item.formula == "2 B x 807,540,480 params = 1.6 GB");
}

}  // namespace orch::test::megatron_memory_test
