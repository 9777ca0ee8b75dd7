// Tests of special files: compressed ones, copies, and logs of unknown frameworks.

#include "tests/record/ingest/logs.h"
#include "tests/test.h"

namespace orch::ingest {
namespace {

std::string log_text() {
  std::string text;
  for (int step = 1; step <= 200; ++step) text += iteration(step, 200, step == 1 ? 9000 : 1500, 2);
  return text;
}

// Compresses a file; false if the program is not installed.
bool pack(const std::string& program, const fs::path& file, const fs::path& into) {
  return std::system((program + " -c '" + file.string() + "' > '" + into.string() + "' 2>/dev/null")
                         .c_str()) == 0;
}

}  // namespace

TEST_CASE("micro-batches that a table counts are steps once it is said how many make one",
          "[ingest]") {
  const auto log =
      (fs::path(ORCH_SOURCE_DIR) / "tests/record/ingest/cases/litgpt_csv/log.txt").string();
  const auto found = ingest({log}, shipped(), {.set = {{"gas", "4"}, {"seq", "1024"}}});
  REQUIRE(found);
  REQUIRE(found->runs.size() == 1);
  const auto& record = found->runs.front();
  CHECK(record.measured.step_seconds->value == 1.0);
  CHECK(record.measured.steps == 8);
  CHECK(record.measured.tokens_per_second == 65536);
  CHECK(record.whole("global_batch") == 64);
  const auto alone = ingest({log}, shipped());
  REQUIRE(alone);
  CHECK(alone->runs.front().notes.find("--set gas=N") != std::string::npos);
}

TEST_CASE("compressed logs are read as they are", "[ingest][files]") {
  const LogFolder folder;
  const auto plain = folder.write("job.out", log_text());
  const auto patterns = shipped();
  for (const auto* program : {"gzip", "xz", "zstd", "bzip2"}) {
    const auto packed = folder.path() / (std::string("job.out.") + program);
    if (!pack(program, plain, packed)) continue;
    INFO(program);
    const auto found = ingest({packed.string()}, patterns);
    REQUIRE(found.has_value());
    REQUIRE(found->runs.size() == 1);
    CHECK(found->passed.empty());
    CHECK(found->runs[0].measured.step_seconds->value == 1.5);
    CHECK(found->runs[0].measured.steps == 200);
  }
}

TEST_CASE("a compressed log that was cut gives what it has, and says so", "[ingest][files]") {
  const LogFolder folder;
  const auto packed = folder.path() / "job.gz";
  if (!pack("gzip", folder.write("job.out", log_text()), packed)) SKIP("no gzip");
  fs::resize_file(packed, fs::file_size(packed) - 12);
  const auto found = ingest({packed.string()}, shipped());
  REQUIRE(found.has_value());
  REQUIRE(found->passed.size() == 1);
  CHECK(found->passed[0].reason.starts_with("compressed (gzip): damaged or cut"));
}

TEST_CASE("copies of a log are one run", "[ingest][files]") {
  const LogFolder folder;
  const auto text = log_text();
  auto other = text;
  other[other.size() / 2] ^= 1;
  const auto one = folder.write("a.out", text).string();
  const auto two = folder.write("b.out", text).string();
  const auto three = folder.write("c.out", other).string();
  const auto named = ingest({one, two, three, one}, shipped());
  REQUIRE(named.has_value());
  CHECK(named->runs.size() == 2);
  REQUIRE(named->passed.size() == 2);
  for (const auto& passed : named->passed) CHECK(passed.reason == "the same as " + one);
  const auto found = ingest({folder.path().string()}, shipped());
  REQUIRE(found.has_value());
  CHECK(found->runs.size() == 2);
  REQUIRE(found->passed.size() == 1);
  CHECK(found->passed[0].file == two);
  CHECK(found->passed[0].reason == "the same as " + one);
}

TEST_CASE("jobs that fail with the same words have failed both", "[ingest][files]") {
  const LogFolder folder;
  const std::string killed =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
  auto half = log_text();
  half.resize(half.rfind('\n', half.size() / 2) + 1);
  folder.write("job-1.out", half);
  folder.write("job-2.out", half + "\n");
  folder.write("job-1.err", killed);
  folder.write("job-2.err", killed);
  const auto found = ingest({folder.path().string()}, shipped());
  REQUIRE(found.has_value());
  REQUIRE(found->runs.size() == 2);
  for (const auto& run : found->runs) CHECK(run.failure == record::Failure::gpu_memory);
}

TEST_CASE("a few bytes that could begin a compressed file are text", "[ingest][files]") {
  const LogFolder folder;
  const auto file = folder.write("x.log", "BZh").string();
  CHECK(ingest({file}, shipped()).has_value());
}

TEST_CASE("a log whose steps nobody can read is not claimed", "[ingest][files]") {
  const auto found = read_text(
      "  \"hidden_size\": 2048,\n  \"num_hidden_layers\": 16,\n"
      "frob 1 took 2 jiffies\nfrob 2 took 2 jiffies\n");
  CHECK(found.runs.empty());
  REQUIRE(found.passed.size() == 1);
  CHECK(found.passed[0].reason == "lines of huggingface, but no step that a pattern reads");
}

TEST_CASE("settings that any framework may print name none", "[ingest][files]") {
  const auto found = read_text(
      "model:\n  vocab_size: 32000\n  d_model: 2048\nfrob 1 took 2 jiffies\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n");
  REQUIRE(found.runs.size() == 1);
  CHECK(found.runs[0].failure == record::Failure::gpu_memory);
  CHECK(found.runs[0].field_text("framework").empty());
  CHECK(found.runs[0].whole("vocab") == 32000);
}

TEST_CASE("what a person says of a log counts before anything is computed", "[ingest][files]") {
  const LogFolder folder;
  std::string text = "***** Running training *****\n";
  for (int step = 1; step <= 6; ++step)
    text += "[timer.py:199:stop] epoch=0/micro_step=1/global_step=" + std::to_string(step) +
            ", RunningAvgSamplesPerSec=64.0, CurrSamplesPerSec=64.0, MemAllocated=1.0GB\n";
  const auto log = folder.write("job.out", text).string();
  const auto before = ingest({log}, shipped());
  CHECK_FALSE(before->runs.at(0).measured.step_seconds.has_value());
  const auto found = ingest({log}, shipped(), {.set = {{"gbs", "128"}, {"seq", "1024"}}});
  const auto& measured = found->runs.at(0).measured;
  REQUIRE(measured.step_seconds.has_value());
  CHECK(measured.tokens_per_second == 65536);
  CHECK(measured.tokens_per_second.has_value());
}

TEST_CASE("what lies beside a log fills in what it does not say", "[ingest][files]") {
  const LogFolder folder;
  const auto log = folder.write("job.out", log_text()).string();
  IngestOptions options;
  options.beside = [](const fs::path&) { return KnownFacts{{"gbs", "9"}, {"seq", "2048"}}; };
  const auto found = ingest({log}, shipped(), options);
  CHECK(found->runs.at(0).whole("global_batch") == 64);  // from its steps
  CHECK(found->runs.at(0).whole("seq") == 2048);
}

}  // namespace orch::ingest
