#include "core/record/ingest/ingest.h"
#include "tests/record/ingest/logs.h"
#include "tests/test.h"

namespace orch::ingest {
namespace {

void append(const fs::path& file, std::string_view text) {
  std::ofstream(file, std::ios::app | std::ios::binary) << text;
}

}  // namespace

TEST_CASE("a log is read as it grows, line by line", "[ingest][run_log]") {
  const LogFolder folder;
  const auto patterns = shipped();
  const auto file = folder.path() / "stdout.log";
  RunLog log(patterns, {{"seq", "2048"}});
  log.read(file);  // the file does not exist yet
  CHECK_FALSE(log.found("run").has_value());
  const auto third = iteration(3, 10, 500, 7);
  append(file, iteration(1, 10, 4000, 9) + iteration(2, 10, 500, 8) + third.substr(0, 40));
  log.read(file);
  CHECK(log.found("run")->measured.steps == 2);
  append(file, third.substr(40));
  log.read(file);
  log.read(file);
  const auto found = log.found("run");
  CHECK(found->measured.steps == 3);
  CHECK(found->measured.steps_planned == 10);
  CHECK(found->measured.last_loss == 7);
  CHECK(found->measured.step_seconds->value == 0.5);
  CHECK(found->measured.tokens_per_second == 64 * 2048 / 0.5);
}

TEST_CASE("attempts that go on are one run", "[ingest][run_log]") {
  const LogFolder folder;
  const auto patterns = shipped();
  const std::string start =
      "using world size: 8, data-parallel-size: 8, tensor-model-parallel size: 1, "
      "pipeline-model-parallel size: 1\n";
  const auto one =
      folder.write("1/stdout.log", start + iteration(1, 6, 500, 9) + iteration(2, 6, 500, 8) +
                                       iteration(3, 6, 500, 7));
  const auto two = folder.write("2/stdout.log",
                                start + " successfully loaded checkpoint from x at iteration 2\n" +
                                    iteration(3, 6, 500, 7.5) + iteration(4, 6, 500, 6));
  RunLog log(patterns, {});
  for (const auto& file : {one, two}) {
    log.read(file);
    log.end_file();
  }
  const auto found = log.found("run");
  REQUIRE(found.has_value());
  CHECK(found->measured.steps == 4);
  CHECK(found->measured.restarts == 1);
  CHECK(found->measured.repeated_steps == 1);
  CHECK(found->measured.last_loss == 6);
}

}  // namespace orch::ingest
