#include "core/show/tables/records.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/text.h"

namespace orch::tables {
namespace {

record::Record record(const std::string& id, double seconds) {
  record::Record out;
  out.id = id;
  out.set("strategy", std::string("ddp"));
  out.set("gpus", std::int64_t{8});
  out.set("params", 7.07e9);
  out.measured.step_seconds = statistics::Interval{seconds, seconds - 1, seconds + 1, 20};
  out.measured.window.rule = "step 1 dropped";
  out.estimated.emplace();
  out.estimated->step_seconds = seconds * 1.1;
  out.state = record::RunState::finished;
  return out;
}

std::string records_table(const std::vector<record::Record>& records, const show::Screen& screen,
                          std::size_t top = 0) {
  return show::text(records_answer(records, top), screen);
}
std::string records_csv(const std::vector<record::Record>& records) {
  return show::text_as("csv", records_answer(records), {});
}

TEST_CASE("the estimate stands beside what was measured, with the error") {
  const auto text = records_table({record("a", 100)}, {});
  CHECK(has(text, "99.0–101"));
  CHECK(has(text, "110"));
  CHECK(has(text, "+10 %"));
  CHECK(has(text, "7.07B"));
  CHECK(has(text, "a: step 1 dropped"));
}

TEST_CASE("a record without a time is shown with what it has") {
  record::Record oom;
  oom.id = "b";
  oom.state = record::RunState::failed;
  oom.failure = record::Failure::gpu_memory;
  oom.reason = "CUDA out of memory";
  oom.not_estimated = "site: names none";
  const auto text = records_table({oom}, {});
  CHECK(has(text, "failed: gpu_memory"));
  CHECK(has(text, "b: CUDA out of memory"));
  CHECK(has(text, "b: site: names none"));
}

TEST_CASE("what is doubtful is marked, with the reason below") {
  auto odd = record("c", 3);
  odd.doubts = {{"topology", "gpus", "1 x 4 x 8 = 32 ranks on 16 GPUs"}};
  const auto text = records_table({odd, record("d", 3)}, {});
  CHECK(has(text, "Doubtful"));
  CHECK(has(text, "c: 1 x 4 x 8 = 32 ranks on 16 GPUs"));
}

TEST_CASE("no line of a table is wider than a narrow screen") {
  std::vector<record::Record> all{record("a", 100), record("b", 200)};
  const auto text = records_table(all, {.width = 60});
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin);
    CHECK(end - begin <= 70);  // in bytes, and a dash has three
    begin = end + 1;
  }
}

TEST_CASE("hostile texts move no cursor, end no cell and are no HTML") {
  auto bad = record("<script>|\x1b[2J", 1);
  bad.reason = "=cmd()";
  CHECK_FALSE(has(records_table({bad}, {}), "\x1b"));
  const auto markdown = records_table({bad}, {.markdown = true});
  CHECK_FALSE(has(markdown, "<script>"));
  CHECK(has(markdown, "&lt;script>\\|"));
  const auto csv = records_csv({bad});
  CHECK_FALSE(has(csv, "\x1b"));
  CHECK(has(csv, "'=cmd()"));
}

TEST_CASE("top shows the first ones and counts the rest") {
  std::vector<record::Record> all(30, record("a", 1));
  CHECK(has(records_table(all, {}, 10), "… and 20 more (--top 0 shows all)"));
}

TEST_CASE("TFLOPs name their convention") {
  auto two = record("a", 1);
  two.measured.tflops = {{48.7, "simple8", false}, {50.1, "megatron", true}};
  CHECK(has(records_table({two}, {}), "48.7 simple8, 50.1 megatron"));
}

}  // namespace
}  // namespace orch::tables
