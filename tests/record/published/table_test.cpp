#include "core/record/published/table.h"

#include <catch2/catch_test_macros.hpp>

#include "core/record/published/said.h"
#include "tests/text.h"

namespace orch::published {
namespace {

std::string problems(std::string_view text) {
  const auto rows = parse_rows(text, "rows.csv");
  REQUIRE(!rows);
  return orch::text(rows.error());
}

std::string flaws(std::string_view text) {
  const auto rows = parse_rows(text, "rows.csv");
  REQUIRE(rows);
  std::string out;
  for (const auto& row : *rows) out += orch::text(published::flaws(row));
  return out;
}

const std::string kTableHead = "id,gpu,gpus,framework,layers,hidden,step_time_s,mem_gb,status\n";

TEST_CASE("columns come in any order, and unknown ones are ignored", "[measured][row]") {
  const auto rows = parse_rows(
      "colour,status,hidden,layers,framework,gpus,gpu,id,mem_gb,suspect,dup_of,tp,date\n"
      "red,OK,14336,72,megatron,384,a100-80g,r1,75.5,false,,8,2022-02-28\n"
      "blue,,,,,,,r2,,TRUE,r1,,\n",
      "rows.csv");
  REQUIRE(rows);
  const auto& first = (*rows)[0];
  CHECK(first.id == "r1");
  CHECK(first.whole("hidden") == 14336);
  CHECK(first.whole("gpus") == 384);
  CHECK(memory_gib(first) == 75.5);
  CHECK(status_of(first) == "ok");
  CHECK(first.origin.date == "2022-02-28");
  CHECK_FALSE(first.whole("seq"));
  CHECK_FALSE(left_out(first));
  CHECK((*rows)[1].flag("suspect") == true);
  CHECK(left_out((*rows)[1]));
  CHECK((*rows)[1].origin.first_line == 3);
}

TEST_CASE("a row without source and table is its file's", "[measured][row]") {
  const auto rows = parse_rows(kTableHead + "r1,v100-32g,8,ddp,24,2048,1.5,,\n", "some/mine.csv");
  REQUIRE(rows);
  CHECK((*rows)[0].source == "mine");
  CHECK((*rows)[0].table == "mine");
}

TEST_CASE("columns that must be there are missed all at once, with a guess", "[measured][row]") {
  const auto text = problems("id,gpus,framwork,layers,hidden\n");
  CHECK(has(text, "no column 'gpu'"));
  CHECK(has(text, "no column 'framework'\n  is it the column 'framwork'?"));
  CHECK(has(text, "no column says what was measured"));
  CHECK(has(problems("r1,a100-80g,8,ddp,24,2048\n"), "no column 'id'"));
}

TEST_CASE("every bad cell is a flaw of its row, with line and column", "[measured][row]") {
  const auto text = flaws(kTableHead +
                          "r1,a100,\"1,024\",ddp,24,2048,nan,,ok\n"
                          "r2,a100,-8,ddp,24.5,99999999999,inf,0,oks\n"
                          "r3,a100,8x,ddp,1e300,2048,-1,,\n"
                          ",a100,8,ddp,24,2048,,,\n");
  CHECK(has(text, "rows.csv:2: gpus: '1,024' is not a number; write it without commas"));
  CHECK(has(text, "rows.csv:2: step_time_s: 'nan' is not a number"));
  CHECK(has(text, "rows.csv:3: gpus: '-8' is out of range"));
  CHECK(has(text, "rows.csv:3: layers: '24.5' is not an integer"));
  CHECK(has(text, "rows.csv:3: hidden: '99999999999' is out of range"));
  CHECK(has(text, "rows.csv:3: step_time_s: 'inf' is not a number"));
  CHECK(has(text, "rows.csv:3: mem_gb: '0' is out of range"));
  CHECK(has(text, "rows.csv:3: status: 'oks' is not one of its values; did you mean 'ok'?"));
  CHECK(has(text, "rows.csv:4: gpus: '8x' is not a number"));
  CHECK(has(text, "rows.csv:4: layers: '1e300' is out of range"));
  CHECK(has(text, "rows.csv:4: step_time_s: '-1' is out of range"));
  CHECK(has(text, "rows.csv:5: id: is empty"));
}

TEST_CASE("dates and flags have few forms", "[measured][row]") {
  const std::string head = "id,gpu,gpus,framework,layers,hidden,status,date,flash_attn\n";
  const auto rows = parse_rows(head + "a,,,,,,,2022,yes\nb,,,,,,,2022-02,0\n", "rows.csv");
  REQUIRE(rows);
  CHECK((*rows)[0].flag("flash_attention") == true);
  CHECK((*rows)[1].flag("flash_attention") == false);
  const auto text = flaws(head + "a,,,,,,,28/02/2022,maybe\n");
  CHECK(has(text, "rows.csv:2: date: '28/02/2022' is not a date"));
  CHECK(has(text, "rows.csv:2: flash_attn: 'maybe' is not true or false"));
}

TEST_CASE("an id names one row", "[measured][row]") {
  const auto text = problems(kTableHead + "r1,,,,,,,,\nr2,,,,,,,,\nr1,,,,,,,,\n");
  CHECK(has(text, "rows.csv:4: id: 'r1' is the id of line 2 already"));
}

TEST_CASE("a hostile cell is shown without its control characters", "[measured][row]") {
  CHECK_FALSE(has(flaws(kTableHead + "r1,a,\"8\n\t9\",,,,,,\n"), "8\n"));
}

}  // namespace
}  // namespace orch::published
