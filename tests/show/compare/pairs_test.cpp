#include "core/show/compare/parts.h"
#include "tests/show/compare/make.h"
#include "tests/test.h"

namespace orch::compare {
namespace {

record::Record of(const std::string& id, const std::string& strategy, int gpus, double seconds) {
  auto out = run(id, seconds);
  out.set("strategy", strategy);
  out.set("gpus", whole(gpus));
  out.set("data_parallel", whole(gpus));
  out.set("accumulate", whole(16 / gpus));
  return out;
}

Cohort group_of(const std::string& name, const std::vector<record::Record>& records) {
  Cohort out{name, {}};
  for (const auto& record : records) out.records.push_back(&record);
  return out;
}

Comparison compared(const std::vector<record::Record>& a, const std::vector<record::Record>& b) {
  return *compare({group_of("strategy=fsdp", a), group_of("strategy=deepspeed", b)});
}

TEST_CASE("a ratio over pairs is the geometric mean with Student's t", "[compare][pairs]") {
  // ln 1.1, ln 1.2, ln 1.5 = 0.0953102, 0.1823216, 0.4054651: mean 0.2276989, squared deviations
  // 0.0175277 + 0.0020591 + 0.0316008 = 0.0511876, s = sqrt(0.0511876 / 2) = 0.1599806, and
  // t(0.975, 2) = 4.3026527: 4.3026527 * 0.1599806 / sqrt(3) = 0.3974148.
  const auto out = paired_interval({1.1, 1.2, 1.5});
  CHECK(near(out.value, std::exp(0.2276989), 1e-6));
  CHECK(near(*out.low, std::exp(0.2276989 - 0.3974148), 1e-5));
  CHECK(near(*out.high, std::exp(0.2276989 + 0.3974148), 1e-5));
  CHECK_FALSE(paired_interval({1.3}).has_limits());
}

TEST_CASE("pairs that agree to the digit are no surer than repeats are", "[compare][pairs]") {
  // 1.959964 * ln 1.05 / sqrt(2) = 0.0676185.
  const auto out = paired_interval({1.29, 1.29});
  CHECK(near(*out.low, 1.29 * std::exp(-0.0676185), 1e-5));
  CHECK(near(*out.high, 1.29 * std::exp(0.0676185), 1e-5));
}

TEST_CASE("the interval over many pairs is that of a bootstrap", "[compare][pairs]") {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(std::log(1.25), 0.3);
  std::vector<double> ratios;
  for (int i = 0; i < 60; ++i) ratios.push_back(std::exp(noise(random)));
  std::uniform_int_distribution<std::size_t> any(0, ratios.size() - 1);
  std::vector<double> means;
  for (int round = 0; round < 4000; ++round) {
    double sum = 0;
    for (std::size_t i = 0; i < ratios.size(); ++i) sum += std::log(ratios[any(random)]);
    means.push_back(std::exp(sum / static_cast<double>(ratios.size())));
  }
  std::sort(means.begin(), means.end());
  const auto out = paired_interval(ratios);
  CHECK(near(*out.low, means[100], 0.02));
  CHECK(near(*out.high, means[3900], 0.02));
}

TEST_CASE("records that agree in everything but the question are pairs", "[compare][pairs]") {
  const std::vector a{of("a8", "fsdp", 8, 10), of("a16", "fsdp", 16, 5)};
  const std::vector b{of("b4", "deepspeed", 4, 40), of("b8", "deepspeed", 8, 13),
                      of("b16", "deepspeed", 16, 6.4)};
  const auto c = compared(a, b);
  const auto& pairs = c.pairs.front();
  CHECK(pairs.question == std::vector<std::string>{"strategy"});
  REQUIRE(pairs.pairs.size() == 2);
  CHECK(pairs.pairs[0].base_id == "a8");
  CHECK(pairs.pairs[0].id == "b8");
  CHECK(pairs.pairs[1].id == "b16");
  CHECK(pairs.pairs[0].where == std::vector<std::pair<std::string, std::string>>{{"gpus", "8"}});
  // sqrt(10/13 * 5/6.4) = 0.775217, which is 1 / 1.28996; t(0.975, 1) = 12.706 times the deviation
  // ln(1.3 / 1.28) / sqrt(2) = 0.010963, over sqrt(2): 1.28996 * exp(-+0.0985).
  CHECK(near(pairs.judgement.ratio->value, 0.775217, 1e-5));
  CHECK(has(answer(c),
            "Like for like, deepspeed is 1.29x slower than fsdp (95 %: 1.17 to 1.42): "
            "2 pairs on 8 and 16 GPUs."));
  CHECK(causes_text(c) == "The records of a pair differ in strategy.");
}

TEST_CASE("a micro-batch may differ, and is named; other settings may not", "[compare][pairs]") {
  std::vector a{of("a8", "fsdp", 8, 10), of("a16", "fsdp", 16, 5)};
  std::vector b{of("b8", "deepspeed", 8, 13), of("b16", "deepspeed", 16, 6)};
  b[0].set("micro_batch", whole(2));
  b[0].set("accumulate", whole(4));
  b[1].set("recompute", std::string("full"));
  const auto c = compared(a, b);
  const auto& pairs = c.pairs.front().pairs;
  REQUIRE(pairs.size() == 1);  // a16 has no value for recompute
  REQUIRE(pairs[0].differs.size() == 1);
  CHECK(findings::change_text(pairs[0].differs[0], 1) == "micro_batch 4 → 2");
  CHECK(has(answer(c), "the micro-batch differs in the pair"));
}

TEST_CASE("what one side does not say is no difference where the other says the usual",
          "[compare][pairs]") {
  std::vector a{of("a8", "fsdp", 8, 10), of("a16", "fsdp", 16, 5)};
  std::vector b{of("b8", "deepspeed", 8, 13), of("b16", "deepspeed", 16, 6)};
  for (auto& record : b) record.set("recompute", std::string("none"));
  const auto c = compared(a, b);
  CHECK(c.pairs.front().pairs.size() == 2);
  CHECK(has(answer(c), "not both say recompute"));
}

TEST_CASE("pairs with other GPU counts are compared per GPU", "[compare][pairs]") {
  const std::vector a{of("a1", "fsdp", 8, 10), of("a2", "fsdp", 8, 11)};
  std::vector b{of("b1", "deepspeed", 16, 6), of("b2", "deepspeed", 16, 6.6)};
  auto slow = a;
  slow[1].set("seq", whole(2048));
  b[1].set("seq", whole(2048));
  const auto c = compared(slow, b);
  CHECK(c.pairs.front().per_gpu);
  // 8 * 10 = 80 against 16 * 6 = 96 GPU-seconds.
  CHECK(near(c.pairs.front().judgement.ratio->value, 80.0 / 96, 1e-9));
  CHECK(has(answer(c), "deepspeed is 1.20x slower per GPU than fsdp"));
}

TEST_CASE("doubtful pairs are counted", "[compare][pairs]") {
  std::vector a{of("a8", "fsdp", 8, 10), of("a16", "fsdp", 16, 5)};
  const std::vector b{of("b8", "deepspeed", 8, 13), of("b16", "deepspeed", 16, 6)};
  a[1].doubts = {{"suspect", "days_per_100b_tokens", "its table marks the row as suspect"}};
  const auto c = compared(a, b);
  CHECK(c.pairs.front().judgement.doubtful == std::vector<std::string>{"a16"});
  CHECK(has(answer(c), "1 of 2 pairs is doubtful"));
}

TEST_CASE("copies count once", "[compare][pairs]") {
  auto a = run("a", 10), again = run("a again", 10);
  a.origin.start = again.origin.start = 1.6e9;
  const auto b = run("b", 8);
  const auto c = *compare({{"A", {&a, &again}}, {"B", {&b}}});
  CHECK(c.groups[0].copies == 1);
  CHECK(c.groups[0].kind == GroupKind::one);
  CHECK(has(notes(c), "A: 1 of its records are copies or parts of others: counted once"));
}

TEST_CASE("a job that met its time limit has a speed", "[compare]") {
  auto a = run("a", 10);
  const auto b = run("b", 8);
  a.state = record::RunState::failed;
  a.failure = record::Failure::timeout;
  const auto c = *compare({group("A", a), group("B", b)});
  CHECK(findings::outcome_text(c.groups[0]) == "ran until its time limit");
  CHECK(has(answer(c), "B is 1.25x faster than A"));
}

TEST_CASE("as predicted is said only where both estimates hold", "[compare]") {
  auto a = run("a", 13.6), b = run("b", 10);
  const auto estimate = [](double value) {
    plan::Estimate out;
    out.step_seconds = value;
    out.step_low = value * 0.9;
    out.step_high = value * 1.1;
    return out;
  };
  a.estimated = estimate(13);
  b.estimated = estimate(9.7);
  const auto good = *compare({group("A", a), group("B", b)});
  CHECK(judgement(good, "step_seconds").as_predicted == true);
  a.estimated = estimate(26);  // both estimates are twice the measured time
  b.estimated = estimate(19.4);
  const auto lucky = *compare({group("A", a), group("B", b)});
  CHECK_FALSE(judgement(lucky, "step_seconds").as_predicted.has_value());
}

// The record of a log with these step times.
record::Record log_of(const std::string& file, const std::vector<double>& times) {
  auto out = run(file, 2, 1.9, 2.1);
  out.origin.kind = "log";
  out.origin.file = file;
  out.measured.steps = static_cast<std::int64_t>(times.size());
  for (std::size_t i = 0; i < times.size(); ++i)
    out.measured.step_times.push_back({static_cast<std::int64_t>(i) + 1, times[i]});
  return out;
}

TEST_CASE("a part of a log, or a copy of it, is no repeat", "[compare]") {
  const std::vector<double> times{2.01, 1.98, 2.03, 1.99, 2.02, 2.00};
  auto other_times = times;
  other_times[4] = 2.05;
  const auto whole_log = log_of("a.out", times), copy = log_of("copy.out", times),
             part = log_of("part.out", {2.01, 1.98, 2.03, 1.99}),
             repeat = log_of("repeat.out", other_times);
  const auto against = [&](const record::Record& other) {
    return *compare({group("a", whole_log), group("b", other)});
  };
  CHECK(against(copy).against[0].shared == SharedRecords::copy);
  CHECK(against(part).against[0].shared == SharedRecords::part);
  CHECK(against(repeat).against[0].shared == SharedRecords::nothing);
  CHECK(has(answer(against(part)), "b and a are one run: one log is a part of the other."));
  // With one time for all steps, a copy is recognised by equal line numbers.
  auto mean = log_of("mean.out", {});
  mean.measured.step_seconds = statistics::Interval{2.5, {}, {}, 1};
  mean.origin.first_line = 3, mean.origin.last_line = 40;
  auto copied = mean, repeated = mean;
  copied.id = "copied.out", repeated.id = "repeated.out";
  repeated.measured.step_seconds->value = 2.5004;
  const auto against_mean = [&](const record::Record& other) {
    return compare({group("a", mean), group("b", other)})->against[0].shared;
  };
  CHECK(against_mean(copied) == SharedRecords::copy);
  CHECK(against_mean(repeated) == SharedRecords::nothing);
  // Within a group, the whole log replaces a part of it.
  const auto c = *compare({{"A", {&part, &whole_log}}, {"B", {&repeat}}});
  CHECK(c.groups[0].ids == std::vector<std::string>{"a.out"});
  CHECK(c.groups[0].copies == 1);
}

}  // namespace
}  // namespace orch::compare
