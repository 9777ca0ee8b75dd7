#include "core/show/tables/status.h"

#include <nlohmann/json.hpp>
#include <tuple>

#include "core/base/csv.h"
#include "core/show/tables/status_words.h"
#include "tests/show/tables/status_support.h"
#include "tests/test.h"
#include "tests/text.h"

using namespace orch;
using namespace orch::tables;
using namespace orch::tables::test;
using record::Failure;
using record::RunState;

namespace {

const double kNan = std::nan("");

Standings mixed() {
  auto failed = run_status("tiny-dp4-0003", RunState::failed, "CUDA out of memory");
  failed.record.failure = Failure::gpu_memory;
  failed.job = "17_3";
  auto standings =
      standings_of({measured("tiny-dp1-0001", RunState::finished, 500),
                    measured("tiny-dp2-0002", RunState::running, 120), failed,
                    run_status("tiny-dp8-0004", RunState::pending, "waiting for resources"),
                    run_status("tiny-dp9-0005", RunState::planned)});
  standings.used_gpu_hours = 3;
  standings.budget_gpu_hours = 10;
  standings.committed_gpu_hours = 2.5;
  return standings;
}

}  // namespace

TEST_CASE("the table tells what needs a look first, and measured beside estimated",
          "[report][status]") {
  CHECK(status_table(mixed(), {}, 0) ==
        "runs: tiny-…\n"
        "run       state      job  elapsed     step   loss  tokens/s  left  s/step  "
        "       estimated  reason\n"
        "dp4-0003  failed    17_3                                                   "
        "0.50 (0.40–0.60)  gpu memory: CUDA out of memory\n"
        "dp2-0002  running           12:34  120/500  3.142    28,935  6:20    1.00  "
        "0.50 (0.40–0.60)\n"
        "dp8-0004  pending                                                          "
        "0.50 (0.40–0.60)  waiting for resources\n"
        "dp1-0001  finished          12:34  500/500  3.142    28,935          1.00  "
        "0.50 (0.40–0.60)\n"
        "dp9-0005  planned                                                          "
        "0.50 (0.40–0.60)\n");
  CHECK(status_summary(mixed()) ==
        "sweep: 1 finished, 1 running, 1 pending, 1 failed, 1 planned; 3.00 of 10 GPU-hours used "
        "(30 %), 2.50 more expected\n");
}

TEST_CASE("a table of the top says how many there are more", "[report][status]") {
  std::vector<RunStatus> many;
  for (int i = 0; i < 5000; ++i)
    many.push_back(run_status("r-" + std::to_string(i), RunState::finished));
  many[4321].take(record::StateVerdict{RunState::failed, Failure::bad_exit, "exit code 3"});
  const auto lines = lines_of(status_table(standings_of(many), {}, 10));
  REQUIRE(lines.size() == 13);  // the common prefix, the header, ten rows, and the rest
  CHECK(lines[2].starts_with("4321"));
  CHECK(lines.back() == "… and 4,990 more (--top 0 shows all)");
  CHECK(lines_of(status_table(standings_of(many), {}, 0)).size() == 5002);
}

TEST_CASE("without runs there is nothing to show", "[report][status]") {
  CHECK(status_table(standings_of({}), {}, 0) == "no runs\n");
  CHECK(status_table(standings_of({}), {.markdown = true}, 0) == "no runs\n");
  CHECK(measured_table(standings_of({}), {}).empty());
  CHECK(lines_of(status_csv({standings_of({})})).size() == 1);
  CHECK(nlohmann::json::parse(status_json({standings_of({})}))["runs"].empty());
}

TEST_CASE("a narrow screen loses columns, not lines: ids, states and reasons stay",
          "[report][status]") {
  for (const std::size_t width : {200, 120, 100, 80, 60, 40}) {
    const auto table = status_table(mixed(), {width, false}, 0);
    CHECK(widest(table) <= width);
    for (const auto* part : {"dp4-0003", "failed", "gpu memory: CUDA out of memory", "dp8-0004"})
      CHECK(table.find(part) != std::string::npos);
    const auto measured = measured_table(mixed(), {width, false});
    CHECK(widest(measured) <= width);
    CHECK(measured.find("-50 %") != std::string::npos);  // 0.5 s for what took 1 s
  }
  CHECK(status_table(mixed(), {80, false}, 0).find("120/500") != std::string::npos);
}

TEST_CASE("80 columns have the step time, however long the ids are", "[report][status]") {
  auto standings = standings_of({measured("gpt-1.3b-megatron-tp8-pp4-dp2-mb4-gb2048-zero1-0a1b2c3d",
                                          RunState::running, 120)});
  const auto table = status_table(standings, {80, false}, 0);
  CHECK(widest(table) <= 80);
  CHECK_THAT(lines_of(table).at(0), ContainsSubstring("s/step"));
  CHECK_THAT(lines_of(table).at(1), ContainsSubstring("  1.00"));
}

TEST_CASE("a narrow screen has no empty line below what has no reason", "[report][status]") {
  for (const auto& line : lines_of(status_table(mixed(), {40, false}, 0)))
    CHECK_FALSE(trim(line).empty());
}

TEST_CASE("measured beside estimated, fastest first", "[report][status]") {
  auto fast = measured("x-fast", RunState::finished, 500);
  fast.record.set("strategy", std::string("ddp"));
  fast.variant = "dtype=fp32 compression=powersgd";
  fast.record.set("cluster", std::string("local"));
  fast.record.estimated->tokens_per_second = 50000;
  fast.record.estimated->peak_memory = 16.0 * (1 << 30);
  fast.record.estimated->communicated = 2.5e6;
  auto& measured_fast = fast.record.measured;
  *measured_fast.tokens_per_second *= 2;
  measured_fast.peak_memory_bytes = 12.0 * (1 << 30);
  measured_fast.stated["communicated_bytes"] = 2e6;
  measured_fast.stated["evaluation_loss"] = 3.5;
  auto slow = measured("x-slow", RunState::finished, 500);
  slow.record.set("strategy", std::string("ddp"));
  slow.variant = "dtype=fp32";
  slow.record.set("accumulate", std::int64_t{4});
  slow.record.set("cluster", std::string("local"));
  const auto table =
      measured_table(standings_of({slow, fast, run_status("x-none", RunState::pending)}), {});
  CHECK(
      table ==
      "measured on local; est.: as estimated\n"
      "strategy                  ranks   loss  eval loss  step s  est.  error  tokens/s    est.   "
      "GiB  est.  error  MB/step  est.  days/100B  est.  GPU-hours  est.  state     run\n"
      "ddp compression=powersgd      4  3.142      3.500    1.00  0.50  -50 %    57,870  50,000  "
      "12.0  16.0  +33 %     2.00  2.50       20.0  20.0       1.50  2.00  finished  fast\n"
      "ddp accumulate=4              4  3.142               1.00  0.50  -50 %    28,935            "
      "      "
      "                               40.0  20.0       1.50  2.00  finished  slow\n");
}

TEST_CASE("the strategies' best are put into words, where they are alike", "[report][status]") {
  auto fast = measured("x-fast", RunState::finished, 500),
       slow = measured("x-slow", RunState::finished, 500),
       slower = measured("x-slower", RunState::finished, 500);
  fast.record.set("strategy", std::string("ddp"));
  slow.record.set("strategy", std::string("fsdp"));
  slower.record.set("strategy", std::string("fsdp"));
  *fast.record.measured.tokens_per_second *= 1.5;
  *slower.record.measured.tokens_per_second /= 2;
  for (auto* run : {&fast, &slow, &slower}) run->record.estimated->step_high = 2;
  const auto said = measured_answer(standings_of({slower, slow, fast}));
  CHECK(said.text ==
        "Measured: ddp is fastest: 43,403 tokens/s. At their best the others take: fsdp 1.50x.");
  CHECK(said.strategies == std::vector<std::string>{"ddp", "fsdp"});
  CHECK(measured_answer(standings_of({slower, slow})).text.empty());  // one strategy
  auto near = slow;
  *near.record.measured.tokens_per_second = *fast.record.measured.tokens_per_second / 1.04;
  CHECK(measured_answer(standings_of({near, fast})).text ==
        "Measured: ddp is fastest: 43,403 tokens/s. At their best the others take: fsdp 1.04x. The "
        "difference from fsdp is within that of repeats.");
  fast.record.measured.step_seconds = near.record.measured.step_seconds =
      statistics::Interval{1, 0.5, 2, 20};
  *near.record.measured.tokens_per_second /= 1.3;
  CHECK(orch::has(measured_answer(standings_of({near, fast})).text,
                  "fsdp 1.35x. The difference from fsdp"));
  for (auto* run : {&fast, &near}) run->record.estimated->step_high = 0.6;
  CHECK(orch::has(
      measured_answer(standings_of({near, fast})).text,
      "2 of 2 step times are outside the 90 % range of their estimates: the machine was busy"));
  fast.record.measured.stated["others_share"] = 0.03;
  CHECK(measured_answer(standings_of({near, fast}))
            .text.ends_with("estimates: the machine was idle, but is not what it is taken for; "
                            "orch calibrate --this-machine."));
  near.record.measured.stated["others_share"] = 0.74;
  CHECK(measured_answer(standings_of({near, fast}))
            .text.ends_with("estimates: the machine was busy; run them again when it is idle."));
  slow.record.set("gpus", std::int64_t{64});
  CHECK(measured_answer(standings_of({slow, fast})).text.empty());
}

TEST_CASE("a machine that other programs used is told, one of which nobody knows is not",
          "[report][status]") {
  auto idle = measured("a", RunState::finished, 500), busy = idle, unknown = idle;
  idle.record.measured.stated["others_share"] = 0.09;
  busy.record.measured.stated["others_share"] = 0.4;
  auto busier = busy;
  busier.record.measured.stated["others_share"] = 0.741;
  CHECK_FALSE(orch::has(status_summary(standings_of({idle, unknown})), "busy"));
  CHECK(status_summary(standings_of({idle, busy, busier, unknown}))
            .ends_with("the machine was busy: other programs used up to 74 % of it while 2 runs "
                       "trained; measure again "
                       "when it is idle\n"));
  // Not a column: it is not a result.
  CHECK(status_table(standings_of({busy}), {}, 0) == status_table(standings_of({idle}), {}, 0));
}

TEST_CASE("small amounts are in units that show them", "[report][status]") {
  auto run = measured("a", RunState::finished, 5);
  run.record.measured.peak_memory_bytes = 37.0 * 1024 * 1024;
  run.record.estimated->peak_memory = 30.0 * 1024 * 1024;
  run.record.measured.stated["communicated_bytes"] = 4000;
  const auto head = lines_of(measured_table(standings_of({run}), {}))[1];
  CHECK(head.find("MiB") != std::string::npos);
  CHECK(head.find("kB/step") != std::string::npos);
  CHECK(head.find("GiB") == std::string::npos);
}

TEST_CASE("one run alone shows all its settings, several what tells them apart",
          "[report][status]") {
  auto a = run_status("a", RunState::finished), b = a;
  for (auto* run : {&a, &b}) run->record.set("strategy", std::string("ddp"));
  a.variant = "dtype=fp32 optimizer=adafactor";
  b.variant = "dtype=fp32";
  CHECK(strategy_text(a, shared_settings({&a})) == "ddp dtype=fp32 optimizer=adafactor");
  CHECK(strategy_text(a, shared_settings({&a, &b})) == "ddp optimizer=adafactor");
  CHECK(strategy_text(b, shared_settings({&a, &b})) == "ddp");
}

TEST_CASE("what nobody estimated or measured is left empty, not zero", "[report][status]") {
  auto run = measured("a", RunState::finished, 5);
  run.record.estimated->step_seconds = run.record.estimated->step_low =
      run.record.estimated->step_high = 0;
  run.record.estimated->gpu_hours = run.record.estimated->days_per_100b_tokens = 0;
  run.record.measured.steps_planned = 0;
  const auto table = measured_table(standings_of({run}), {});
  CHECK(lines_of(table)[1].find("est.") == std::string::npos);
  CHECK(table.find("error  ") == std::string::npos);
  CHECK(table.find("inf") == std::string::npos);
  CHECK(table.find("nan") == std::string::npos);
  const auto csv = parse_csv(status_csv({standings_of({run})}), "status.csv");
  REQUIRE(csv);
  const auto& cells = csv->records.front().cells;
  const auto cell = [&](const char* name) {
    return cells.at(static_cast<std::size_t>(csv->column(name)));
  };
  CHECK(cell("gpu_hours") == "1.5");
  CHECK(cell("last_loss") == "3.14159");
  for (const auto* name : {"estimated_gpu_hours", "estimated_days_with_failures", "estimated_cost",
                           "evaluation_loss", "estimated_mfu"})
    CHECK(cell(name).empty());
}

TEST_CASE("an estimate stands only beside what was measured", "[report][status]") {
  auto run = measured("a", RunState::finished, 5);
  run.record.measured.tokens_per_second.reset();  // too few steps for a rate
  const auto table = measured_table(standings_of({run}), {});
  CHECK(table.find("days/100B") == std::string::npos);
  CHECK(table.find("20.0") == std::string::npos);
}

TEST_CASE("a loss that is not a number is told, and is null in JSON", "[report][status]") {
  auto run = measured("a", RunState::running, 7);
  for (const double loss : {kNan, std::numeric_limits<double>::infinity()}) {
    run.record.measured.last_loss = loss;
    CHECK(status_table(standings_of({run}), {}, 0).find("not a number") != std::string::npos);
    const auto json = nlohmann::json::parse(status_json({standings_of({run})}));
    CHECK(json["runs"][0]["last_loss"].is_null());
    CHECK(status_csv({standings_of({run})}).find("nan") == std::string::npos);
  }
}

TEST_CASE("numbers that cannot be do no harm", "[report][status]") {
  auto run = measured("a", RunState::running, 7);
  run.elapsed_seconds = kNan;
  run.record.estimated->step_seconds = kNan;
  run.record.estimated->gpu_hours = std::numeric_limits<double>::infinity();
  run.record.measured.step_seconds =
      statistics::Interval{std::numeric_limits<double>::infinity(), {}, {}, 1};
  run.record.measured.steps = 1'000'000;  // of 500
  run.record.measured.gpu_hours = kNan;
  auto standings = standings_of({run});
  standings.used_gpu_hours = kNan;
  CHECK_FALSE(status_table(standings, {}, 0).empty());
  CHECK_FALSE(measured_table(standings, {}).empty());
  CHECK_FALSE(watch_screen(standings, {80, false}, 24).empty());
  const auto json = nlohmann::json::parse(status_json({standings}));
  CHECK(json["runs"][0]["elapsed_seconds"].is_null());
  CHECK(json["runs"][0]["estimated_gpu_hours"].is_null());
  CHECK(json["experiments"][0]["used_gpu_hours"].is_null());
}

TEST_CASE("hostile ids, jobs and reasons move no cursor and break no line", "[report][status]") {
  auto run = run_status(kHostile, RunState::failed, kHostile);
  run.record.failure = Failure::bad_exit;
  run.job = kHostile;
  auto shown = measured(kHostile + "-2", RunState::running, 3);
  auto standings = standings_of({run, shown});
  standings.experiment = kHostile;
  CHECK(is_harmless(status_table(standings, {}, 0)));
  CHECK(is_harmless(status_table(standings, {40, false}, 0)));
  CHECK(is_harmless(status_table(standings, {.markdown = true}, 0)));
  CHECK(is_harmless(status_summary(standings)));
  CHECK(is_harmless(measured_table(standings, {})));
  CHECK(is_harmless(status_csv({standings})));
  CHECK(lines_of(status_csv({standings})).size() == 3);
  CHECK(is_harmless(watch_screen(standings, {80, false}, 24)));
  for (const auto& line : changes({}, standings)) CHECK(is_harmless(line));
  CHECK(status_json({standings}).find('\033') == std::string::npos);
  CHECK(nlohmann::json::parse(status_json({standings}))["runs"].size() == 2);
}

TEST_CASE("Markdown has a cell for each, whatever is in it", "[report][status]") {
  auto run = run_status("a", RunState::failed, "left | right");
  run.record.failure = Failure::bad_exit;
  CHECK(status_table(standings_of({run}), {.markdown = true}, 0) ==
        "| run | state | estimated | reason |\n| --- | --- | ---: | --- |\n"
        "| a | failed | 0.50 (0.40–0.60) | bad exit: left \\| right |\n");
}

TEST_CASE("CSV has one head for all experiments, and quotes", "[report][status]") {
  auto other = standings_of({measured("b", RunState::running, 3)});
  other.experiment = "other";
  other.runs[0].record.estimated->peak_memory = 5;
  other.runs[0].record.estimated->communicated = 7;
  other.runs[0].record.estimated->bubble = 0.25;
  other.runs[0].record.measured.stated["bubble"] = 0.125;
  other.runs[0].record.measured.stated["evaluation_loss"] = 3.5;
  auto run = run_status("a", RunState::failed, R"(said "no", and left)");
  run.record.failure = Failure::bad_exit;
  run.record.measured.stated["others_share"] = 0.25;
  const auto csv = parse_csv(status_csv({standings_of({run}), other}), "status.csv");
  REQUIRE(csv);
  const auto cell = [&](std::size_t row, const char* name) {
    return csv->records.at(row).cells.at(static_cast<std::size_t>(csv->column(name)));
  };
  REQUIRE(csv->records.size() == 2);
  const std::vector<std::tuple<const char*, const char*, const char*>> wanted{
      {"experiment", "sweep", "other"},
      {"id", "a", "b"},
      {"state", "failed", "running"},
      {"failure", "bad_exit", "none"},
      {"reason", "said \"no\", and left", ""},
      {"elapsed_seconds", "0", "754"},
      {"step", "", "3"},
      {"steps", "500", "500"},
      {"estimated_peak_memory_bytes", "", "5"},
      {"step_seconds", "", "1"},
      {"estimated_step_seconds", "0.5", "0.5"},
      {"estimated_step_low", "0.4", "0.4"},
      {"tokens_per_second", "", "28935.18519"},
      {"gpu_hours", "0", "1.5"},
      {"last_loss", "", "3.14159"},
      {"evaluation_loss", "", "3.5"},
      {"estimated_communicated_bytes", "0", "7"},
      {"bubble", "", "0.125"},
      {"estimated_bubble", "0", "0.25"},
      {"others_share", "0.25", ""}};
  for (const auto& [name, first, second] : wanted) {
    INFO(name);
    CHECK(cell(0, name) == first);
    CHECK(cell(1, name) == second);
  }
}

TEST_CASE("JSON is one document for all experiments", "[report][status]") {
  auto other = standings_of({measured("b", RunState::running, 3)});
  other.experiment = "other";
  other.silent_seconds = 12;
  other.runs[0].record.estimated->communicated = 8192;
  other.runs[0].record.measured.stated["communicated_bytes"] = 4096;
  const auto json = nlohmann::json::parse(status_json({mixed(), other}));
  CHECK(json["schema"] == 1);
  REQUIRE(json["experiments"].size() == 2);
  CHECK(json["experiments"][0]["name"] == "sweep");
  CHECK(json["experiments"][0]["budget_gpu_hours"] == 10);
  CHECK(json["experiments"][0]["scheduler_silent_seconds"].is_null());
  CHECK(json["experiments"][1]["budget_gpu_hours"].is_null());
  CHECK(json["experiments"][1]["scheduler_silent_seconds"] == 12);
  REQUIRE(json["runs"].size() == 6);
  const auto& failed = json["runs"][2];
  CHECK(failed["experiment"] == "sweep");
  CHECK(failed["state"] == "failed");
  CHECK(failed["failure"] == "gpu_memory");
  CHECK(failed["reason"] == "CUDA out of memory");
  CHECK(failed["job"] == "17_3");
  CHECK(failed["step_seconds"].is_null());
  const auto& running = json["runs"][5];
  CHECK(running["communicated_bytes"] == 4096);
  CHECK(running["learning_rate"].is_null());
  CHECK(running["estimated_communicated_bytes"] == 8192);
  CHECK(running["experiment"] == "other");
  CHECK(running["step"] == 3);
  CHECK(running["step_seconds"] == 1);
  CHECK(running["estimated_step_seconds"] == 0.5);
  CHECK(running["days_per_100b_tokens"].get<double>() > 39.99);
  CHECK(running["days_per_100b_tokens"].get<double>() < 40.01);
}

TEST_CASE("changes are told once, with the reason and what was measured", "[report][status]") {
  const auto before =
      standings_of({run_status("a", RunState::pending), run_status("b", RunState::pending),
                    run_status("c", RunState::running)});
  auto hung = run_status("c", RunState::running, "no step for 20 min");
  hung.record.failure = Failure::hang;
  const auto now =
      standings_of({run_status("a", RunState::pending), measured("b", RunState::finished, 500),
                    hung, run_status("d", RunState::planned)});
  CHECK(changes(before, now) ==
        std::vector<std::string>{"b: finished, 1.00 s/step (0.50 (0.40–0.60) estimated)",
                                 "c: hangs: no step for 20 min"});
  CHECK(changes(now, now).empty());
}

TEST_CASE("a scheduler that is silent is told", "[report][status]") {
  auto standings = mixed();
  standings.silent_seconds = 90;
  CHECK(status_summary(standings).find("has not answered for 90") != std::string::npos);
}
