#include "core/record/published/score.h"

#include "core/plan/family.h"
#include "tests/test.h"

namespace orch::published {
namespace {

// A small world: samples live here, judgements point at them.
struct ScoreWorld {
  std::vector<std::unique_ptr<PublishedSample>> samples;
  std::vector<JudgedSample> judged;

  JudgedSample& add(const std::string& table, std::optional<double> measured, double predicted) {
    auto sample = std::make_unique<PublishedSample>();
    sample->id = "r" + std::to_string(samples.size());
    sample->source = "s";
    sample->table = table;
    sample->status = "ok";
    sample->step_seconds = measured;
    sample->run.model = plan::sized("gpt", "m", 10, 1000, 10, 16000, 600);
    sample->run.gpus = 8;
    sample->run.batch.global_batch = 64;
    plan::Estimate prediction;
    prediction.step_seconds = predicted;
    prediction.step_low = 0.9 * predicted;
    prediction.step_high = 1.1 * predicted;
    judged.push_back({sample.get(), prediction});
    samples.push_back(std::move(sample));
    return judged.back();
  }
  PublishedSample& sample(std::size_t i) { return *samples[i]; }
  std::vector<const JudgedSample*> rows() const {
    std::vector<const JudgedSample*> out;
    for (const auto& row : judged) out.push_back(&row);
    return out;
  }
};

TEST_CASE("rank correlation by hand", "[measured][score]") {
  CHECK(*spearman({1, 2, 3}, {10, 20, 30}) == Approx(1));
  CHECK(*spearman({1, 2, 3}, {30, 20, 10}) == Approx(-1));
  // Ranks 1 2 3 4 5 and 2 1 4 3 5: 1 - 6*(1+1+1+1+0)/(5*24) = 0.8.
  CHECK(*spearman({1, 2, 3, 4, 5}, {20, 10, 40, 30, 50}) == Approx(0.8));
  // Ties share: ranks 1.5 1.5 3 and 1 2 3; 1.5 / sqrt(1.5 * 2) = 0.8660.
  CHECK(*spearman({5, 5, 9}, {1, 2, 3}) == Approx(0.866025));
  CHECK_FALSE(spearman({1}, {1}));
  CHECK_FALSE(spearman({1, 2}, {3, 3}));
}

TEST_CASE("errors of a table by hand", "[measured][score]") {
  ScoreWorld w;
  w.add("t", 100, 110);  // +10 %, just inside its range [99, 121]
  w.add("t", 200, 180);  // -10 %, outside [162, 198]
  w.add("t", 50, 51);    // +2 %
  w.add("t", 400, 400);  // 0 %
  w.add("t", std::nullopt, 1);
  const auto score = score_table(w.rows());
  CHECK(score.n == 4);
  CHECK(*score.mape == Approx(5.5));
  CHECK(*score.median == Approx(6));  // of 0 2 10 10
  CHECK(*score.p90 == Approx(10));
  CHECK(*score.bias == Approx(0.5));  // (10 - 10 + 2 + 0) / 4
  CHECK(*score.coverage90 == Approx(75));
  CHECK(*score.spearman == Approx(1));
  CHECK(score.memory_n == 0);
  CHECK_FALSE(score.memory_mape);
}

TEST_CASE("a table without times has no errors", "[measured][score]") {
  ScoreWorld w;
  w.add("t", std::nullopt, 1);
  const auto score = score_table(w.rows());
  CHECK(score.n == 0);
  CHECK_FALSE(score.mape);
  CHECK_FALSE(score.spearman);
  CHECK_FALSE(score.regret);
  CHECK_FALSE(score.coverage90);
}

TEST_CASE("memory is judged by its size and by who ran", "[measured][score]") {
  ScoreWorld w;
  const auto row = [&](const char* status, plan::MemoryFit fit, std::optional<double> bytes,
                       double predicted) {
    auto& judged = w.add("t", std::nullopt, 1);
    judged.prediction.fit = fit;
    judged.prediction.peak_memory = predicted;
    w.samples.back()->status = status;
    w.samples.back()->oom = std::string(status) == "oom";
    w.samples.back()->memory_bytes = bytes;
  };
  row("ok", plan::MemoryFit::fits, 40e9, 44e9);          // +10 %
  row("ok", plan::MemoryFit::tight, 80e9, 76e9);         // -5 %
  row("ok", plan::MemoryFit::oom, std::nullopt, 90e9);   // a false alarm
  row("oom", plan::MemoryFit::oom, std::nullopt, 90e9);  // a hit
  row("oom", plan::MemoryFit::tight, std::nullopt, 79e9);
  row("oom", plan::MemoryFit::fits, std::nullopt, 24e9);
  row("hang", plan::MemoryFit::oom, std::nullopt, 90e9);  // unknown
  const auto score = score_table(w.rows());
  CHECK(score.memory_n == 2);
  CHECK(*score.memory_mape == Approx(7.5));
  CHECK(score.oom_hit == 1);
  CHECK(score.oom_miss == 2);
  CHECK(score.oom_false_alarm == 1);
}

TEST_CASE("regret is what following the prediction costs", "[measured][score]") {
  ScoreWorld w;
  w.add("t", 105, 90);  // the choice: 5 % slower than the best
  w.add("t", 100, 95);
  w.add("t", 120, 130);
  CHECK(*regret(w.rows()) == Approx(5));
}

TEST_CASE("repeats are one choice, measured by their mean", "[measured][score]") {
  ScoreWorld w;
  w.add("t", 100, 90);
  w.add("t", 106, 90);
  w.add("t", 101, 95);
  CHECK(*regret(w.rows()) == Approx(100 * (103.0 / 101 - 1)));
}

TEST_CASE("what is predicted not to fit is no pick", "[measured][score]") {
  ScoreWorld w;
  w.add("t", 100, 80).prediction.fit = plan::MemoryFit::oom;
  w.add("t", 110, 90);
  CHECK(*regret(w.rows()) == Approx(10));
}

TEST_CASE("only like rows are choices", "[measured][score]") {
  ScoreWorld w;
  for (int i = 0; i < 4; ++i) w.add("t", 100 + i, 100 - i);
  w.sample(1).run.gpus = 16;
  w.sample(2).run.batch.global_batch = 128;
  w.sample(3).run.model.layers = 12;  // 20 % more layers
  CHECK_FALSE(regret(w.rows()));
  w.sample(3).run.model.layers = 11;  // 10 % more: compared per FLOP
  // 10 layers: 1 + 0.1 + 0.1 = 1.2 times 10; 11: (1.1 + 16000/176000) times 11 = 13.1. Seconds per
  // FLOP: measured 100/12 against 103/13.1, predicted 100/12 against 97/13.1. The choice is the
  // best.
  CHECK(*regret(w.rows()) == Approx(0).margin(1e-9));
}

TEST_CASE("a source averages its tables", "[measured][score]") {
  ScoreWorld w;
  w.add("a", 100, 100);  // in order: Spearman 1, weight 2; regret 0
  w.add("a", 200, 200);
  w.add("a", 300, 300);
  w.add("b", 100, 220);  // wrong order, but two rows have no correlation; regret 100 %
  w.add("b", 200, 180);
  w.add("c", 100, 100);  // one row: neither
  const auto scores = score(w.judged, {});
  CHECK(*scores.by_source.at("s").spearman == Approx(1));
  CHECK(*scores.by_source.at("s").regret == Approx(50));
  CHECK(scores.by_source.at("s").n == 6);
  CHECK(*scores.by_source.at("s").mape == Approx((0 + 0 + 0 + 120 + 10 + 0) / 6.0));
  CHECK(*scores.by_table.at("b").regret == Approx(100));
  CHECK_FALSE(scores.by_table.at("c").regret);
}

TEST_CASE("rows apart are scored on their own", "[measured][score]") {
  ScoreWorld w;
  w.add("t", 100, 100);
  w.add("t", 100, 150);
  const auto scores = score(w.judged, {"r1"});
  CHECK(*scores.by_source.at("s").mape == Approx(0).margin(1e-9));
  CHECK(*scores.by_source.at("s (unexplained)").mape == Approx(50));
  CHECK(scores.by_table.at("t").n == 1);
  CHECK(scores.by_table.at("t (unexplained)").n == 1);
}

TEST_CASE("rows of which only the parameters are known are scored on their own",
          "[measured][score]") {
  ScoreWorld w;
  w.add("t", 100, 100);
  w.add("t", 100, 150);
  w.sample(1).assumed_sizes = true;
  const auto scores = score(w.judged, {});
  CHECK(scores.by_source.at("s").n == 1);
  CHECK(*scores.by_source.at("s (sizes assumed)").mape == Approx(50));
  CHECK(Scores::beyond(scores.by_source, 10).empty());
}

TEST_CASE("two sources may have a table of one name", "[measured][score]") {
  ScoreWorld w;
  w.add("t", 100, 100);
  w.add("t", 100, 150);
  w.add("u", 100, 150);
  w.sample(1).source = "other";
  const auto scores = score(w.judged, {});
  CHECK(scores.by_table.contains("s/t"));
  CHECK(scores.by_table.contains("other/t"));
  CHECK(scores.by_table.contains("u"));
}

TEST_CASE("the first row of a table calibrates the others, shrunk", "[measured][score]") {
  ScoreWorld w;
  w.add("t", std::nullopt, 5);
  w.add("t", 200, 100);  // factor 2, of which 2^0.3 = 1.2311 is used
  w.add("t", 125, 100);
  w.add("u", 100, 100);  // the only one of its table
  calibrate_on_first(w.judged);
  CHECK(w.judged[2].prediction.step_seconds == Approx(123.1144));
  CHECK(w.judged[2].prediction.step_low == Approx(0.9 * 123.1144));
  CHECK(w.judged[0].prediction.step_seconds == 5);
  CHECK_FALSE(w.judged[1].has_time());
  const auto scores = score(w.judged, {});
  CHECK(scores.by_source.at("s").n == 1);
  CHECK(scores.by_table.at("u").n == 0);
}

TEST_CASE("sources may be scored by the size of their models", "[measured][score]") {
  ScoreWorld w;
  w.add("a", 100, 100);
  w.add("b", 200, 150);
  const auto params = w.sample(0).run.model.params() / 1e9;
  const auto scores = score(w.judged, {}, ScoreGrouping::size);
  REQUIRE(scores.by_table.size() == 1);  // whatever the table
  CHECK(scores.by_table.begin()->first == fmt::format("s {:.3g}B", params));
  CHECK(*scores.by_table.begin()->second.regret == Approx(0).margin(1e-9));
  CHECK(Scores::beyond(scores.by_source, 12) == std::vector<std::string>{"s"});  // 0 and 25 %
  CHECK(Scores::beyond(scores.by_source, 13).empty());
}

TEST_CASE("verdicts on memory have a recall and a precision", "[measured][score]") {
  GroupScore found;
  CHECK_FALSE(found.recall());
  found.oom_hit = 3;
  found.oom_miss = 1;
  found.oom_false_alarm = 2;
  CHECK(*found.recall() == 75);
  CHECK(*found.precision() == 60);
}

}  // namespace
}  // namespace orch::published
