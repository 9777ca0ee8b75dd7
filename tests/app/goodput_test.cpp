#include "core/base/date.h"
#include "core/run/store/run_folder.h"
#include "tests/app/desk.h"

using namespace orch;
using app::Exit;

namespace {

// One run with attempts and events made by hand; times are seconds of a day.
class GoodputBench : public Desk {
 public:
  GoodputBench() {
    app::RunArguments run;
    run.plan.options.runs = runs();
    run.plan.source.file = file("one.lua", R"(return experiment { name = "one", model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 }, batch = { accumulate = 1 }, tokens = 1e9,
  training = { checkpoint_every = 2 }, strategies = { ddp { flash_attention = false } } })");
    REQUIRE((*this)(app::run_command, run).exit == Exit::ok);
    folder = fs::path("runs/one") / store::run_ids(root() / "runs/one").front();
  }

  void attempt(int number, const std::string& state, double start, double end,
               const std::string& events) const {
    const auto place = folder / "attempts" / std::to_string(number);
    file(place / "status.json",
         fmt::format(R"({{"version": 1, "state": "{}", "message": "", "job_id": "7",
           "restart_count": 0, "phase": 1, "phases": 1, "start": "{}", "end": "{}", "signal": null,
           "exit_code": null, "nodes": ["n1"], "bad_nodes": []}})",
                     state, format_moment(kDay + start), format_moment(kDay + end)));
    file(place / "events.jsonl", events);
  }
  static std::string line(const char* event, double time, int step) {
    return fmt::format(
        R"({{"event":"{}","time":{},"step":{},"loss":3,"step_seconds":10,"tokens":{}}})"
        "\n",
        event, kDay + time, step, step * 8192);
  }

  // 20 s to start, steps 1 to 4 with 5 s of saving after the second; the fourth is made again.
  void first() const {
    attempt(1, "failed", 1000, 1100,
            line("step", 1030, 1) + line("step", 1040, 2) + line("step", 1055, 3) +
                line("checkpoint", 1060, 2) + line("step", 1065, 4));
  }
  void second() const {
    attempt(2, "finished", 1160, 1200, line("step", 1190, 4) + line("step", 1200, 5));
  }

  CommandOutput report(const std::string& format) const {
    app::ReportArguments asked;
    asked.records.words = {"one"};
    asked.records.runs = runs();
    asked.records.common.format = format;
    return (*this)(app::report_command, asked);
  }
  CommandOutput explain(const std::string& format) const {
    app::ExplainArguments asked;
    asked.run.file = root() / folder;
    asked.runs = runs();
    asked.common.format = format;
    return (*this)(app::explain_command, asked);
  }

  static constexpr double kDay = 1767225600;  // 2026-01-01T00:00:00Z
  fs::path folder;
};

}  // namespace

TEST_CASE("a run with two attempts tells how much of its time counted", "[app][goodput]") {
  const GoodputBench bench;
  bench.first();
  bench.second();
  // Of 200 s: computing of steps 1, 2, 3, 4 and 5 (50 s), of step 4 before (10), saving (5), the
  // queue (60); the rest is starting and ending (20 + 35 + 20).
  const auto reported = bench.report("json");
  REQUIRE(reported.exit == Exit::ok);
  const auto answer = reported.json();
  INFO(answer.dump());
  const auto& run = answer["records"][0];
  CHECK(run["measured"]["goodput"] == 0.25);
  CHECK(bench.report("md").has(
      "25.0 % of 200.00 s since the first start; lost: steps that were made again 5.0 %, starting, "
      "loading and ending 37.5 %, saving 2.5 %, waiting between attempts 30.0 %; estimated"));
  // Quantities of a record: columns of CSV, the second one estimated.
  const auto csv = bench.report("csv").out;
  INFO(csv);
  CHECK(csv.find(",goodput,estimated_goodput,") != std::string::npos);
  CHECK(csv.find(",0.25,") != std::string::npos);
  const auto explained = bench.explain("json").json();
  const auto& spent = explained["measured_lost"];
  REQUIRE(spent.size() == 6);
  double sum = 0;
  for (const auto& item : spent)
    if (item["kind"] != "sum") sum += item["seconds"].get<double>();
  CHECK(sum == 200);
  CHECK(spent[0]["kind"] == "computing");
  CHECK(spent[0]["share"] == 0.25);
  CHECK(spent[0]["estimated_share"].get<double>() > 0);
  CHECK(spent[1]["kind"] == "repeated");
  CHECK(spent[1]["seconds"] == 10);
  CHECK(bench.explain("table").has("Measured: time since the first start"));
}

TEST_CASE("a run with one attempt and no known loss says nothing of it", "[app][goodput]") {
  const GoodputBench bench;
  bench.second();
  const auto reported = bench.report("json");
  CHECK_FALSE(reported.json()["records"][0]["measured"].contains("goodput"));
  CHECK_FALSE(bench.report("md").has("since the first start"));
  CHECK_FALSE(bench.explain("json").json().contains("measured_lost"));
}

TEST_CASE("the energy of a run's GPUs stands beside its estimate", "[app][energy]") {
  const GoodputBench bench;
  const auto joules = [](double time, int step, double sum) {
    return fmt::format(
        R"({{"event":"step","time":{},"step":{},"loss":3,"step_seconds":10,"joules":{}}})"
        "\n",
        GoodputBench::kDay + time, step, sum);
  };
  bench.attempt(1, "failed", 1000, 1100, joules(1030, 1, 3.6e5) + joules(1040, 2, 7.2e5));
  bench.attempt(2, "finished", 1160, 1200, joules(1190, 3, 3.6e5));
  const auto run = bench.report("json").json()["records"][0];
  CHECK(run["measured"]["energy_kwh"].get<double>() == Approx(0.3));
  CHECK(run["estimated"]["energy_kwh"].get<double>() > 0);
  const auto csv = bench.report("csv").out;
  INFO(csv);
  CHECK(csv.find(",energy_kwh,") != std::string::npos);
  CHECK(csv.find(",estimated_energy_kwh,") != std::string::npos);
  const auto report = bench.report("md").out;
  INFO(report);
  CHECK(report.find("0.30 kWh; estimated for the training, with failures and cooling: ") !=
        std::string::npos);
  const auto explained = bench.explain("table").out;
  INFO(explained);
  CHECK(explained.find("its GPUs used 0.30 kWh") != std::string::npos);
}
