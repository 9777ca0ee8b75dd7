// Tests of a job's file of errors beside its output file.

#include <catch2/catch_test_macros.hpp>

#include "core/record/published/said.h"
#include "tests/record/ingest/logs.h"

namespace orch::ingest {
namespace {

using record::Failure;
using record::RunState;

const std::string kTwoSteps = iteration(1, 10, 1000, 3) + iteration(2, 10, 1000, 2);
const std::string kOom =
    "Traceback (most recent call last):\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n";

std::vector<record::Record> runs_of(const std::string& output, const std::string& errors,
                                    const std::string& output_name = "job-7.out",
                                    const std::string& errors_name = "job-7.err") {
  static const Patterns patterns = shipped();
  const LogFolder folder;
  folder.write(output_name, output);
  folder.write(errors_name, errors);
  auto found = ingest({folder.path().string()}, patterns);
  REQUIRE(found.has_value());
  CHECK(found->bytes == output.size() + errors.size());
  return std::move(found->runs);
}

}  // namespace

TEST_CASE("how a job ended may be told in its file of errors", "[ingest]") {
  const auto runs = runs_of(kTwoSteps, kOom);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].id == "job-7.out");
  CHECK(runs[0].measured.steps == 2);
  CHECK(runs[0].state == RunState::failed);
  CHECK(runs[0].failure == Failure::gpu_memory);
  CHECK(published::status_of(runs[0]) == "oom");
  const auto numbered = runs_of(kTwoSteps, kOom, "job.o123", "job.e123");
  REQUIRE(numbered.size() == 1);
  CHECK(numbered[0].failure == Failure::gpu_memory);
}

TEST_CASE("a cancelled job says so in its file of errors only", "[ingest]") {
  const auto runs = runs_of(
      kTwoSteps, "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-05-01T12:00:00 ***\n");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].state == RunState::cancelled);
  CHECK(runs[0].origin.job == "7");
}

TEST_CASE("files of errors are believed only where they can be right", "[ingest]") {
  const auto other = runs_of(kTwoSteps, kOom, "job-7.out", "job-8.err");
  REQUIRE(other.size() == 2);
  CHECK(other[0].state == RunState::running);
  const auto warning = runs_of(kTwoSteps, "Traceback (most recent call last):\nValueError: no\n");
  REQUIRE(warning.size() == 1);
  CHECK(warning[0].state == RunState::running);
  const auto finished = runs_of(kTwoSteps + "[after training is done] datetime: 2024\n", kOom);
  REQUIRE(finished.size() == 1);
  CHECK(finished[0].state == RunState::finished);
  CHECK(finished[0].notes.starts_with("after the end: torch.OutOfMemoryError"));
  const auto steps = runs_of(kTwoSteps, kTwoSteps + kOom);
  CHECK(steps.size() == 2);
}

TEST_CASE("of several starts nobody knows which one failed", "[ingest]") {
  const std::string start =
      "using world size: 8, data-parallel-size: 8, tensor-model-parallel size: 1, "
      "pipeline-model-parallel size: 1 \n";
  const auto runs = runs_of(start + kTwoSteps + start + iteration(3, 10, 1000, 2), kOom);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].measured.restarts == 1);
  CHECK(runs[0].state == RunState::running);
}

}  // namespace orch::ingest
