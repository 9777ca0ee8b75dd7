#include "core/record/published/table.h"

#include <catch2/catch_test_macros.hpp>

#include "core/record/published/said.h"
#include "tests/record/ingest/logs.h"

namespace orch::ingest {
namespace {

// Writes the record of a log as a table and reads it back.
record::Record through_a_table(const std::string& log) {
  const auto found = read_text(log);
  REQUIRE(found.runs.size() == 1);
  auto said = found.runs[0];
  said.source = "here";
  auto rows = published::parse_rows(published::rows_csv({said}), "table.csv");
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == 1);
  CHECK(published::flaws((*rows)[0]).empty());
  published::complete((*rows)[0]);
  return (*rows)[0];
}

const auto kSteps = iteration(1, 9, 5000, 2) + iteration(2, 9, 1000, 2) + iteration(3, 9, 1000, 2);

}  // namespace

TEST_CASE("a log that failed has failed in a table, too, and keeps its time", "[ingest][table]") {
  const std::string end = "srun: error: node07: task 3: Exited with exit code 1";
  const auto record = through_a_table(kSteps + end + "\n");
  CHECK(record.state == record::RunState::failed);
  CHECK(record.failure == record::Failure::none);  // a table does not contain it
  CHECK(record.notes == end);
  REQUIRE(record.measured.step_seconds);
  CHECK(record.measured.step_seconds->value == 1);
}

TEST_CASE("a log that did not fail is well in a table", "[ingest][table]") {
  CHECK(through_a_table(kSteps).state == record::RunState::finished);
}

TEST_CASE("a Trainer that names no strategy has none in a table, too", "[ingest][table]") {
  const auto record = through_a_table(
      "{'train_runtime': 5.0, 'train_samples_per_second': 16.0, 'train_steps_per_second': 2.0}\n");
  CHECK(record.field_text("framework") == "huggingface");
  CHECK(record.field_text("strategy").empty());
  CHECK(record.field("zero_stage") == nullptr);
}

}  // namespace orch::ingest
