#include "core/show/page/charts.h"

#include "core/show/page/svg.h"
#include "tests/show/page/fixtures.h"
#include "tests/test.h"

// What the charts hold, against the numbers of fixtures.h.
namespace orch::page::test {
namespace {

using Catch::Approx;

// A chart of a page, with what it points into.
struct MadeChart {
  MadeChart(Page of, Chart (*make)(const ChartRuns&))
      : page(std::move(of)), lines(lines_of(page.records)), chart(make(ChartRuns(lines))) {}

  const Chart::Panel& panel() const { return chart.panels.at(0); }
  std::vector<Chart::Mark> marks_of(const std::string& id) const {
    std::vector<Chart::Mark> out;
    for (const auto& mark : panel().marks)
      if (page.records.at(mark.run.value()).id == id) out.push_back(mark);
    return out;
  }

  Page page;
  std::vector<PageLine> lines;
  Chart chart;
};

bool is_inside(const Chart::Axis& axis, double value) {
  return axis.low <= value && value <= axis.high;
}

TEST_CASE("a mark of days has its value, its interval and its run", "[page][chart]") {
  const MadeChart made(full(), days_chart);
  const auto marks = made.marks_of("toy-5");
  REQUIRE(marks.size() == 2);
  // 104 s per 1536 x 2048 tokens; the interval is 1.5 % below and 2 % above.
  const double days = 100e9 / (1536.0 * 2048) * 104 / 86400;
  const auto& measured = marks[0].is_hollow ? marks[1] : marks[0];
  CHECK(measured.y == Approx(days));
  CHECK(*measured.low == Approx(0.985 * days));
  CHECK(*measured.high == Approx(1.02 * days));
  CHECK(measured.x == Approx(384).epsilon(0.05));  // beside those of other strategies
  CHECK(made.panel().x.title == "GPUs");
  CHECK(made.panel().y.title == "days per 100B tokens");
  for (const auto& mark : made.panel().marks) {
    CHECK(is_inside(made.panel().x, mark.x));
    CHECK(is_inside(made.panel().y, mark.y));
  }
}

TEST_CASE("where all runs have as many GPUs, they are rows, the fewest days first",
          "[page][chart]") {
  const MadeChart made(same_size(), days_chart);
  REQUIRE(made.panel().rows.size() == 20);
  std::vector<double> best(20, 1e9);
  for (const auto& mark : made.panel().marks) {
    auto& held = best.at(static_cast<std::size_t>(mark.y));
    if (!mark.is_hollow || held == 1e9) held = mark.is_hollow ? mark.x : -mark.x;
  }
  for (auto& days : best) days = std::abs(days);
  CHECK(std::is_sorted(best.begin(), best.end()));
}

TEST_CASE("an estimate of thousands of GiB does not stretch the axis of memory", "[page][chart]") {
  auto page = plans();
  page.records[0].estimated->peak_memory = 5000 * kGiB;
  const MadeChart made(page, memory_chart);
  CHECK(made.panel().x.high < 250);  // the limit is 76 GiB
  CHECK(made.panel().x.high > 76);
  const auto mark = made.marks_of("plan-0").at(0);
  CHECK(mark.x == 5000);
  CHECK(made.panel().rows.at(static_cast<std::size_t>(mark.y)).end == "5,000 GiB");
}

TEST_CASE("bars of a step are shares where seconds differ by more than ten times",
          "[page][chart]") {
  CHECK(MadeChart(full(), time_chart).chart.answers[0] == "seconds of a step");
  auto page = plans();
  page.records[0].estimated->time = items(1000);
  const MadeChart made(page, time_chart);
  CHECK(made.chart.answers[0] == "shares of a step");
  CHECK(made.chart.others.at(0).answers[0] == "seconds of a step");
  // 62 % GEMMs and 6 % attention are compute, as a share and in seconds of 1000.
  CHECK(*made.marks_of("plan-0").at(0).high == Approx(68));
  for (const auto& mark : made.chart.others[0].panels[0].marks)
    if (mark.run == 0u && mark.look == 0) CHECK(*mark.high == Approx(680));
}

TEST_CASE("the first step and one that stalls do not press the others together", "[page][chart]") {
  auto page = logs();
  page.records[0].measured.step_times[2000].value = 3600;
  const MadeChart made(page, pace_chart);
  CHECK(made.panel().y.high < 60);
  CHECK_THAT(made.chart.finding, ContainsSubstring("3,600 s at step 2,001"));
}

TEST_CASE("one run of a million days does not press the others together", "[page][chart]") {
  auto page = same_size();
  page.records[7].estimated->step_seconds *= 1e6;
  page.records[7].estimated->days_per_100b_tokens *= 1e6;
  page.records[7].measured = {};
  page.records.resize(18);  // all of them are rows
  const MadeChart made(page, days_chart);
  REQUIRE(made.marks_of("run-7").size() == 1);
  CHECK(made.marks_of("run-7")[0].x > 1e6);
  // Of those that were measured run-1 takes the fewest days: 104 s and 3 %.
  CHECK_THAT(made.chart.finding, ContainsSubstring("Fewest: ") && ContainsSubstring("run-1 ") &&
                                     ContainsSubstring("measured"));
  for (const auto& mark : made.panel().marks)
    if (mark.run != 7u) CHECK(mark.x > 0.5 * made.panel().x.high);  // 100 to 168 s
  CHECK_THAT(made.chart.note, ContainsSubstring("1 mark is beyond the axis"));
}

TEST_CASE("a spike of the loss stands at the edge", "[page][chart]") {
  auto page = logs();
  for (auto& record : page.records) record.measured.losses[2499].loss = 1e5;
  CHECK(MadeChart(page, loss_chart).panel().y.high < 30);  // from 10 down to 2.6
}

TEST_CASE("two numbers of GPUs are rows of each series", "[page][chart]") {
  const MadeChart made(repeats(), days_chart);
  const auto& rows = made.panel().rows;
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].label == "megatron");
  CHECK(rows[0].kind == "192 GPUs");
  CHECK((rows[1].label.empty() && rows[1].kind == "384 GPUs"));
  CHECK((rows[2].label == "fsdp" && rows[2].kind == "192 GPUs"));
  REQUIRE(made.panel().marks.size() == 3);
  // The best of four on 384 GPUs takes 52 s for 1536 sequences of 2048.
  const auto best = made.marks_of("gpt-megatron-384gpu-tp4-pp12-dp8-mb2-00000004");
  REQUIRE(best.size() == 1);
  CHECK(best[0].y == 1);
  CHECK(best[0].x == Approx(100e9 / (1536.0 * 2048) * 52 / 86400));
  CHECK(made.panel().x.title == "days per 100B tokens");
  CHECK(svg_of(made.chart).find("384 GPUs") != std::string::npos);
}

TEST_CASE("the best of each model comes in the order of their sizes", "[page][chart]") {
  auto page = same_size();
  for (std::size_t i = 0; i < page.records.size(); ++i) {
    const bool small = i % 2 == 1;  // and slower
    page.records[i].set("model", std::string(small ? "small" : "large"));
    page.records[i].set("params", small ? 1e9 : 2e11);
  }
  const MadeChart made(page, best_chart);
  std::vector<std::string> names;
  for (const auto& row : made.panel().rows) names.push_back(row.label);
  CHECK(names == std::vector<std::string>{"megatron · small", "fsdp · small", "megatron · large",
                                          "fsdp · large"});
  CHECK(made.chart.data[1][6].ends_with(" of 76.0"));  // GiB
}

TEST_CASE("where there is one strategy, its best runs are shown", "[page][chart]") {
  auto page = sweep();
  page.records.resize(22);  // megatron's; two of them do not fit
  const MadeChart made(page, best_chart);
  CHECK(made.chart.title == "The best runs");
  REQUIRE(made.chart.data.size() > 7);
  CHECK((made.chart.data[0].front() == "Run" && made.chart.data[1].back().empty()));
  REQUIRE(made.panel().rows.size() == 7);
  // Measured ones are first; of these two tensor-parallel ranks and two stages are the fastest, 5 %
  // below 10 + 3 * 2 + 2 * 2 + 5 s.
  const auto best = made.marks_of("s-8");
  REQUIRE(best.size() == 1);
  CHECK((best[0].y == 0 && !best[0].is_hollow));
  CHECK(best[0].x == Approx(100e9 / (512.0 * 2048) * 25 * 0.95 / 86400));
  page.records.erase(page.records.begin(), page.records.begin() + 21);
  CHECK(MadeChart(page, best_chart).chart.panels.empty());
}

TEST_CASE("a grid has the days of each place, and other parameters to choose", "[page][chart]") {
  const MadeChart made(sweep(), sweep_chart);
  CHECK(made.chart.answers == std::vector<std::string>{"tensor_parallel", "pipeline_parallel"});
  CHECK(made.chart.others.size() == 5);  // three pairs, each in two directions
  const auto& panel = made.panel();
  CHECK(panel.x.ticks.size() == 4);
  CHECK(panel.rows.size() == 3);
  CHECK(panel.marks.size() == 11);  // not on 8 and 4
  for (const auto& mark : panel.marks) {
    if (!mark.shade) continue;
    // 10 + 3 tensor + 2 pipeline + 5 micro seconds, measured 5 % less.
    const double tensor = std::exp2(mark.x), pipeline = std::exp2(mark.y);
    const double seconds = 15 + 3 * tensor + 2 * pipeline;
    const double days = seconds * 100e9 / (512.0 * 2048) / 86400 * (mark.is_bold ? 0.95 : 1);
    CHECK(std::stod(mark.words) == Approx(days).epsilon(1e-3));
  }
}

TEST_CASE("a curve has its resumes upon it", "[page][chart]") {
  const MadeChart made(logs(), loss_chart);
  const auto& mark = made.panel().marks.at(0);
  REQUIRE(mark.resumes.size() == 1);
  CHECK(mark.resumes[0].first >= 2500);
  CHECK(std::ranges::find(mark.line, mark.resumes[0]) != mark.line.end());
}

TEST_CASE("power and use are curves where a run tells of them", "[page][chart]") {
  CHECK(MadeChart(full(), power_chart).chart.panels.empty());
  auto page = logs();
  for (std::int64_t step = 10; step <= 50; step += 10) {
    page.records[0].measured.gpu_watts.push_back({step, 590.0 + static_cast<double>(step)});
    page.records[0].measured.gpu_use.push_back({step, 0.9});
  }
  page.records[0].measured.stated["gpu_watts"] = 620;  // of all looks, also those that are not kept
  const MadeChart power(page, power_chart), use(page, use_chart);
  CHECK(power.panel().marks.at(0).line.size() == 5);
  CHECK(power.panel().y.title == "W of a GPU");
  CHECK(power.chart.finding == "On average: 620 W of main.out#0.");
  CHECK(use.panel().y.title == "% of a GPU");
  CHECK(use.panel().marks.at(0).line[2] == Chart::Place(30, 90));
}

TEST_CASE("every kind of chart becomes a picture", "[page][chart]") {
  for (const auto& page : {full(), sweep(), logs(), hostile()}) {
    const auto lines = lines_of(page.records);
    for (const auto& chart : charts_of(lines)) {
      const auto text = svg_of(chart);
      CHECK(text.starts_with("<svg "));
      CHECK(text.find("nan") == std::string::npos);
      CHECK(text.find("<script") == std::string::npos);
    }
  }
}

}  // namespace
}  // namespace orch::page::test
