#include "core/show/tables/status_words.h"
#include "tests/show/tables/status_support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::tables;
using namespace orch::tables::test;
using record::Failure;
using record::RunState;

namespace {

Standings many(std::size_t count) {
  std::vector<RunStatus> runs;
  for (std::size_t i = 0; i < count; ++i)
    runs.push_back(measured("gpt-1.3b-megatron-tp8-pp4-dp2-mb4-gb2048-zero1-" + std::to_string(i),
                            i % 2 ? RunState::running : RunState::finished, 250));
  return standings_of(std::move(runs));
}

}  // namespace

TEST_CASE("the live picture has a bar for all and one for each run", "[report][watch]") {
  auto standings = standings_of({measured("x-half", RunState::running, 250),
                                 measured("x-done", RunState::finished, 500),
                                 run_status("x-wait", RunState::pending, "waiting for resources"),
                                 run_status("x-not", RunState::planned)});
  standings.used_gpu_hours = 3;
  CHECK(watch_screen(standings, {120, false}, 24) ==
        "sweep: 1 finished, 1 running, 1 pending, 1 planned; 3.00 GPU-hours used\n"
        "████████████████████···················· 50 %\n"
        "half       running   ██████······ 250/500  4:10 left  28,935 tok/s  loss 3.142  "
        "×2.00 of estimate\n"
        "done       finished  ████████████ 500/500  28,935 tok/s  loss 3.142  ×2.00 of estimate\n"
        "wait       pending   ············ waiting for resources\n");
}

TEST_CASE("no line of the picture is longer than the screen", "[report][watch]") {
  auto standings = many(30);
  standings.runs[3].take(
      record::StateVerdict{RunState::failed, Failure::bad_exit, std::string(300, 'x')});
  standings.silent_seconds = 100;
  standings.budget_gpu_hours = 1e6;
  for (const std::size_t width : {20, 30, 39, 40, 60, 80, 99, 101, 200, 500})
    CHECK(widest(watch_screen(standings, {width, false}, 24)) <= width);
}

TEST_CASE("a narrow picture has whole numbers, and of what failed the reason", "[report][watch]") {
  auto standings = many(4);
  standings.runs[2].take(
      record::StateVerdict{RunState::failed, Failure::gpu_memory, "tried 2.5 GiB more"});
  const auto line_of = [&](std::size_t width, const char* state) {
    for (const auto& line : lines_of(watch_screen(standings, {width, false}, 24)))
      if (line.find(std::string(" ") + state + " ") != std::string::npos) return line;
    return std::string();
  };
  for (const std::size_t width : {79, 119, 199}) {
    CHECK_THAT(line_of(width, "running"), ContainsSubstring("250/500  4:10 left"));
    CHECK(line_of(width, "running").find("…") == std::string::npos);
    CHECK_THAT(line_of(width, "failed"), ContainsSubstring("gpu memory: tried 2.5 GiB more"));
  }
  CHECK_THAT(line_of(119, "running"), ContainsSubstring("28,935 tok/s"));
  CHECK_THAT(line_of(199, "running"), ContainsSubstring("×2.00 of estimate"));
}

TEST_CASE("the picture leaves a line for the cursor", "[report][watch]") {
  for (const std::size_t count : {0, 1, 5, 20, 21, 22, 500})
    for (const std::size_t lines : {4, 5, 10, 24, 50})
      for (const double silent : {0.0, 10.0}) {
        auto standings = many(count);
        standings.silent_seconds = silent;
        const auto picture = lines_of(watch_screen(standings, {80, false}, lines));
        CHECK(picture.size() < lines + (lines == 4 && silent > 0 ? 1 : 0));
        // Runs that are not shown are counted.
        const bool all = picture.size() >= 2 + count;
        if (!all && lines > 5) CHECK(picture.back().starts_with("… and "));
      }
}

TEST_CASE("bars are whole at their ends", "[report][watch]") {
  const auto bar_at = [](std::int64_t step) {
    const auto picture = lines_of(
        watch_screen(standings_of({measured("a", RunState::running, step)}), {80, false}, 24));
    return picture.at(1);
  };
  std::string empty, full;
  for (int i = 0; i < 40; ++i) {
    empty += "·";
    full += "█";
  }
  CHECK(bar_at(0) == empty + " 0 %");
  CHECK(bar_at(500) == full + " 100 %");
  CHECK(bar_at(600) == full + " 100 %");  // more steps than requested
  CHECK(bar_at(1).starts_with("·"));
  CHECK(bar_at(2).starts_with("▏·"));
  for (std::int64_t step = 0; step <= 500; ++step)
    CHECK(display_width(bar_at(step).substr(0, bar_at(step).find(' '))) == 40);
}

TEST_CASE("colours are only for screens that want them", "[report][watch]") {
  const auto standings = many(3);
  CHECK(watch_screen(standings, {80, false}, 24).find('\033') == std::string::npos);
  CHECK(watch_screen(standings, {80, true}, 24).find("\033[36mrunning") != std::string::npos);
}

TEST_CASE("ids are told without what all of them begin with", "[report][watch]") {
  const auto prefix = [](std::vector<std::string> ids) {
    std::vector<RunStatus> runs;
    for (const auto& id : ids) runs.push_back(run_status(id, RunState::planned));
    return common_prefix(runs);
  };
  CHECK(prefix({}) == 0);
  CHECK(prefix({"a-b-c"}) == 0);
  CHECK(prefix({"a-b-1", "a-b-2"}) == 4);
  CHECK(prefix({"a-bx-1", "a-by-2"}) == 2);  // whole words only
  CHECK(prefix({"a-b", "a-b-c"}) == 2);
  CHECK(prefix({"a-b-c", "a-b"}) == 2);
  CHECK(prefix({"ab", "cd"}) == 0);
  CHECK(prefix({"", "a"}) == 0);
  CHECK(prefix({"-a", "-b"}) == 1);
  CHECK(prefix({"gr\xc3\xb6\xc3\x9f"
                "e-1",
                "gr\xc3\xb6\xc3\x9f"
                "er-2"}) == 0);
}

TEST_CASE("durations are written as SLURM does", "[report][watch]") {
  CHECK(duration_text(0) == "0:00");
  CHECK(duration_text(59.9) == "0:59");
  CHECK(duration_text(3600) == "1:00:00");
  CHECK(duration_text(86400 + 3661) == "1-01:01:01");
  CHECK(duration_text(-1).empty());
  CHECK(duration_text(std::nan("")).empty());
  CHECK(duration_text(1e300).empty());
}

TEST_CASE("a failure without a kind tells only its reason", "[report][watch]") {
  CHECK(reason_text(run_status("a", RunState::failed, "no word of its end")) ==
        "no word of its end");
  CHECK(reason_text(
            run_status("a", RunState::failed, "out of memory\n  use a smaller micro_batch")) ==
        "out of memory; use a smaller micro_batch");
  auto due = run_status("a", RunState::failed, "a node failed");
  due.record.failure = Failure::node;
  due.due = true;
  CHECK(reason_text(due) == "node: a node failed; to be submitted again");
  auto planned = run_status("a", RunState::planned);
  planned.due = true;
  CHECK(reason_text(planned) == "to be submitted");
}
