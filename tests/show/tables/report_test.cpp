#include "core/show/tables/report.h"

#include <nlohmann/json.hpp>

#include "tests/show/tables/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::tables;
using namespace orch::show;
using test::csv;

namespace {

// A run of a strategy whose only setting is a string.
plan::Planned planned(const std::string& note) {
  plan::Strategy strategy;
  strategy.name = "plain";
  strategy.backend = "plain";
  strategy.params.emplace_back();
  strategy.params.back().name = "note";
  strategy.params.back().type = plan::ParamType::text;
  strategy.params.back().default_value = std::string();
  auto cluster = std::make_shared<plan::Cluster>();
  cluster->name = "toy";
  cluster->partitions.emplace_back().name = "a100";
  plan::Planned made;
  made.run.id = "plain-1";
  made.run.strategy = std::make_shared<const plan::Strategy>(strategy);
  made.run.settings = {note};
  made.run.cluster = cluster;
  made.run.partition = &cluster->partitions.front();
  return made;
}

const plan::Experiment kPlain;
const std::vector<plan::RejectedRun> kNone;

tables::RankedRuns result_of(const plan::Planned& run) {
  tables::RankedRuns result;
  result.experiment = &kPlain;
  result.runs = {&run};
  result.rejected = &kNone;
  return result;
}

}  // namespace

TEST_CASE("columns of numbers are set to the right, of texts to the left", "[report]") {
  CHECK(grid({{"name", "n"}, {"a", "1"}, {"bcdef", "23"}}, {}) ==
        "name    n\n"
        "a       1\n"
        "bcdef  23\n");
}

TEST_CASE("a last column of text that does not fit goes below its row", "[report]") {
  CHECK(grid({{"n", "how"}, {"1", "short"}, {"2", "longer than the screen"}}, {20, false}) ==
        "n  how\n"
        "1  short\n"
        "2\n"
        "      longer than\n"
        "      the screen\n");
}

TEST_CASE("width counts characters, not bytes", "[report]") {
  CHECK(grid({{"a", "b"}, {"é…", "x"}, {"ab", "y"}}, {}) == "a   b\né…  x\nab  y\n");
  CHECK(cut("éééé", 3) == "éé…");
  CHECK(cut("ééé", 3) == "ééé");
}

TEST_CASE("long lines break at blanks and keep their indentation", "[report]") {
  CHECK(wrap("one two three\n", {8, false}) == "one two\nthree\n");
  CHECK(wrap("      18  heads: are odd\n", {16, false}) ==
        "      18  heads:\n          are\n          odd\n");
  CHECK(wrap("no width, no breaks\n", {}) == "no width, no breaks\n");
  CHECK(wrap("unbreakable\n", {4, false}) == "unbreakable\n");
}

TEST_CASE("no number is cut, and none is torn from what it counts", "[report]") {
  const std::string line = "28,935 tok/s at 1.25 s";
  for (std::size_t width = 2; width < line.size(); ++width) {
    const auto found = cut(line, width);
    CHECK(display_width(found) <= width);
    const auto kept = found.substr(0, found.find("…"));
    for (const std::string_view number : {"28,935", "1.25"}) {
      const auto at = line.find(number);
      CHECK((kept.size() <= at || kept.size() >= at + number.size()));
    }
  }
  CHECK(cut("tp8-pp16-dp4", 8) == "tp8-pp…");
  CHECK(wrap("it takes 91 days of 8 GPUs, 90 % range\n", {14, false}) ==
        "it takes\n91 days of\n8 GPUs, 90 %\nrange\n");
}

TEST_CASE("a bar or a line break in a cell does not break a Markdown table", "[report]") {
  CHECK(grid({{"a", "n"}, {"x|y\\z\n", "1"}}, {.markdown = true}) ==
        "| a | n |\n| --- | ---: |\n| x\\|y\\\\z\\\\x0a | 1 |\n");
}

TEST_CASE("commas and quotes in a CSV cell are quoted", "[report]") {
  const auto run = planned("a,\"b\"");
  CHECK_THAT(csv(result_of(run)), ContainsSubstring(",\"note=a,\"\"b\"\"\","));
}

TEST_CASE("a string that is not UTF-8 is still JSON", "[report]") {
  const auto run = planned("caf\xe9");
  CHECK_THAT(test::json_of(result_of(run)),
             ContainsSubstring("\"variant\": \"note=caf\xef\xbf\xbd\""));
}

TEST_CASE("JSON is printed in pieces", "[report]") {
  std::vector<plan::Planned> runs;
  for (int i = 0; i < 300; ++i) runs.push_back(planned("line\n\"" + std::to_string(i) + "\""));
  const std::vector<plan::RejectedRun> rejected{
      {"x-1", {{"heads", "are odd", ""}, {"gpus", "are few", ""}}}, {"x-2", {}}};
  for (const bool some : {true, false}) {
    tables::RankedRuns result;
    result.experiment = &kPlain;
    result.rejected = some ? &rejected : &kNone;
    for (const auto& run : runs)
      if (some) result.runs.push_back(&run);
    std::size_t pieces = 0, longest = 0;
    std::string text;
    show::print_json(plan_answer(result, 0), [&](const std::string& piece) {
      ++pieces;
      longest = std::max(longest, piece.size());
      text += piece;
    });
    const auto read = nlohmann::ordered_json::parse(text);
    REQUIRE(read["runs"].size() == (some ? 300 : 0));
    CHECK(read["rejected"].size() == (some ? 2 : 0));  // a row for each reason
    if (some) CHECK(read["runs"][299]["note"] == "line\n\"299\"");
    CHECK((pieces > 1) == some);
    CHECK(longest < 80'000);
  }
}

TEST_CASE("a run counts once for each reason, whatever its numbers", "[report]") {
  const std::vector<plan::RejectedRun> rejected{
      {"a", {{"heads", "20 % 3", "try 2"}, {"gpus", "8", ""}, {"heads", "20 % 7", "try 5"}}},
      {"b", {{"heads", "24 % 7", "try 6"}}},
      {"c", {{"heads", "too many", ""}}},
  };
  CHECK(test::text_of(rejected_by_reason(rejected)) ==
        "3 runs rejected, by reason:\n"
        "       2  heads: e.g. 20 % 3\n"
        "          try 2\n"
        "       1  gpus: 8\n"
        "       1  heads: too many\n");
}

TEST_CASE("a budget is over when no run that fits keeps it", "[report]") {
  plan::Experiment experiment;
  experiment.budget.gpu_hours = 100;
  auto run = planned("");
  run.estimate.gpu_hours = 50;
  auto result = result_of(run);
  result.experiment = &experiment;
  CHECK_FALSE(budget_verdict(result).over);
  run.estimate.fit = plan::MemoryFit::oom;  // another problem
  CHECK_FALSE(budget_verdict(result).over);
  run.estimate.fit = plan::MemoryFit::tight;
  experiment.budget.deadline_days = 1;
  run.estimate.days_to_train = 2;
  CHECK(budget_verdict(result).over);
}

TEST_CASE("colours only where the screen wants them", "[report]") {
  CHECK(paint("x", "31", {}) == "x");
  CHECK(paint("x", "31", {0, true}) == "\033[31mx\033[0m");
}

TEST_CASE("a training without checkpoints is not said to save at the end of a job", "[report]") {
  auto run = test::planned("ddp", 10);
  run.run.training.keep_checkpoints = 0;
  auto& e = run.estimate;
  e.interruptions = 1.8;
  e.days_with_failures = 28;
  e.days_with_failures_low = 20;
  e.days_with_failures_high = 60;
  const auto text = failures_text(result_of(run));
  CHECK(text.starts_with("failures: about 2 in the "));
  CHECK(text.find("\nkeep_checkpoints = 0: nothing is saved, and each failure starts the training "
                  "again") != std::string::npos);
  CHECK(text.find("end of a job") == std::string::npos);
  e.days_with_failures = e.interruptions = 0;
  CHECK(failures_text(result_of(run)) ==
        "keep_checkpoints = 0: nothing is saved, and the training hardly ends before a failure or "
        "the limit of a job");
}
