#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/show/tables/comparison.h"
#include "tests/show/compare/make.h"
#include "tests/test.h"

namespace orch::compare {
namespace {

using SortedJson = nlohmann::json;

std::string shown(const Comparison& c, const char* format = "table", std::size_t width = 0) {
  return show::text_as(format, tables::comparison_answer(c), {.width = width});
}

// The rows of a JSON table whose field `name` equals `value`.
SortedJson rows(const SortedJson& json, const char* table, const char* name,
                const SortedJson& value) {
  SortedJson out = SortedJson::array();
  for (const auto& row : json.at(table))
    if (row.at(name) == value) out.push_back(row);
  return out;
}

TEST_CASE("the JSON of a comparison has what it says", "[compare]") {
  auto a = run("a", 13.6, 13.4, 13.8), b = run("b", 10, 9.9, 10.1);
  b.set("zero_stage", whole(3));
  b.doubts = {{"repeat", "step_time_s", "its repeats take 12 s"}};
  const auto out = SortedJson::parse(shown(*compare({group("A", a), group("B", b)}), "json"));
  CHECK(out["schema"] == 1);
  CHECK(out["groups"][1]["records"] == "b");
  REQUIRE(out["differences"].size() == 1);
  const auto& difference = out["differences"][0];
  CHECK(difference["field"] == "zero_stage");
  CHECK(difference["value"] == "3");
  CHECK(difference["changes_speed"] == true);
  CHECK(difference["changes_loss"] == false);
  const auto step = rows(out, "results", "metric", "step_seconds").at(0);
  CHECK(step["better"] == "lower");
  CHECK(step["basis"] == "measured");
  CHECK(step["base_value"] == 13.6);
  CHECK(step["base_value_low"] == 13.4);
  CHECK(near(step["ratio"].get<double>(), 1.36));
  CHECK(step["verdict"] == "better");
  CHECK(step["doubtful"] == "b");
  CHECK(out["groups"][1]["loss"] == "missing");
  CHECK(rows(out, "findings", "kind", "doubt")[0]["text"] ==
        "b: step_time_s is doubtful: its repeats take 12 s");
  CHECK(has(rows(out, "findings", "kind", "answer")[0]["text"].get<std::string>(),
            "B is 1.36x faster than A"));
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
  for (const auto* format : {"table", "md", "json", "csv"})
    CHECK_FALSE(has(shown(*c, format), "\x1b"));
  CHECK(SortedJson::accept(shown(*c, "json")));
}

TEST_CASE("CSV has a line for each metric, group and basis", "[compare]") {
  const auto a = run("a", 10), b = run("b", 8);
  const auto table =
      parse_csv(shown(*compare({group("A, the first", a), group("B", b)}), "csv"), "it");
  REQUIRE(table);
  const auto cell = [&](const CsvRecord& row, const std::string& name) {
    const auto at = std::ranges::find(table->header, name) - table->header.begin();
    return row.cells.at(static_cast<std::size_t>(at));
  };
  const auto step = std::ranges::find_if(
      table->records, [&](const auto& row) { return cell(row, "metric") == "step_seconds"; });
  REQUIRE(step != table->records.end());
  CHECK(cell(*step, "group") == "B");
  CHECK(cell(*step, "base_value") == "10");
  CHECK(cell(*step, "value") == "8");
  CHECK(cell(*step, "ratio") == "1.25");
  CHECK(cell(*step, "reason") == "single_values");
}

TEST_CASE("estimates stand below what was measured", "[compare]") {
  auto a = run("a", 10), b = run("b", 8);
  CHECK_FALSE(has(shown(*compare({group("A", a), group("B", b)})), "  estimated"));
  a.estimated = plan::Estimate{};
  a.estimated->step_seconds = 9;
  const auto c = compare({group("A", a), group("B", b)});
  const auto lines = split(shown(*c), '\n');
  const auto step = std::ranges::find_if(
      lines, [](const auto& line) { return line.starts_with("seconds per step"); });
  REQUIRE(step + 1 < lines.end());
  CHECK(has(*step, "1.25x faster"));
  CHECK((step + 1)->starts_with("  estimated"));
  CHECK((step + 1)->find(" 9") < step->find(" 8"));  // 9 is in the first group's column
  CHECK(has(notes(*c), "B: not estimated"));
}

TEST_CASE("long names become letters, and a list says whose", "[compare]") {
  const auto a = run("a", 10), b = run("b", 8);
  const std::string long_name = "some/folder/with/the_log_of_a.out";
  const auto text = shown(*compare({group(long_name, a), group("other/b.out", b)}));
  CHECK(has(text, "A is " + long_name + "\nB is other/b.out\n"));
  CHECK(has(text, "Answer: b.out is 1.25x faster than the_log_of_a.out"));
}

// Like two logs of Megatron and another framework, each with many arguments of its own.
TEST_CASE("two logs have an answer of at most 25 lines before the details", "[compare]") {
  auto a = run("a.out", 10, 9.9, 10.1), b = run("b.out", 30, 29.7, 30.3);
  a.origin.kind = b.origin.kind = "log";
  b.set("gpus", whole(40));
  b.set("seq", whole(4096));
  b.set("layers", whole(12));
  for (int i = 0; i < 41; ++i) {
    a.set("argument_" + std::to_string(i), whole(i));
    b.set("argument_" + std::to_string(i), whole(i + 1));
  }
  a.not_estimated = b.not_estimated = "site: neither the site nor the GPU is said";
  const auto c = compare({group("logs/of/a/megatron_run.out", a), group("logs/b.out", b)});
  const auto text = shown(*c, "table", 80);
  const auto before = split(text.substr(0, text.find("Settings that differ\n")), '\n');
  CHECK(before.size() <= 25 + 1);
  CHECK(has(causes_text(*c), "; and 41 more arguments (see Settings that differ)"));
  CHECK(has(text, "argument_40"));
  // 4x the tokens (4096 against 1024) in 3x the time on 5x the GPUs: 3 * 5 / 4 = 3.75.
  CHECK(has(answer(*c), "b.out is 3.75x slower per GPU than megatron_run.out (95 %: "));
  CHECK(has(answer(*c), "; 40 GPUs against 8; seq 4096 against 1024; layers 12 against 24): "));
  CHECK(has(answer(*c), "As a whole it is 1.33x faster: "));
}

}  // namespace
}  // namespace orch::compare
