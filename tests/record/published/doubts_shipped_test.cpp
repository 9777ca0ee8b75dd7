#include "core/base/files.h"
#include "core/record/published/doubts.h"
#include "core/record/published/table.h"
#include "tests/record/published/support.h"

// The errors in the five published sources were found by people, one row at a time; the checks have
// to find those that follow from the row itself, and no others.
namespace orch::published {
namespace {

using test::kSources;
using test::shipped;

void add_rows(const std::string& name, const std::vector<UnstatedDefault>& habits,
              std::vector<Record>& rows) {
  const auto more = parse_rows(shipped(name), name, habits);
  REQUIRE(more);
  rows.insert(rows.end(), more->begin(), more->end());
}

std::vector<Record> all_rows(const std::vector<UnstatedDefault>& habits = {}) {
  std::vector<Record> rows;
  for (const auto& source : kSources) add_rows(source + ".csv", habits, rows);
  return rows;
}

// Dense half-precision rates and memory, from the makers' datasheets.
std::optional<GpuFacts> datasheet(const Record& row) {
  static const std::map<std::string, GpuFacts> kGpus{
      {"v100-16g", {125, 16}}, {"v100-32g", {125, 32}}, {"a100-80g", {312, 80}},
      {"mi250x", {191.5, 64}}, {"pvc", {419, 64}},      {"h100-80g", {989, 80}}};
  const auto found = kGpus.find(row.field_text("gpu"));
  return found == kGpus.end() ? std::nullopt : std::optional(found->second);
}

using Kinds = std::map<std::string, std::set<std::string>>;  // by id

Kinds kinds_of(const std::vector<Record>& rows) {
  const auto found = doubts(rows, datasheet);
  REQUIRE(found.size() == rows.size());
  Kinds kinds;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const auto& doubt : found[i]) kinds[rows[i].id].insert(doubt.kind);
  return kinds;
}

std::string reasons(const std::string& id) {
  static const auto rows = all_rows();
  static const auto found = doubts(rows, datasheet);
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].id == id)
      for (const auto& doubt : found[i]) out += doubt.reason + "\n";
  return out;
}

// Every suspect row whose error follows from arithmetic.
const Kinds kFaults{
    {"jz-v100-0005", {"batch"}},      // 1 x 4 x 4 is not 4
    {"jz-v100-0011", {"topology"}},   // 1 x 4 x 8 is not 16, and four more like it
    {"jz-v100-0012", {"topology"}},   //
    {"jz-v100-0013", {"topology"}},   //
    {"jz-v100-0016", {"topology"}},   //
    {"jz-v100-0017", {"topology"}},   //
    {"jz-v100-0029", {"topology"}},   // 1 x 4 x 32 is not 64
    {"jz-v100-0035", {"tflops"}},     // 2.3 % too many for its time
    {"jz-v100-0038", {"tflops"}},     // 7.9 %
    {"jz-v100-0039", {"tflops"}},     // twice as many
    {"pm-a100-0026", {"tflops"}},     // 1.35 %
    {"b7b-0020", {"tflops"}},         // 88 TFLOPs at 147 days
    {"b7b-0028", {"memory"}},         // 5 GB, and 60 GB with half the micro-batch
    {"jz-a100-0063", {"topology"}},   // 8 x 8 x 10 is not 320
    {"jz-a100-0064", {"over_peak"}},  // 574 TFLOPs with a batch of 2048
    {"jz-a100-0065", {"over_peak"}},  //
    {"jz-a100-0066", {"over_peak", "size"}},
};

TEST_CASE("the faults of the published rows are found, and nothing else", "[measured][doubts]") {
  CHECK(kinds_of(all_rows()) == kFaults);
}

TEST_CASE("every row with a fault was marked by people, too", "[measured][doubts]") {
  std::set<std::string> suspect;
  for (const auto& row : all_rows())
    if (row.flag("suspect").value_or(false)) suspect.insert(row.id);
  CHECK(suspect.size() == 31);
  for (const auto& [id, kinds] : kFaults) CHECK(suspect.contains(id));
}

TEST_CASE("what people marked as suspect is not looked at", "[measured][doubts]") {
  auto rows = all_rows();
  for (const bool mark : {false, true}) {
    for (auto& row : rows) {
      cell(row, "suspect") = mark;
      row.notes = "suspect";
    }
    CHECK(kinds_of(rows) == kFaults);
  }
}

TEST_CASE("habits change nothing in what is doubtful", "[measured][doubts]") {
  const auto habits = parse_habits(shipped("habits.csv"), "habits.csv");
  REQUIRE(habits);
  CHECK(kinds_of(all_rows(*habits)) == kFaults);
}

TEST_CASE("without knowledge of GPUs the rest is still found", "[measured][doubts]") {
  const auto rows = all_rows();
  const auto found = doubts(rows, nullptr);
  std::set<std::string> ids;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!found[i].empty()) ids.insert(rows[i].id);
  auto expected = kFaults;
  std::set<std::string> expected_ids;
  for (const auto& [id, kinds] : expected) expected_ids.insert(id);
  CHECK(ids == expected_ids);
}

TEST_CASE("reasons have the numbers, and the reading that would fit", "[measured][doubts]") {
  CHECK(reasons("jz-v100-0011") ==
        "data 1 x tensor 4 x pipeline 8 = 32 ranks, the row says 16 GPUs; "
        "tensor_parallel 2 or pipeline_parallel 4 would fit\n");
  CHECK(has(reasons("jz-v100-0005"), "= 16 samples, the row says a global batch of 4"));
  CHECK(has(reasons("jz-v100-0005"), "data_parallel 1 would fit"));
  CHECK(has(reasons("jz-v100-0035"), "34.19 TFLOPs"));
  CHECK(has(reasons("jz-v100-0035"), "179.8 s would fit"));
  CHECK(has(reasons("jz-v100-0038"), "158.4 s would fit"));
  CHECK(has(reasons("jz-v100-0039"), "2.00 times as much; 8 GPUs or"));
  CHECK(has(reasons("jz-a100-0064"), "573.9"));
  CHECK(has(reasons("jz-a100-0064"), "global_batch 512"));
  CHECK(has(reasons("jz-a100-0065"), "628.0"));
  CHECK(has(reasons("jz-a100-0066"), "28.2B"));
  CHECK(has(reasons("jz-a100-0066"), "570.35"));
  CHECK(has(reasons("pm-a100-0026"), "26.60"));
  CHECK(has(reasons("b7b-0020"), "55.7"));
}

TEST_CASE("the rows from elsewhere have no doubts", "[measured][doubts]") {
  std::vector<Record> rows;
  for (const auto* name : {"mosaic-a100.csv", "mosaic-h100.csv", "selene.csv"})
    add_rows(std::string("elsewhere/") + name, {}, rows);
  CHECK(rows.size() > 90);
  CHECK(kinds_of(rows).empty());
}

}  // namespace
}  // namespace orch::published
