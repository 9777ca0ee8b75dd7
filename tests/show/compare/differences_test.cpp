#include <catch2/catch_test_macros.hpp>

#include "tests/show/compare/make.h"

namespace orch::compare {
namespace {

using Names = std::vector<std::string>;

Names named_causes(const Comparison& c, Aspect aspect = Aspect::speed) {
  return explanation(c, aspect)->causes;
}

TEST_CASE("one independent difference is named as the only one", "[compare]") {
  const auto a = run("a", 10);
  auto b = run("b", 12);
  b.set("zero_stage", whole(3));
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(named_causes(*c) == Names{"zero_stage"});
  CHECK(causes_text(*c) == "The only difference that can explain it: zero_stage 1 → 3.");
}

TEST_CASE("what programs print of themselves comes after what orch knows", "[compare]") {
  auto a = run("a", 10), b = run("b", 12);
  b.set("zero_stage", whole(3));
  a.arguments = {{"overlap_grad_reduce", "False"}, {"save", "/one"}, {"swiglu", "True"}};
  b.arguments = {{"new_here", "1"}, {"overlap_grad_reduce", "True"}, {"save", "/two"}};
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(named_causes(*c) == Names{"zero_stage", "overlap_grad_reduce"});
  CHECK(explanation(*c, Aspect::speed)->unsaid.empty());
  CHECK(
      causes_text(*c) ==
      "2 differences can explain it, and this comparison cannot tell which: zero_stage 1 → 3; and "
      "1 more argument (see Settings that differ).");
  REQUIRE(difference(*c, "save") != nullptr);
  CHECK_FALSE(difference(*c, "save")->effect.any());
  CHECK(difference(*c, "swiglu")->standings[1] == FieldAgreement::one_sided);
  // Without printed arguments of one program, their differences are unknown.
  b.arguments.clear();
  CHECK(difference(*compare({group("A", a), group("B", b)}), "swiglu") == nullptr);
}

TEST_CASE("what an argument can change is known by its name", "[compare]") {
  auto a = run("a", 10), b = run("b", 12);
  a.arguments = {{"data_parallel_sharding_strategy", "no_shard"},
                 {"data_path", "/one"},
                 {"distributed_timeout_minutes", "10"},
                 {"start_weight_decay", "0.1"},
                 {"tokenizer_model", "/a/tok.model"}};
  b.arguments = {{"data_parallel_sharding_strategy", "optim_grads"},
                 {"data_path", "/two"},
                 {"distributed_timeout_minutes", "20"},
                 {"start_weight_decay", "0.2"},
                 {"tokenizer_model", "/b/tok.model"}};
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(difference(*c, "data_parallel_sharding_strategy")->effect.speed);
  for (const auto* of_loss : {"data_path", "start_weight_decay"}) {
    CHECK(difference(*c, of_loss)->effect.loss);
    CHECK_FALSE(difference(*c, of_loss)->effect.speed);
  }
  for (const auto* of_nothing : {"distributed_timeout_minutes", "tokenizer_model"})
    CHECK_FALSE(difference(*c, of_nothing)->effect.any());
}

TEST_CASE("what follows from other fields does not count twice", "[compare]") {
  const auto a = run("a", 10);
  auto b = run("b", 6);
  SECTION("twice the GPUs at the same global batch") {
    b.set("gpus", whole(16));
    b.set("data_parallel", whole(16));
    b.set("accumulate", whole(1));
    const auto c = compare({group("A", a), group("B", b)});
    CHECK(named_causes(*c) == Names{"gpus"});
    CHECK(difference(*c, "accumulate")->follows[1] == Names{"data_parallel"});
    CHECK(causes_text(*c) ==
          "The only difference that can explain it: gpus 8 → 16 (with it data_parallel 8 → 16, "
          "accumulate 2 → 1).");
  }
  SECTION("twice the GPUs, and so twice the global batch, which can change the loss") {
    b.set("gpus", whole(16));
    b.set("data_parallel", whole(16));
    b.set("global_batch", whole(128));
    auto with_loss = a;
    with_loss.measured.last_loss = 3;
    b.measured.last_loss = 3;
    const auto c = compare({group("A", with_loss), group("B", b)});
    CHECK(named_causes(*c) == Names{"gpus"});
    CHECK(named_causes(*c, Aspect::loss) == Names{"gpus"});
  }
  SECTION("tensor parallelism that only one speaks of, with half the data parallelism") {
    b.set("tensor_parallel", whole(2));
    b.set("data_parallel", whole(4));
    b.set("accumulate", whole(4));
    const auto c = compare({group("A", a), group("B", b)});
    // Only one of the two has tensor_parallel: it is unknown whether it differs.
    CHECK(explanation(*c, Aspect::speed)->unsaid == Names{"tensor_parallel"});
  }
  SECTION("a rank of a compression that only one has follows from it") {
    auto plain = a;
    plain.set("compression", std::string("none"));
    plain.set("powersgd_rank", whole(1));
    b.set("compression", std::string("powersgd"));
    b.set("powersgd_rank", whole(2));
    CHECK(named_causes(*compare({group("A", plain), group("B", b)})) == Names{"compression"});
    plain.set("compression", std::string("powersgd"));
    CHECK(named_causes(*compare({group("A", plain), group("B", b)})) == Names{"powersgd_rank"});
  }
  SECTION("a number that does not follow counts by itself") {
    b.set("gpus", whole(16));
    b.set("data_parallel", whole(12));  // without tensor parallelism it would be 16
    const auto c = compare({group("A", a), group("B", b)});
    CHECK(named_causes(*c) == Names{"gpus", "data_parallel"});
  }
  SECTION("parameters and the name of a model follow from its shape") {
    auto named = a;
    named.set("params", 1.3e9);
    named.set("model", std::string("small"));
    b.set("hidden", whole(4096));
    b.set("params", 5.0e9);
    b.set("model", std::string("large"));
    const auto c = compare({group("A", named), group("B", b)});
    CHECK(named_causes(*c) == Names{"hidden"});
  }
  SECTION("what a model is called changes nothing where its shape is the same") {
    auto named = a;
    named.set("model", std::string("mine"));
    b.set("model", std::string("ours"));
    const auto c = compare({group("A", named), group("B", b)});
    CHECK(named_causes(*c).empty());
    CHECK_FALSE(difference(*c, "model")->effect.any());
  }
}

TEST_CASE("a field that only one says is no known difference", "[compare]") {
  const auto a = run("a", 10);
  auto b = run("b", 12);
  b.set("dtype", std::string("bf16"));
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(difference(*c, "dtype")->standings[1] == FieldAgreement::one_sided);
  CHECK(named_causes(*c).empty());
  CHECK(causes_text(*c) == "No known difference can explain it. Only one of the two says dtype.");
}

TEST_CASE("spelling is no difference, assumed values are marked", "[compare]") {
  auto a = run("a", 10), b = run("b", 12);
  a.set("optimizer", std::string("AdamW"));
  b.set("optimizer", std::string("adamw"));
  b.set("zero_stage", whole(3), true);
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(difference(*c, "optimizer") == nullptr);
  CHECK(difference(*c, "zero_stage")->said[1].assumed);
  CHECK(has(causes_text(*c), "zero_stage 1 → 3 (assumed)"));
}

TEST_CASE("settings explain only what they can change", "[compare]") {
  auto a = run("a", 10), b = run("b", 10);
  a.measured.last_loss = 2.5;
  b.measured.last_loss = 2.6;
  a.set("recompute", std::string("none"));
  b.set("recompute", std::string("full"));
  b.set("some_new_switch", true);
  a.set("some_new_switch", false);
  a.set("seed", whole(1));
  b.set("seed", whole(2));
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(named_causes(*c) == Names{"recompute", "some_new_switch"});
  CHECK(named_causes(*c, Aspect::loss) == Names{"some_new_switch", "seed"});
}

TEST_CASE("other programs on the machine can explain a result, idle machines are alike",
          "[compare]") {
  auto a = run("a", 129), b = run("b", 217);
  a.measured.stated["others_share"] = 0.02;
  b.measured.stated["others_share"] = 0.06;
  CHECK(difference(*compare({group("A", a), group("B", b)}), "use by other programs") == nullptr);
  b.measured.stated["others_share"] = 0.741;
  const auto c = compare({group("A", a), group("B", b)});
  CHECK(explanation(*c, Aspect::speed)->circumstances == Names{"use by other programs"});
  CHECK(has(causes_text(*c), "use by other programs under 10 % → 70 %"));
  a.measured.stated.clear();  // as in an older record
  CHECK(
      explanation(*compare({group("A", a), group("B", b)}), Aspect::speed)->circumstances.empty());
}

TEST_CASE("another day can explain a result, another job id cannot", "[compare]") {
  auto a = run("a", 129), b = run("b", 217);
  a.origin.date = "2021-05-25";
  b.origin.date = "2021-05-26";
  a.origin.job = "1";
  b.origin.job = "2";
  a.origin.versions = {{"torch", "1.8"}};
  b.origin.versions = {{"torch", "1.9"}};
  const auto c = compare({group("A", a), group("B", b)});
  const auto& why = *explanation(*c, Aspect::speed);
  CHECK(why.causes.empty());
  CHECK(why.circumstances == Names{"date", "version of torch"});
  CHECK(has(causes_text(*c),
            "circumstances do: date 2021-05-25 → 2021-05-26; version of torch 1.8 → 1.9"));
  CHECK_FALSE(difference(*c, "job")->effect.any());
  // 217 / 129 = 1.682.
  CHECK(has(text_of(*c, "step_seconds"), "1.68x slower"));

  b.set("zero_stage", whole(3));
  const auto both = compare({group("A", a), group("B", b)});
  CHECK(has(causes_text(*both),
            "The only setting that differs and that can explain it: zero_stage 1 → 3. "
            "So can circumstances that differ: date 2021-05-25 → 2021-05-26"));
}

TEST_CASE("a group with several values shows them", "[compare]") {
  auto a1 = run("a1", 10), a2 = run("a2", 11);
  a2.set("micro_batch", whole(2));
  const auto b = run("b", 12);
  const auto c = compare({{"A", {&a1, &a2}}, {"B", {&b}}});
  CHECK(difference(*c, "micro_batch")->said[0].values == Names{"4", "2"});
  CHECK(difference(*c, "micro_batch")->standings[1] == FieldAgreement::differs);
}

}  // namespace
}  // namespace orch::compare
