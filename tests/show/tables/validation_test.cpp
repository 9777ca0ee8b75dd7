#include "core/show/tables/validation.h"

#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/units.h"
#include "core/show/page/page.h"
#include "tests/test.h"
#include "tests/text.h"

namespace orch::tables {
namespace {

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Three rows: one 10 % too slow, one without a time, one of another source scored separately.
struct ValidationWorld {
  published::PublishedSamples samples;
  std::vector<published::JudgedSample> judged;
  UnexplainedRows odd{{"c", {"nobody knows", true}}};
  std::shared_ptr<plan::Cluster> cluster = std::make_shared<plan::Cluster>();

  ValidationWorld() {
    cluster->partitions.emplace_back().gpu.usable_memory.value = 79 * kGiB;
    samples.samples.resize(3);
    add(0, "a", "s", 100, 110, "ok");
    add(1, "b<\"&>\x1b", "s", std::nullopt, 50, "oom");
    add(2, "c", "other", 10, 20, "ok");
    samples.samples[0].memory_bytes = 40 * kGiB;
    samples.samples[0].assumed = {"mbs 1", "seq 2048, as usual"};
    samples.skipped = {{"x", "s", "t", "layers: not given"}, {"y", "s", "t", "layers: not given"}};
    samples.suspect = 3;
    samples.duplicates = 4;
  }
  void add(std::size_t i, const char* id, const char* source, std::optional<double> measured,
           double predicted, const char* status) {
    auto& sample = samples.samples[i];
    sample.id = id;
    sample.source = source;
    sample.table = "t" + std::to_string(i);
    sample.step_seconds = measured;
    sample.status = status;
    sample.oom = sample.status == "oom";
    sample.memory_of = orch::plan::MemoryOf::first;
    sample.run.cluster = cluster;
    sample.run.partition = &cluster->partitions.front();
    plan::Estimate prediction;
    prediction.step_seconds = predicted;
    prediction.step_low = 0.8 * predicted;
    prediction.step_high = 1.2 * predicted;
    prediction.first_stage_memory = 44 * kGiB;
    prediction.peak_memory = 46 * kGiB;
    judged.push_back({&sample, prediction});
  }
  Validation validation() const { return {judged, samples, odd, "none"}; }
};

std::string validation_table(const Validation& v, const show::Screen& screen, bool all_rows) {
  return show::text(validation_answer(v, all_rows), screen);
}
std::string validation_csv(const Validation& v) {
  return show::text_as("csv", validation_answer(v, false), {});
}
std::string validation_json(const Validation& v) {
  return show::text_as("json", validation_answer(v, false), {});
}

TEST_CASE("the JSON of a validation has exactly its shape", "[report][validation]") {
  const ValidationWorld world;
  const auto json = nlohmann::ordered_json::parse(validation_json(world.validation()));
  const auto keys = [](const nlohmann::ordered_json& object) {
    std::vector<std::string> out;
    for (const auto& [key, value] : object.items()) out.push_back(key);
    return out;
  };
  using Keys = std::vector<std::string>;
  CHECK(keys(json) == Keys{"schema", "rows", "scores", "skipped", "findings"});
  CHECK(json["schema"] == 1);
  REQUIRE(json["scores"].size() == 5);  // two sources, and their tables
  CHECK(keys(json["scores"][0]) == Keys{"source", "table", "n", "mape", "median", "p90", "bias",
                                        "spearman", "regret", "coverage90", "memory_n",
                                        "memory_mape", "oom_hit", "oom_miss", "oom_false_alarm",
                                        "oom_recall", "oom_precision"});
  CHECK(json["scores"][0]["source"] == "other (unexplained)");
  CHECK(json["scores"][0]["coverage90"] == 0.0);
  CHECK(json["scores"][1]["table"] == "t2 (unexplained)");
  const auto& s = json["scores"][2];
  CHECK(s["source"] == "s");
  CHECK(s["table"].is_null());
  CHECK(s["n"] == 1);
  CHECK(std::abs(s["mape"].get<double>() - 10) < 1e-9);
  CHECK(s["coverage90"] == 100.0);  // 100 s in [88, 132]
  CHECK(s["spearman"].is_null());
  CHECK(s["oom_miss"] == 1);
  REQUIRE(json["rows"].size() == 3);
  CHECK(keys(json["rows"][0]) ==
        Keys{"id", "source", "table", "measured_seconds", "predicted_seconds", "low", "high",
             "error", "measured_memory", "predicted_memory", "fit", "status", "assumed"});
  CHECK(json["rows"][0]["assumed"] == "mbs 1; seq 2048, as usual");
  CHECK(json["rows"][1]["measured_seconds"].is_null());
  CHECK(json["rows"][1]["error"].is_null());
  CHECK(json["rows"][1]["status"] == "oom");
  CHECK(json["skipped"][1]["id"] == "y");
  CHECK(json["skipped"][1]["reason"] == "layers: not given");
}

TEST_CASE("the table tells what is off, skipped and left out", "[report][validation]") {
  const ValidationWorld world;
  const auto text = validation_table(world.validation(), {}, false);
  CHECK(has(text, "other (unexplained)"));
  CHECK(has(text, "unexplained: nobody knows"));
  CHECK(has(text, "+100.0"));
  CHECK(has(text, "2  layers: not given: x, y"));
  CHECK(has(text, "3 rows judged, 2 skipped; left out: 3 suspect, 4 duplicates"));
  CHECK(has(text, "ran out of memory, predicted 46.0 GiB of 79.0"));
  CHECK_FALSE(has(text, "\x1b"));
  CHECK(has(validation_table(world.validation(), {}, true), "\nRows\n"));
  CHECK(has(validation_table(world.validation(), {.markdown = true}, true),
            "| a | t0 | 100.0 | 110.0 |"));
  const auto markdown = validation_table(world.validation(), {.markdown = true}, false);
  CHECK(has(markdown, "| s | 1 | 10.0 |"));
  CHECK(has(markdown, "| · t0 | 1 | 10.0 |"));  // tables are distinguished from sources
}

TEST_CASE("the CSV of a validation quotes what it must", "[report][validation]") {
  const ValidationWorld world;
  const auto hostile = validation_csv(world.validation());
  CHECK(parse_csv(hostile, "v.csv"));
  CHECK_FALSE(has(hostile, "\x1b"));  // of an id
  ValidationWorld plain;
  plain.samples.samples[1].id = "b,\"x\"";
  const auto good = parse_csv(validation_csv(plain.validation()), "v.csv");
  REQUIRE(good);
  CHECK(good->records[1].cells[0] == "b,\"x\"");
  CHECK(good->records[0].cells[12] == "mbs 1; seq 2048, as usual");
  CHECK(good->records[1].cells[3].empty());
}

static std::string plot(const Validation& v) {
  return page::svg(v.rows, v.apart, v.scores, v.calibrate);
}

TEST_CASE("the plot has a point per time and escapes what it writes", "[report][validation]") {
  ValidationWorld world;
  world.samples.samples[1].step_seconds = 60;
  world.samples.samples[1].oom = false;
  const auto svg = plot(world.validation());
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count(svg, "faint\" transform") == 2 * 3);  // each row with its error
  CHECK(has(svg, "b&lt;&quot;&amp;&gt;\\x1b: measured 60 s, predicted 50 s, -16.7 %"));
  CHECK(has(svg, "prefers-color-scheme: dark"));
  CHECK(has(svg, ">constants as shipped<"));
  // Errors from -16.7 to +100: the scale goes from -20 to 110, with a line every 20.
  CHECK(has(svg, ">+100<"));
  CHECK_FALSE(has(svg, ">+110<"));
  CHECK(has(svg, ">other (unexplained)<"));
  CHECK(count(svg, "class=\"tenth\"") == 2 + 2 + 1);  // in both panels and the legend
  CHECK_FALSE(has(svg, "nan"));
  CHECK_FALSE(has(svg, "inf"));
}

TEST_CASE("a plot of nothing says so", "[report][validation]") {
  const published::PublishedSamples none;
  const std::vector<published::JudgedSample> rows;
  const UnexplainedRows odd;
  const Validation empty(rows, none, odd, "none");
  CHECK(has(plot(empty), "no row has a step time"));
  CHECK(has(validation_json(empty), "\"scores\": []"));
  CHECK(has(validation_table(empty, {}, false), "0 rows judged"));
}

}  // namespace
}  // namespace orch::tables
