#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "tests/show/compare/make.h"

namespace orch::compare {
namespace {

using Json = nlohmann::json;

TEST_CASE("the JSON of a comparison has what it says", "[compare]") {
  auto a = run("a", 13.6, 13.4, 13.8), b = run("b", 10, 9.9, 10.1);
  b.set("zero_stage", whole(3));
  b.doubts = {{"repeat", "step_time_s", "its repeats take 12 s"}};
  const auto c = compare({group("A", a), group("B", b)});
  const auto out = Json::parse(json(*c));
  CHECK(out["version"] == 1);
  CHECK(out["base"] == "A");
  CHECK(out["groups"][1]["records"] == Json{"b"});
  REQUIRE(out["differences"].size() == 1);
  const auto& difference = out["differences"][0];
  CHECK(difference["field"] == "zero_stage");
  CHECK(difference["effect"] == Json{"speed", "memory"});
  CHECK(difference["independent"] == true);
  CHECK(difference["values"][1]["values"] == Json{"3"});
  Json step;
  for (const auto& result : out["results"])
    if (result["metric"] == "step_seconds") step = result;
  CHECK(step["better"] == "lower");
  CHECK(step["values"][0]["value"] == 13.6);
  CHECK(step["values"][0]["estimated"].is_null());
  CHECK(near(step["against"][0]["ratio"].get<double>(), 1.36));
  CHECK(step["against"][0]["verdict"] == "better");
  CHECK(step["against"][0]["doubtful"] == true);
  CHECK(out["explanations"][0]["causes"] == Json{"zero_stage"});
  CHECK(out["losses"][0]["verdict"] == "missing");
  CHECK(out["doubts"] == Json{"b: step_time_s is doubtful: its repeats take 12 s"});
}

TEST_CASE("hostile texts of records do no harm", "[compare]") {
  const std::string hostile = "\x1b[2J\x1b[31m</script>\"\n|,\xff=1+1";
  auto a = run(hostile, 10), b = run("b", 5);
  a.set("strategy", hostile);
  a.set(hostile, hostile);
  a.origin.commit = hostile;
  b.origin.commit = "abc";
  a.doubts = {{"repeat", hostile, hostile}};
  a.measured.tflops = {{1, hostile, false}};
  a.measured.peak_memory_from = hostile;
  a.measured.losses = {{1, 1, 5}, {2, 2, 4}};
  b.measured.losses = a.measured.losses;
  const auto c = compare({{hostile, {&a}}, {"B", {&b}}});
  REQUIRE(c);
  for (const auto& section : sections(*c)) {
    for (const auto& sentence : section.sentences) CHECK(sentence == printable(sentence));
    for (const auto& row : section.rows) {
      CHECK(row.size() == section.rows.front().size());
      for (const auto& cell : row) CHECK(cell == printable(cell));
    }
  }
  const auto text = json(*c);
  CHECK(Json::accept(text));
  CHECK_FALSE(has(text, "\x1b"));
  const auto table = csv(*c);
  CHECK_FALSE(has(table, "\x1b"));
  // A head, and a line for each of the two groups and each metric.
  CHECK(split(table, '\n').size() == 2 + 2 * c->metrics.size());
}

TEST_CASE("CSV has a line for each metric and group", "[compare]") {
  const auto a = run("a", 10), b = run("b", 8);
  const auto c = compare({group("A, the first", a), group("B", b)});
  const auto lines = split(csv(*c), '\n');
  std::string base, other;
  for (const auto& line : lines) {
    if (line.starts_with("step_seconds,,lower,\"A, the first\"")) base = line;
    if (line.starts_with("step_seconds,,lower,B")) other = line;
  }
  CHECK(base == "step_seconds,,lower,\"A, the first\",10,,,1,,,,,,,,,,,,");
  CHECK(other ==
        "step_seconds,,lower,B,8,,,1,,,,1.25,,,,,,better,false,"
        "1.25x faster; single values: no interval");
}

TEST_CASE("estimates stand in columns of their own", "[compare]") {
  auto a = run("a", 10), b = run("b", 8);
  const auto columns = [](const Comparison& c) {
    for (const auto& section : sections(c))
      if (section.title == "Result") return section.rows.front();
    return std::vector<std::string>();
  };
  CHECK(columns(*compare({group("A", a), group("B", b)})).size() == 4);
  a.estimated = plan::Estimate{};
  a.estimated->step_seconds = 9;
  const auto c = compare({group("A", a), group("B", b)});
  REQUIRE(columns(*c).size() == 5);
  CHECK(columns(*c)[3] == "estimated (90 %)");
  CHECK(has(sentences(*c), "B: not estimated"));
  // A narrow screen has them below.
  for (const auto& section : sections(*c, true))
    if (section.title == "Result") CHECK(has(section.rows[1].back(), "estimated "));
}

}  // namespace
}  // namespace orch::compare
