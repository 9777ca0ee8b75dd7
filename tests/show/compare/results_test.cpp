#include <catch2/catch_test_macros.hpp>

#include "tests/show/compare/make.h"

namespace orch::compare {
namespace {

TEST_CASE("a speed-up comes with its interval", "[compare]") {
  const auto a = run("a", 13.6, 13.4, 13.8), b = run("b", 10, 9.9, 10.1);
  const auto c = compare({group("A", a), group("B", b)});
  REQUIRE(c);
  // MOVER in logarithms: below = hypot(ln(13.6/13.4), ln(10.1/10)) = hypot(0.014815, 0.009950) =
  // 0.017846; above = hypot(ln(13.8/13.6), ln(10/9.9)) = hypot(0.014599, 0.010050) = 0.017724.
  const auto& result = judgement(*c, "step_seconds");
  CHECK(near(result.ratio->value, 1.36));
  CHECK(near(*result.ratio->low, 1.36 * std::exp(-0.017846), 1e-5));
  CHECK(near(*result.ratio->high, 1.36 * std::exp(0.017724), 1e-5));
  CHECK(result.verdict == PairVerdict::better);
  CHECK(text_of(*c, "step_seconds") == "1.36x faster (1.34 to 1.38)");
  CHECK(text_of(*c, "tokens_per_second") == "1.36x faster (1.34 to 1.38)");
  CHECK(has(answer(*c), "B is 1.36x faster than A (95 %: 1.34 to 1.38): "));
  CHECK(has(answer(*c), "the interval is of the steps of one run"));

  const auto back = compare({group("B", b), group("A", a)});
  CHECK(judgement(*back, "step_seconds").verdict == PairVerdict::worse);
  CHECK(text_of(*back, "step_seconds") == "1.36x slower (1.34 to 1.38)");
}

TEST_CASE("an interval around 1 is no detectable difference", "[compare]") {
  const auto a = run("a", 10, 9.5, 10.5), b = run("b", 9.8, 9.4, 10.3);
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(judgement(*c, "step_seconds").verdict == PairVerdict::no_difference);
  CHECK(has(text_of(*c, "step_seconds"), "no detectable difference: 1.02x faster (0.9"));
}

TEST_CASE("energy is compared by tokens, and only where it was measured", "[compare]") {
  auto a = run("a", 10), b = run("b", 10);
  CHECK(metric(*compare({group("A", a), group("B", b)}), "kwh_per_1e9_tokens") == nullptr);
  a.measured.steps = 16;
  a.measured.repeated_steps = 4;
  a.measured.stated["energy_kwh"] = 0.5;
  b.measured.steps = 20;
  b.measured.stated["energy_kwh"] = 0.4;
  const auto c = compare({group("A", a), group("B", b)});
  const auto* energy = metric(*c, "kwh_per_1e9_tokens");
  REQUIRE(energy != nullptr);
  const double tokens = 20 * *record::tokens_per_step(a);
  CHECK(near(energy->values[0].measured->value, 0.5 * 1e9 / tokens));
  CHECK(near(energy->values[1].measured->value, 0.4 * 1e9 / tokens));
}

TEST_CASE("single values within what repeats differ by show nothing", "[compare]") {
  const auto a = run("a", 10.4), b = run("b", 10), far = run("far", 9.8);
  const auto c = compare({group("A", a), group("B", b), group("C", far)});
  CHECK(judgement(*c, "step_seconds", 1).verdict == PairVerdict::no_difference);  // 1.04
  CHECK(judgement(*c, "step_seconds", 2).verdict == PairVerdict::better);         // 1.061
  CHECK(judgement(*c, "step_seconds", 2).reason == VerdictReason::single_values);
}

TEST_CASE("a single value beside repeats leaves no interval", "[compare]") {
  const auto a1 = run("a1", 129), a2 = run("a2", 125), b = run("b", 217);
  const auto c = compare({{"A", {&a1, &a2}}, {"B", {&b}}});
  // The geometric mean of 129 and 125 is 126.984; 217 / 126.984 = 1.7089.
  CHECK(text_of(*c, "step_seconds") == "1.71x slower");
  CHECK(judgement(*c, "step_seconds").reason == VerdictReason::one_single_value);
  CHECK_FALSE(judgement(*c, "step_seconds").ratio->has_limits());
}

TEST_CASE("steady steps of two single runs do not prove two percent", "[compare]") {
  const auto a = run("a", 10.2, 10.19, 10.21), b = run("b", 10, 9.99, 10.01);
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(judgement(*c, "step_seconds").verdict == PairVerdict::unclear);
  CHECK(has(text_of(*c, "step_seconds"), "repeat them to know"));
}

TEST_CASE("steps of different work are not compared, tokens per second are", "[compare]") {
  const auto a = run("a", 10, 9.9, 10.1);
  auto b = run("b", 15, 14.9, 15.1);
  b.set("global_batch", whole(128));
  b.set("accumulate", whole(4));
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(judgement(*c, "step_seconds").verdict == PairVerdict::not_comparable);
  CHECK_FALSE(judgement(*c, "step_seconds").ratio);
  CHECK(text_of(*c, "step_seconds") == "a step is 65,536 tokens in one and 131,072 in the other");
  // 131072 / 15 over 65536 / 10 = 4 / 3.
  CHECK(near(judgement(*c, "tokens_per_second").ratio->value, 4.0 / 3));
}

TEST_CASE("TFLOPs of different conventions never meet", "[compare]") {
  auto a = run("a", 10), b = run("b", 8);
  a.measured.tflops = {{100, "megatron", false}};
  b.measured.tflops = {{150, "simple8", false}};
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(judgement(*c, "tflops_per_gpu").verdict == PairVerdict::not_comparable);
  for (std::size_t i = 0; i < c->metrics.size(); ++i)
    if (c->metrics[i].name == "tflops_per_gpu") CHECK_FALSE(c->against[0].judgements[i].ratio);
  // Model TFLOPs are computed for both: 72 * 24 * 2048^2 * (1 + 1024/12288 + 50304/(16*24*2048)) =
  // 8.315451e9 FLOPs per token; 65536 of them in 10 s on 8 GPUs: 6.811 TFLOPs.
  const auto* alike = metric(*c, "model_tflops_per_gpu");
  REQUIRE(alike != nullptr);
  CHECK(near(alike->values[0].measured->value, 6.8120, 1e-4));
  CHECK(near(judgement(*c, "model_tflops_per_gpu").ratio->value, 10.0 / 8));

  b.measured.tflops.push_back({120, "megatron", true});
  const auto same = compare({group("A", a), group("B", b)});
  CHECK(near(judgement(*same, "tflops_per_gpu").ratio->value, 1.2));
  CHECK(metric(*same, "model_tflops_per_gpu") == nullptr);
}

TEST_CASE("what two frameworks print as TFLOPs is not the same thing", "[compare]") {
  auto a = run("a", 10), b = run("b", 8);
  b.set("strategy", std::string("megatron"));
  a.measured.tflops = {{100, "log", false}};
  b.measured.tflops = {{150, "log", false}};
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(judgement(*c, "tflops_per_gpu").verdict == PairVerdict::not_comparable);
}

TEST_CASE("memory is less, and only compared when it was measured alike", "[compare]") {
  auto a = run("a", 10), b = run("b", 10);
  a.measured.peak_memory_bytes = 60e9;
  b.measured.peak_memory_bytes = 40e9;
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(judgement(*c, "peak_memory_bytes").verdict == PairVerdict::better);
  CHECK(text_of(*c, "peak_memory_bytes") == "1.50x less memory");
  a.measured.peak_memory_from = "nvidia-smi";
  b.measured.peak_memory_from = "max allocated";
  const auto other = compare({group("A", a), group("B", b)});
  CHECK(judgement(*other, "peak_memory_bytes").verdict == PairVerdict::not_comparable);
}

TEST_CASE("other models are no equals unless they are brought to one size", "[compare]") {
  const auto a = run("a", 10, 9.9, 10.1);
  auto b = run("b", 40, 39.9, 40.1);
  b.set("layers", whole(48));
  b.set("hidden", whole(4096));
  const auto plain = compare({group("A", a), group("B", b)});
  CHECK(judgement(*plain, "step_seconds").verdict == PairVerdict::not_comparable);
  CHECK(text_of(*plain, "step_seconds") ==
        "steps of different models: layers 24 → 48, hidden 2048 → 4096");
  CHECK(
      has(answer(*plain), "B is 4.00x slower than A (95 %: 3.96 to 4.04; layers 48 against 24): "));
  CHECK(has(answer(*plain), "not a comparison of equals"));
  CHECK(near(judgement(*plain, "days_per_100b_tokens").ratio->value, 0.25));

  const auto same = compare({group("A", a), group("B", b)}, {true});
  // FLOPs per token: 72 L h^2 (1 + s/6h + V/16Lh).
  // A: 72 * 24 * 4194304 * (1 + 0.0833333 + 0.0639648) = 8.3155e9.
  // B: 72 * 48 * 16777216 * (1 + 0.0416667 + 0.0159912) = 6.13239e10, 7.3747x as many.
  CHECK(near(judgement(*same, "step_seconds").ratio->value, 7.3747 / 4, 1e-4));
  CHECK(near(judgement(*same, "days_per_100b_tokens").ratio->value, 7.3747 / 4, 1e-4));
  CHECK(has(notes(*same), "72 B s L h^2 (1 + s/6h + V/16Lh)"));
  CHECK_FALSE(has(answer(*same), "not a comparison of equals"));
}

TEST_CASE("without shapes the size is 6 FLOPs per parameter, and without that none", "[compare]") {
  auto a = run("a", 10), b = run("b", 30);
  std::erase_if(b.fields, [](const record::RecordField& f) { return f.name == "hidden"; });
  const auto none = compare({group("A", a), group("B", b)}, {true});
  CHECK(has(notes(*none), "cannot be brought to the same size"));
  a.set("params", 1e9);
  b.set("params", 2e9);
  const auto c = compare({group("A", a), group("B", b)}, {true});
  CHECK(has(notes(*c), "6 FLOPs per parameter"));
  CHECK(near(judgement(*c, "days_per_100b_tokens").ratio->value, 2.0 / 3));  // 10 / (30 / 2)
}

plan::Estimate estimate(double seconds, double low, double high) {
  plan::Estimate out;
  out.step_seconds = seconds;
  out.step_low = low;
  out.step_high = high;
  return out;
}

TEST_CASE("the prediction stands beside what was measured", "[compare]") {
  auto a = run("a", 13.6, 13.4, 13.8), b = run("b", 10, 9.9, 10.1);
  a.estimated = estimate(12, 11, 13);
  b.estimated = estimate(9, 8, 10);
  const auto c = compare({group("A", a), group("B", b)});
  const auto& result = judgement(*c, "step_seconds");
  // 12 / 9 = 1.3333; below: hypot(ln(12/11), ln(10/9)) = hypot(0.087011, 0.105361) = 0.136644;
  // above: hypot(ln(13/12), ln(9/8)) = hypot(0.080043, 0.117783) = 0.142407.
  CHECK(near(result.predicted->value, 4.0 / 3));
  CHECK(near(*result.predicted->low, 4.0 / 3 * std::exp(-0.136644), 1e-5));
  CHECK(near(*result.predicted->high, 4.0 / 3 * std::exp(0.142407), 1e-5));
  CHECK_FALSE(result.as_predicted.has_value());  // 13.6 s is outside of 11 to 13 s
  CHECK_FALSE(result.estimated);

  b.estimated = estimate(20, 19, 21);
  const auto wrong = compare({group("A", a), group("B", b)});
  CHECK(judgement(*wrong, "step_seconds").as_predicted == false);
  CHECK(judgement(*wrong, "step_seconds").verdict == PairVerdict::better);  // by the measurements
}

TEST_CASE("where nothing was measured the estimate stands, by its name", "[compare]") {
  auto a = run("a", 13.6, 13.4, 13.8), b = run("b");
  b.state = record::RunState::planned;
  a.estimated = estimate(12, 11, 13);
  b.estimated = estimate(6, 5.5, 6.5);
  const auto c = compare({group("A", a), group("B", b)});
  const auto& result = judgement(*c, "step_seconds");
  CHECK(result.estimated);
  CHECK(result.verdict == PairVerdict::better);
  CHECK(near(result.ratio->value, 2));  // the ratio of two estimates
  CHECK(has(answer(*c), "B is estimated 2.00x faster than A"));
  CHECK_FALSE(metric(*c, "step_seconds")->values[1].measured);

  b.estimated = estimate(11.5, 10.5, 12.5);
  const auto tie = compare({group("A", a), group("B", b)});
  CHECK(judgement(*tie, "step_seconds").verdict == PairVerdict::unclear);
  REQUIRE(tie->ranking.size() == 2);
  CHECK(tie->ranking[1].tie);
  CHECK(tie->ranking[1].estimated);
}

TEST_CASE("a doubtful number never decides silently", "[compare]") {
  auto a = run("a", 10), b = run("b-0020", 5);
  b.doubts = {{"tflops", "step_time_s", "88 TFLOPs do not follow from the time"}};
  b.measured.peak_memory_bytes = 4e10;
  a.measured.peak_memory_bytes = 6e10;
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(judgement(*c, "step_seconds").doubtful == std::vector<std::string>{"b-0020"});
  CHECK(has(answer(*c), "it rests on doubtful numbers of b-0020 (see Doubts)"));
  CHECK(judgement(*c, "peak_memory_bytes").doubtful.empty());
  CHECK(findings::doubts(*c) ==
        std::vector<std::string>{
            "b-0020: step_time_s is doubtful: 88 TFLOPs do not follow from the time"});
  b.doubts = {{"memory", "mem_gb", "more than the GPU has"}};
  const auto memory = compare({group("A", a), group("B", b)});
  CHECK(judgement(*memory, "step_seconds").doubtful.empty());
  CHECK_FALSE(judgement(*memory, "peak_memory_bytes").doubtful.empty());
}

TEST_CASE("groups that cannot be told apart share a place", "[compare]") {
  const auto a = run("a", 10, 9.5, 10.5), b = run("b", 20, 19.5, 20.5),
             c = run("c", 10.2, 9.7, 10.7);
  const auto none = run("none");
  const auto all = compare({group("A", a), group("B", b), group("C", c), group("D", none)});
  REQUIRE(all->ranking.size() == 4);
  CHECK(all->ranking[0].group == 0);
  CHECK(all->ranking[0].tie);
  CHECK(all->ranking[1].group == 2);
  CHECK(all->ranking[1].place == 1);
  CHECK(all->ranking[2].place == 3);
  CHECK_FALSE(all->ranking[2].tie);
  CHECK(all->ranking[3].place == 0);
}

TEST_CASE("a value that is not finite is not measured", "[compare]") {
  auto a = run("a", 10), b = run("b", NAN);
  b.measured.tokens_per_second = 0;
  const auto c = compare({group("A", a), group("B", b)});
  CHECK_FALSE(metric(*c, "step_seconds")->values[1].measured);
  CHECK(judgement(*c, "tokens_per_second").verdict == PairVerdict::missing);
}

TEST_CASE("what rounds to 1.00 is neither faster nor slower", "[compare]") {
  const auto a = run("a", 2, 1.9998, 2.0002), b = run("b", 1.998, 1.997, 1.999);
  const auto c = compare({group("a", a), group("b", b)});
  CHECK(judgement(*c, "step_seconds").verdict == PairVerdict::no_difference);
  CHECK(text_of(*c, "step_seconds") == "no detectable difference: as fast to within 0.5 %");
  const auto wide = run("wide", 2.001, 1.9, 2.1);
  CHECK(text_of(*compare({group("a", a), group("wide", wide)}), "step_seconds") ==
        "no detectable difference: as fast (0.95 to 1.05)");
}

TEST_CASE("a record against itself is said to be one", "[compare]") {
  const auto a = run("a", 2, 1.99, 2.01), b = run("b", 2, 1.99, 2.01);
  const auto copy = a;  // as if read a second time
  const auto c = compare({group("a", a), group("again", copy)});
  CHECK(c->against[0].itself());
  CHECK(answer(*c) == "again and a are the same record: there is nothing to compare.\n");
  CHECK(causes_text(*c).empty());
  CHECK_FALSE(compare({group("a", a), group("b", b)})->against[0].itself());
  const Cohort both{"both", {&a, &b}};
  CHECK(has(notes(*compare({group("a", a), both})), "both: 1 of its 2 records are in a as well"));
}

// A planned run with 64 sequences of 1024 tokens and an estimate.
record::Record planned(const std::string& id, int micro_batch, double seconds, const char* fit) {
  auto out = run(id);
  out.state = record::RunState::planned;
  out.set("micro_batch", whole(micro_batch));
  out.estimated.emplace();
  out.estimated->fit = *plan::parse_fit(fit);
  out.estimated->step_seconds = seconds;
  out.estimated->step_low = 0.9 * seconds;
  out.estimated->step_high = 1.1 * seconds;
  return out;
}

TEST_CASE("a mixture leaves out what is estimated not to fit, and says so", "[compare]") {
  const auto a = planned("a", 1, 10, "fits"), b = planned("b", 1, 20, "fits"),
             c = planned("c", 2, 30, "tight"), d = planned("d", 4, 1, "oom");
  const auto out = compare({group("a", a), {"sweep", {&b, &c, &d}}});
  REQUIRE(out);
  CHECK(out->groups[1].left_out == 1);
  CHECK(out->groups[1].ids == std::vector<std::string>{"b", "c"});
  CHECK(has(notes(*out),
            "sweep: 1 of 3 records are estimated not to fit and were not run: left out"));
  CHECK(near(metric(*out, "step_seconds")->values[1].estimated->value, 25));  // median of 20 and 30
  // A record that was run counts as fitting; a group in which nothing fits keeps its records.
  auto ran = d;
  ran.measured.step_seconds = statistics::Interval{1, {}, {}, 1};
  CHECK(compare({group("a", a), {"sweep", {&b, &ran}}})->groups[1].left_out == 0);
  CHECK(compare({group("a", a), group("d", d)})->groups[1].ids.size() == 1);
}

TEST_CASE("the best of a mixture is held against the best of the other", "[compare]") {
  auto a = run("a", 10), slow = run("slow", 40), fast = run("fast", 5), odd = run("odd", 1);
  a.set("dtype", std::string("fp16"));  // no record of the sweep pairs with it
  for (auto* record : {&slow, &fast, &odd}) record->set("dtype", std::string("fp32"));
  slow.set("dtype", std::string("bf16"));
  odd.doubts = {{"unit", "step_seconds", "seconds or minutes?"}};
  const auto c = compare({group("a", a), {"sweep", {&slow, &fast, &odd}}});
  REQUIRE(c->best.size() == 1);
  CHECK(c->best[0].id == "fast");  // odd is faster, but has a doubt
  CHECK(near(c->best[0].judgement.ratio->value, 2));
  CHECK(has(answer(*c), "At their best, sweep is 2.00x faster than a: "));
  CHECK(has(answer(*c), "days per 100B tokens (fast against a)."));
  CHECK(compare({group("a", a), group("slow", slow)})->best.empty());
}

}  // namespace
}  // namespace orch::compare
