#include "core/show/tables/ranking.h"

#include "core/plan/family.h"
#include "core/plan/stack.h"
#include "tests/show/tables/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::tables;
using test::csv, test::table;
using test::planned;

namespace {

const plan::Experiment kExperiment;

std::vector<std::string> places(const std::vector<plan::Planned>& runs) {
  std::vector<std::string> out;
  for (const auto& rank : ranks(test::result_of(kExperiment, runs))) out.push_back(rank.text());
  return out;
}

std::string ties(const std::vector<plan::Planned>& runs) {
  return ties_text(test::result_of(kExperiment, runs));
}

using RankNames = std::vector<std::string>;

}  // namespace

// 100 days reach from 91 to 110; 120 from 109 to 132; 122 from 110.9 on.
TEST_CASE("runs whose ranges overlap with the best one's share its place", "[report][ranking]") {
  CHECK(places({planned("a", 100), planned("a", 120), planned("a", 122)}) ==
        RankNames{"1=", "1=", "3"});
  CHECK(places({planned("a", 100), planned("a", 122)}) == RankNames{"1", "2"});
  CHECK(places({planned("a", 100)}) == RankNames{"1"});
  CHECK(places({}).empty());
}

TEST_CASE("places follow what the list is ordered by", "[report][ranking]") {
  std::vector<plan::Planned> runs{planned("a", 200), planned("a", 100), planned("a", 100)};
  const double peaks[] = {10e9, 11e9, 14e9};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto& estimate = runs[i].estimate;
    estimate.memory_low = 0.9 * peaks[i];
    estimate.memory_high = 1.1 * peaks[i];
  }
  auto order = test::result_of(kExperiment, runs);
  order.measure = RankBy::memory;
  RankNames by_memory;
  for (const auto& rank : ranks(order)) by_memory.push_back(rank.text());
  CHECK(by_memory == RankNames{"1=", "1=", "3"});  // 11 GB reach over 9.9, 12.6 are beyond
  CHECK(ties_text(order) ==
        "1 more run may need as little memory (within the error of the estimates)\n");
}

TEST_CASE("sizes are ranked apart where that is asked for", "[report][ranking]") {
  std::vector<plan::Planned> runs{planned("a", 10), planned("b", 20), planned("a", 100),
                                  planned("b", 101)};
  for (std::size_t i = 0; i < runs.size(); ++i)
    runs[i].run.model = i < 2 ? plan::sized("gpt", "small", 24, 2048, 16, 50257, 2048)
                              : plan::sized("gpt", "large", 96, 2048, 16, 50257, 2048);
  CHECK(places(runs) == RankNames{"1", "2", "3", "4"});
  auto result = test::result_of(kExperiment, runs);
  result.apart = true;
  RankNames apart;
  for (const auto& rank : ranks(result)) apart.push_back(rank.text());
  CHECK(apart == RankNames{"1", "2", "1=", "1="});
  const auto said = ties_text(result);
  CHECK_THAT(said,
             ContainsSubstring("small: a 10.0 days (9.1–11.0)\n  strategies at their best: a "));
  CHECK_THAT(said, ContainsSubstring("large: a 100 days (91–110)\n  strategies at their best: a "));
}

TEST_CASE("what does not fit has no place, and ties with nobody", "[report][ranking]") {
  std::vector<plan::Planned> runs{planned("a", 100), planned("a", 101)};
  runs[1].estimate.fit = plan::MemoryFit::oom;
  CHECK(places(runs) == RankNames{"1", ""});
  CHECK(ties(runs).empty());
  runs[0].estimate.fit = plan::MemoryFit::oom;
  CHECK(places(runs) == RankNames{"", ""});
}

TEST_CASE("a tie is said in words", "[report][ranking]") {
  CHECK(ties({planned("a", 100), planned("a", 120), planned("a", 122)}) ==
        "1 more run may be as fast (within the error of the estimates)\n");
  CHECK(ties({planned("a", 100), planned("a", 122)}).empty());
  // A wide range farther down includes the first, the one between them does not: places never
  // interleave.
  CHECK(ties({planned("a", 100), planned("a", 122), planned("a", 130, 1.5)}).empty());
  CHECK(places({planned("a", 100), planned("a", 122), planned("a", 130, 1.5)}) ==
        RankNames{"1", "2", "3"});
}

TEST_CASE("strategies whose best runs overlap are a tie", "[report][ranking]") {
  CHECK(ties({planned("a", 100), planned("b", 120), planned("c", 200)}) ==
        "strategies at their best: a 100 days (91–110) and b 120 days (109–132) tie; slower: c 200 "
        "days (182–220)\n");
  CHECK(ties({planned("a", 100), planned("a", 101), planned("b", 200)}) ==
        "1 more run may be as fast (within the error of the estimates)\n"
        "strategies at their best: a 100 days (91–110) is the fastest; slower: b 200 days "
        "(182–220)\n");
}

TEST_CASE("each strategy says in one sentence what prices it", "[report][ranking]") {
  auto stack = std::make_shared<plan::Stack>();
  stack->name = "a-2023";
  stack->runs = {"a"};
  stack->seen.rows = 949;
  auto cluster = std::make_shared<plan::Cluster>();
  cluster->name = "toy";
  auto& partition = cluster->partitions.emplace_back();
  partition.name = "a100";
  partition.stacks.push_back({stack, std::make_shared<plan::Partition>()});
  std::vector<plan::Planned> runs{planned("a", 100), planned("a", 110), planned("b", 120)};
  for (auto& run : runs) run.run.cluster = cluster, run.run.partition = &partition;
  runs[0].estimate.stack = runs[1].estimate.stack = "a-2023";
  runs[2].estimate.stack = "b-2023";
  runs[2].estimate.remarks = {"no row of b-2023 was fitted"};
  const auto text = [&] { return stacks_text(test::result_of(kExperiment, runs)); };
  CHECK(text() ==
        "a is priced as a-2023 (949 rows fitted) on toy/a100 (datasheet, not calibrated)\n"
        "b is priced as b-2023 on toy/a100 (datasheet, not calibrated): no row of b-2023 was "
        "fitted\n");
  partition.efficiency.time_spread.origin = "fitted: 12 rows of our own";
  CHECK_THAT(text(), ContainsSubstring("on toy/a100 (12 rows of our own)\n"));
  cluster->measured = plan::MeasuredConstants{"N1 x 2", "2026-10-01"};
  CHECK_THAT(text(), ContainsSubstring("on toy/a100 (measurements of N1 x 2 on 2026-10-01)\n"));
  partition.calibration.emplace().seen.rows = 117;
  partition.calibration->partition = std::make_shared<plan::Partition>();
  CHECK_THAT(text(), ContainsSubstring("on toy/a100 (117 rows fitted)\n"));
}

TEST_CASE("tables, Markdown and CSV show place and range", "[report][ranking]") {
  const std::vector<plan::Planned> runs{planned("a", 100), planned("b", 120), planned("c", 200)};
  const auto result = test::result_of(kExperiment, runs);
  CHECK_THAT(table(result, {}, 0), ContainsSubstring("\n1=  a ") && ContainsSubstring("91–110"));
  CHECK_THAT(table(result, {}, 0), ContainsSubstring("\n 3  c "));
  CHECK_THAT(table(result, {.markdown = true}, 0),
             ContainsSubstring("| 1= | b |") && ContainsSubstring("| 109–132 |"));
  CHECK_THAT(csv(result), ContainsSubstring("\na-1,1,true,a,") &&
                              ContainsSubstring("\nc-1,3,false,c,") &&
                              ContainsSubstring(",100,90.90909091,110,2400,"));
  CHECK_THAT(test::json_of(result), ContainsSubstring("\"rank\": 3,\n      \"tie\": false") &&
                                        ContainsSubstring("\"days_low\": 90.9"));
}
