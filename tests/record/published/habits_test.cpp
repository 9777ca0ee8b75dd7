
#include <catch2/catch_test_macros.hpp>

#include "core/record/published/table.h"
#include "tests/record/published/cell.h"
#include "tests/text.h"

namespace orch::published {
namespace {

const std::string kHabits =
    "source,gpu,column,value,reason\n"
    "pp,a100-80g,offload,optimizer,\"7 GB stay, where 41 would\"\n"
    "pp,,master_weights,false,they would not fit\n"
    "pp,,seq,4096,a guess\n";

std::vector<UnstatedDefault> habits(const std::string& text = kHabits) {
  const auto read = parse_habits(text, "habits.csv");
  if (!read) FAIL(orch::text(read.error()));
  return *read;
}

const std::string kHead = "id,source,gpu,gpus,framework,layers,hidden,seq,offload,step_time_s\n";

Record row_of_line(const std::string& line, const std::vector<UnstatedDefault>& known = habits()) {
  const auto read = parse_rows(kHead + line + "\n", "rows.csv", known);
  if (!read) FAIL(orch::text(read.error()));
  return read->front();
}

}  // namespace

TEST_CASE("a habit has a source, a column and a reason, and a GPU if it is one's",
          "[measured][habits]") {
  const auto read = habits();
  REQUIRE(read.size() == 3);
  CHECK(read[0].source == "pp");
  CHECK(read[0].gpu == "a100-80g");
  CHECK(read[0].column == "offload");
  CHECK(read[0].value == "optimizer");
  CHECK(read[0].reason == "7 GB stay, where 41 would");
  CHECK(read[1].gpu.empty());
  const auto shuffled = habits("reason,value,colour,column,source,gpu\nr,8,red,tp,s,g\n");
  REQUIRE(shuffled.size() == 1);
  CHECK(shuffled[0].source == "s");
  CHECK(shuffled[0].value == "8");
}

TEST_CASE("habits fill what is empty and say so", "[measured][habits]") {
  const auto filled = row_of_line("r1,pp,a100-80g,8,megatron,24,2048,,,1.5");
  CHECK(filled.field_text("offload") == "optimizer");
  CHECK(filled.flag("master_weights") == false);
  CHECK(filled.whole("seq") == 4096);
  CHECK(filled.assumptions ==
        std::vector<std::string>{"offload optimizer (7 GB stay, where 41 would)",
                                 "master_weights false (they would not fit)",
                                 "seq 4096 (a guess)"});
}

TEST_CASE("what a row says itself stays", "[measured][habits]") {
  const auto said = row_of_line("r1,pp,a100-80g,8,megatron,24,2048,1024,none,1.5");
  CHECK(said.field_text("offload") == "none");
  CHECK(said.whole("seq") == 1024);
  CHECK(said.assumptions == std::vector<std::string>{"master_weights false (they would not fit)"});
}

TEST_CASE("a habit holds for its source and its GPU only", "[measured][habits]") {
  const auto other_gpu = row_of_line("r1,pp,v100-32g,8,megatron,24,2048,,,1.5");
  CHECK(other_gpu.field_text("offload").empty());
  CHECK(other_gpu.flag("master_weights") == false);
  const auto other_source = row_of_line("r1,ppp,a100-80g,8,megatron,24,2048,,,1.5");
  CHECK(other_source.field_text("offload").empty());
  CHECK_FALSE(other_source.flag("master_weights"));
  CHECK_FALSE(other_source.whole("seq"));
  CHECK(other_source.assumptions.empty());
}

TEST_CASE("of two habits the first fills", "[measured][habits]") {
  const auto twice =
      habits("source,gpu,column,value,reason\npp,,seq,4096,first\npp,,seq,8192,second\n");
  const auto filled = row_of_line("r1,pp,a100-80g,8,megatron,24,2048,,,1.5", twice);
  CHECK(filled.whole("seq") == 4096);
  CHECK(filled.assumptions.size() == 1);
}

TEST_CASE("a value that its column cannot hold fills nothing", "[measured][habits]") {
  const auto wrong = habits("source,gpu,column,value,reason\npp,,seq,many,x\npp,,sequ,4096,x\n");
  const auto filled = row_of_line("r1,pp,a100-80g,8,megatron,24,2048,,,1.5", wrong);
  CHECK_FALSE(filled.whole("seq"));
  CHECK(filled.assumptions.empty());
}

TEST_CASE("habits without their columns are an error", "[measured][habits]") {
  for (const char* head : {"source,gpu,column,value\n", "id,apart,reason\n", "source\n"}) {
    CAPTURE(head);
    const auto read = parse_habits(head, "habits.csv");
    REQUIRE_FALSE(read);
    CHECK(has(text(read.error()),
              "habits.csv: needs the columns source, gpu, column, value and reason"));
  }
  CHECK_FALSE(parse_habits("", "habits.csv"));
  CHECK_FALSE(parse_habits("source,gpu,column,value,reason\npp,\"x\n", "habits.csv"));
}

}  // namespace orch::published
