#include "core/record/published/flops.h"

#include "core/plan/family.h"
#include "tests/record/published/cell.h"
#include "tests/test.h"

namespace orch::published {
namespace {

TEST_CASE("the vocabulary is padded as Megatron does it", "[measured][flops]") {
  CHECK(padded_vocab(50257, 8) == 51200);  // as the Perlmutter rows imply
  CHECK(padded_vocab(50257, 4) == 50688);  // as the one with TP=4 does
  CHECK(padded_vocab(250000, 8) == 250880);
  CHECK(padded_vocab(51200, 8) == 51200);
}

TEST_CASE("hidden is solved from published TFLOPs and samples", "[measured][flops]") {
  // 16 layers on 64 A100: 82.48 TFLOPs at 2.51 samples/s, of a model that is 25600 wide.
  CHECK(solve_hidden(82.48e12 * 64 / 2.51, 16, 51200, 2048, true) == Approx(25600).epsilon(0.003));
  // And exactly, against the formula with its numbers written out: h=1000, s=600, L=10, V=16000,
  // 24*4*600*10*1000^2*(1 + 600/6000 + 16000/160000) = 576e9*1.2 = 691.2e9.
  CHECK(solve_hidden(691.2e9, 10, 16000, 600, true) == Approx(1000));
  CHECK(solve_hidden(691.2e9 * 3 / 4, 10, 16000, 600, false) == Approx(1000));
}

TEST_CASE("usual heads are divided by tensor parallelism and about 128 wide", "[measured][flops]") {
  CHECK(usual_heads(14336, 8) == 112);
  CHECK(usual_heads(12288, 4) == 96);
  CHECK(usual_heads(25536, 12) == 228);  // 112 wide; 152 is further from 128
  CHECK(usual_heads(64, 1) == 1);
  CHECK_FALSE(usual_heads(100, 1));
  CHECK_FALSE(usual_heads(64, 3));
}

TEST_CASE("a solved width becomes one that models have", "[measured][flops]") {
  // 265 * 96 = 25440 is nearest, but has no head between 40 and 424; 266 * 96 has one of 112.
  CHECK(usual_hidden(25460, 12) == 25536);
  CHECK(usual_hidden(14300, 8) == 14336);
  CHECK(usual_hidden(3, 1) == 8);
}

Record timed(double params_b, std::int64_t layers, std::int64_t hidden, std::int64_t gpus,
             std::int64_t gbs, std::int64_t seq, double seconds, double tflops) {
  Record row;
  row.id = "r";
  row.source = row.table = "s";
  cell(row, "framework") = "megatron";
  cell(row, "params_b") = params_b;
  cell(row, "layers") = layers;
  cell(row, "hidden") = hidden;
  cell(row, "vocab") = 250000;
  cell(row, "tp") = 8;
  cell(row, "seq") = seq;
  cell(row, "gpus") = gpus;
  cell(row, "gbs") = gbs;
  cell(row, "step_time_s") = seconds;
  cell(row, "tflops_per_gpu") = tflops;
  cell(row, "tflops_formula") = "simple8";
  return row;
}

TEST_CASE("rows with a time tell which parameters their source counts", "[measured][flops]") {
  // 80 x 14400 with a vocabulary of 250k, called 200B: 199.1B in the layers, 202.7B in all. The log
  // says 98.87 TFLOPs at 844.81 s: 98.87e12*844.81*80/(8*2048*2048) = 199.1B.
  const auto log = timed(200, 80, 14400, 80, 2048, 2048, 844.81, 98.87);
  auto open = log;
  cell(open, "step_time_s").reset();
  CHECK(PeerRows({log, open}).counted(open) == CountedParameters::without_embeddings);
  // Called 48B, whatever its layers have: 8*48e9*1024*1024/(129*64) = 48.77 TFLOPs.
  CHECK(PeerRows({timed(48, 64, 8192, 64, 1024, 1024, 129, 48.7)}).counted(log) ==
        CountedParameters::stated);
  CHECK(PeerRows({open}).counted(open) == CountedParameters::stated);
}

TEST_CASE("a row without a formula has that of its source", "[measured][flops]") {
  auto a = timed(1, 1, 8, 1, 1, 1, 1, 1), b = a, c = a, d = a;
  cell(b, "tflops_formula") = cell(c, "tflops_formula") = "megatron-improved";
  cell(d, "tflops_formula") = "";
  CHECK(PeerRows({a, b, c, d}).formula(d) == "megatron-improved");
  CHECK(PeerRows({a, b, c, d}).formula(a) == "simple8");
  d.source = "other";
  CHECK(PeerRows({a, b, c, d}).formula(d).empty());
}

TEST_CASE("formulas by name", "[measured][flops]") {
  plan::Model model = plan::sized("gpt", "m", 10, 1000, 10, 16000, 600);
  CHECK(formula_flops("megatron-improved", model, 0, CountedParameters::all, 1, true) ==
        Approx(691.2e9));
  CHECK(formula_flops("megatron-ds-perlmutter", model, 0, CountedParameters::all, 2, true) ==
        Approx(2 * 691.2e9));
  CHECK(formula_flops("simple8", model, 2e9, CountedParameters::stated, 1, true) ==
        Approx(8 * 2e9 * 600));
  CHECK(formula_flops("simple6", model, 2e9, CountedParameters::stated, 1, false) ==
        Approx(6 * 2e9 * 600));
  // 10 layers of 12*1000^2 + 13*1000.
  CHECK(formula_flops("simple8", model, 0, CountedParameters::without_embeddings, 1, true) ==
        Approx(8 * 10 * 12.013e6 * 600));
  CHECK_FALSE(formula_flops("deepspeed-profiler", model, 0, CountedParameters::all, 1, true));
}

}  // namespace
}  // namespace orch::published
