#include "core/show/compare/compare.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/show/compare/make.h"

namespace orch::compare {
namespace {

using record::Record;
using Names = std::vector<std::string>;

// A row of a published logbook of bloom-7b on 80 GB A100s, as a record.
Record bloom(const std::string& id, const std::string& strategy, double days) {
  Record out;
  out.id = id;
  out.source = "bloom7b-days";
  out.state = record::RunState::finished;
  out.set("strategy", strategy);
  out.set("cluster", std::string("jean-zay"), true);
  out.set("gpu", std::string("a100-80g"), true);
  out.set("gpus", whole(8));
  out.set("nodes", whole(1), true);
  out.set("gpus_per_node", whole(8), true);
  out.set("params", 7e9);
  out.set("layers", whole(30), true);
  out.set("hidden", whole(4096), true);
  out.set("vocab", whole(250880), true);
  out.set("seq", whole(1024));
  out.set("data_parallel", whole(8), true);
  out.set("micro_batch", whole(1));
  out.measured.days_per_100b_tokens = days;
  return out;
}

Record ddp() {
  auto out = bloom("b7b-0006", "ddp", 350);
  out.set("recompute", std::string("full"));
  out.set("optimizer", std::string("adafactor"));
  return out;
}

Record stage1() {
  auto out = bloom("b7b-0003", "deepspeed", 258);
  out.set("zero_stage", whole(1));
  out.set("recompute", std::string("none"), true);
  out.set("optimizer", std::string("AdamW"));
  return out;
}

Record stage3() {
  auto out = bloom("b7b-0027", "deepspeed", 249);
  out.set("gpus", whole(32));
  out.set("nodes", whole(4), true);
  out.set("data_parallel", whole(32), true);
  out.set("seq", whole(2048));
  out.set("accumulate", whole(16));
  out.set("zero_stage", whole(3));
  out.set("recompute", std::string("none"), true);
  out.set("optimizer", std::string("AdamW"));
  out.measured.peak_memory_bytes = 60.0 * 1024 * 1024 * 1024;
  return out;
}

TEST_CASE("bloom-7b's published rows name their differences and credit none of them", "[compare]") {
  const auto a = ddp(), b = stage1(), c = stage3();
  const auto all = compare({group("DDP", a), group("stage 1", b), group("stage 3", c)});
  REQUIRE(all);

  const auto* speed = explanation(*all, Aspect::speed, 1);
  REQUIRE(speed != nullptr);
  CHECK(speed->causes == Names{"strategy", "recompute", "optimizer"});
  CHECK(speed->unsaid == Names{"zero_stage"});
  CHECK(has(causes_text(*all),
            "3 known differences can explain it, and this comparison cannot tell"));
  CHECK(has(causes_text(*all), "recompute full → none (assumed)"));

  const auto* far = explanation(*all, Aspect::speed, 2);
  REQUIRE(far != nullptr);
  CHECK(far->causes == Names{"strategy", "gpus", "seq", "recompute", "optimizer"});
  CHECK(far->unsaid == Names{"accumulate", "zero_stage"});
  CHECK(has(causes_text(*all, 2),
            "gpus 8 → 32 (with it nodes 1 (assumed) → 4 (assumed), data_parallel"));

  // 350 / 258 = 1.3566; 350 / 249 = 1.4056. GPU-hours: 249 * 4 / 350 = 2.8457x as many.
  CHECK(near(judgement(*all, "days_per_100b_tokens", 1).ratio->value, 350.0 / 258));
  CHECK(text_of(*all, "days_per_100b_tokens") == "1.36x faster");
  CHECK(judgement(*all, "days_per_100b_tokens").reason == VerdictReason::single_values);
  CHECK(near(judgement(*all, "days_per_100b_tokens", 2).ratio->value, 350.0 / 249));
  CHECK(judgement(*all, "gpu_hours_per_1e9_tokens", 2).verdict == PairVerdict::worse);
  CHECK(text_of(*all, "gpu_hours_per_1e9_tokens", 2) == "2.85x more GPU-hours");
  // 1e11 tokens / (350 * 86400 s) = 3306.9 tokens per second.
  CHECK(near(metric(*all, "tokens_per_second")->values[0].measured->value, 3306.878, 1e-6));
  // 3.5 days for 1e9 tokens on 8 GPUs: 3.5 * 24 * 8 = 672 GPU-hours.
  CHECK(near(metric(*all, "gpu_hours_per_1e9_tokens")->values[0].measured->value, 672));

  // 258 and 249 are single values that differ by 3.6 %: they share a place.
  REQUIRE(all->ranking.size() == 3);
  CHECK(all->ranking[0].group == 2);
  CHECK(all->ranking[0].place == 1);
  CHECK(all->ranking[1].group == 1);
  CHECK(all->ranking[1].place == 1);
  CHECK(all->ranking[1].tie);
  CHECK(all->ranking[2].group == 0);
  CHECK(all->ranking[2].place == 3);
  // The answer begins with the ratio per GPU: 672 / 1912.32 = 1 / 2.8457.
  CHECK(
      has(answer(*all, 2),
          "stage 3 is 2.85x slower per GPU than DDP (32 GPUs against 8; seq 2048 against 1024): "
          "1,912 against 672 GPU-hours per 1e9 tokens. As a whole it is 1.41x faster: 249 against "
          "350 days per 100B tokens."));
  CHECK(has(answer(*all, 2), "a token of a longer one takes more work"));
}

TEST_CASE("repeats have an interval of runs, not of steps", "[compare]") {
  const auto a1 = run("a1", 10, 9.99, 10.01), a2 = run("a2", 10.2, 10.19, 10.21),
             a3 = run("a3", 10.4, 10.39, 10.41);
  const auto b1 = run("b1", 10.1, 10.09, 10.11), b2 = run("b2", 10.3, 10.29, 10.31),
             b3 = run("b3", 10.2, 10.19, 10.21);
  const auto c = compare({{"A", {&a1, &a2, &a3}}, {"B", {&b1, &b2, &b3}}});
  REQUIRE(c);
  CHECK(c->groups[0].kind == GroupKind::repeats);
  const auto& value = metric(*c, "step_seconds")->values[0];
  CHECK(value.runs == 3);
  // Logarithms 2.302585, 2.322388, 2.341806: mean 2.322259, deviation 0.0196108; t(0.975, 2) =
  // 4.302653; 4.302653 * 0.0196108 / sqrt(3) = 0.048716. exp(2.322259 -+ 0.048716).
  CHECK(near(value.measured->value, 10.19869, 1e-5));
  CHECK(near(*value.measured->low, 9.71377, 1e-4));
  CHECK(near(*value.measured->high, 10.70782, 1e-4));
  const auto& result = judgement(*c, "step_seconds");
  CHECK(result.verdict == PairVerdict::no_difference);
  CHECK(has(answer(*c), "B and A do not differ beyond the error of what was measured"));
  CHECK(causes_text(*c) == "Nothing differs that can explain it: repeats, and noise is left.");
  CHECK_FALSE(has(answer(*c), "of the steps of one run"));
}

TEST_CASE("two repeats of one run show noise, however steady their steps are", "[compare]") {
  auto slow = run("slow", 14.6, 14.5, 14.7), fast = run("fast", 10, 9.9, 10.1);
  slow.origin.kind = fast.origin.kind = "run";
  slow.origin.date = "2026-11-01", fast.origin.date = "2026-11-02";
  const auto c = compare({{"A", {&slow}}, {"B", {&fast}}});
  REQUIRE(c);
  CHECK(judgement(*c, "step_seconds").verdict == PairVerdict::unclear);
  CHECK(judgement(*c, "step_seconds").reason == VerdictReason::repeats);
  CHECK(text_of(*c, "step_seconds") ==
        "unclear: 1.46x faster (1.44 to 1.48); repeats of one run: it is noise");
  CHECK(has(notes(*c), "B and A are repeats of one run"));
  // Runs of different commits are not repeats.
  fast.origin.commit = "abc", slow.origin.commit = "def";
  const auto other = compare({{"A", {&slow}}, {"B", {&fast}}});
  CHECK(judgement(*other, "step_seconds").verdict == PairVerdict::better);
}

TEST_CASE("a mixture is compared by its median, and says so", "[compare]") {
  auto a1 = run("a1", 10), a2 = run("a2", 14), a3 = run("a3", 11);
  a2.set("micro_batch", whole(1));
  a2.set("accumulate", whole(8));
  const auto b = run("b", 12);
  const auto c = compare({{"A", {&a1, &a2, &a3}}, {"B", {&b}}});
  REQUIRE(c);
  CHECK(c->groups[0].kind == GroupKind::mixture);
  CHECK(c->groups[0].varies == Names{"micro_batch", "accumulate"});
  const auto& value = metric(*c, "step_seconds")->values[0];
  CHECK(value.measured->value == 11);
  CHECK_FALSE(value.measured->has_limits());
  CHECK(value.lowest == 10);
  CHECK(value.highest == 14);
  CHECK(judgement(*c, "step_seconds").verdict == PairVerdict::unclear);
  CHECK(judgement(*c, "step_seconds").reason == VerdictReason::ranges_overlap);
  CHECK(has(notes(*c), "A: a mixture of 3 records that differ in micro_batch, accumulate"));

  const auto far = run("far", 20);
  const auto apart = compare({{"A", {&a1, &a2, &a3}}, {"far", {&far}}});
  CHECK(judgement(*apart, "step_seconds").verdict == PairVerdict::worse);
  CHECK(judgement(*apart, "step_seconds").reason == VerdictReason::medians);
}

TEST_CASE("a comparison needs two groups with something in them", "[compare]") {
  const auto a = run("a", 10);
  const auto one = compare({group("A", a)});
  REQUIRE_FALSE(one);
  CHECK(one.error().front().text() == "compare: 1 group\n  name at least two things to compare");
  const auto empty = compare({group("A", a), {"B", {}}});
  REQUIRE_FALSE(empty);
  CHECK(empty.error().front().place == "B");
}

TEST_CASE("running out of memory is a result, a broken node is none", "[compare]") {
  auto a = run("a"), b = run("b", 10), c = run("c");
  a.state = record::RunState::failed;
  a.failure = record::Failure::gpu_memory;
  c.state = record::RunState::failed;
  c.failure = record::Failure::node;
  const auto all = compare({group("A", a), group("B", b)});
  REQUIRE(all);
  CHECK(all->against[0].outcome.verdict == PairVerdict::better);
  CHECK(answer(*all) == "B: ran; A: ran out of GPU memory.\n");
  CHECK(judgement(*all, "step_seconds").verdict == PairVerdict::missing);

  const auto node = compare({group("B", b), group("C", c)});
  CHECK(node->against[0].outcome.verdict == PairVerdict::unclear);
  CHECK(answer(*node) ==
        "C: failed (node); B: ran. Such a failure may come from the machine and not from the "
        "settings.\n");
}

TEST_CASE("a group without measurement and estimate says so", "[compare]") {
  auto a = run("a", 10), b = run("b");
  b.state = record::RunState::planned;
  b.not_estimated = "no profile of this GPU";
  const auto c = compare({group("A", a), group("B", b)});
  REQUIRE(c);
  CHECK(findings::outcome_text(c->groups[1]) == "was not run");
  CHECK(has(notes(*c), "B: neither measured nor estimated: no profile of this GPU"));
  CHECK(judgement(*c, "step_seconds").verdict == PairVerdict::missing);
  CHECK(judgement(*c, "step_seconds").reason == VerdictReason::only_one);
}

}  // namespace
}  // namespace orch::compare
