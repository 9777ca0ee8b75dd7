#include "core/show/tables/compared.h"

#include <nlohmann/json.hpp>

#include "core/plan/family.h"
#include "tests/show/tables/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::tables;

namespace {

plan::Planned ddp() {
  auto planned = test::planned("ddp", 1);
  planned.run.model = plan::sized("gpt", "m", 4, 1024, 8, 1000, 100);
  auto& estimate = planned.estimate;
  estimate.time = {
      {"layer: QKV", "gemm", 1, "f"},
      {"layer: attention scores", "attention", 0.5, "f"},
      {"layer: scores backward", "memory", 0.25, "f"},
      {"layer: layer overhead", "overhead", 0.125, "f"},
      {"end of step: layer: gradient all-reduce", "collective", 2, "f"},
      {"end of step: embedding and LM head: gradient all-reduce", "collective", 1, "f"},
      {"pipeline bubble", "bubble", 4, "f"},
      {"fixed cost of a step", "overhead", 0.125, "f"}};
  estimate.step_seconds = 9;
  plan::StageMemory stage;
  stage.items = {{"weights", "device", 100, "f"},
                 {"activations", "device", 40, "f"},
                 {"recomputed layer", "device", 10, "f"},
                 {"allocator slack", "device", 5, "f"}};
  stage.total = 155;
  estimate.memory = {stage};
  estimate.peak_memory = 155;
  return planned;
}

record::Measurement measured_run() {
  record::Measurement out;
  out.steps = 30;
  out.step_seconds = statistics::Interval{8, {}, {}, 1};
  out.peak_memory_bytes = 200;
  out.time_items = {{"QKV", "", 2},
                    {"attention", "", 1},
                    {"gradient all-reduce", "", 1.5},
                    {"other", "", 0.5},
                    {"data", "", 0.03125}};
  out.memory_items = {{"weights", "", 100}, {"activations", "", 100}, {"logits", "", 7}};
  return out;
}

std::map<std::string, Compared> by_name(const ComparisonTables& comparison) {
  std::map<std::string, Compared> out;
  for (const auto& item : comparison.items) out[item.name] = item;
  return out;
}

}  // namespace

TEST_CASE("items of the estimate are joined to what a trainer can measure", "[report][compared]") {
  const auto comparison = compare_time(ddp().estimate, measured_run());
  const auto items = by_name(comparison);
  CHECK(items.at("QKV").estimated == 1);
  CHECK(items.at("QKV").error() == Approx(-50));
  CHECK(items.at("attention").estimated == 0.75);  // products and scores
  CHECK(items.at("attention").error() == Approx(-25));
  CHECK(items.at("gradient all-reduce").estimated == 3);  // of all blocks
  CHECK(items.at("gradient all-reduce").error() == Approx(100));
  CHECK(items.at("gradient all-reduce").parts.size() == 2);
  CHECK(items.at("other").estimated == 0.25);
  CHECK(comparison.total.measured == 8);
  CHECK(comparison.total.estimated == 9);
  CHECK(comparison.total.error() == Approx(12.5));
}

TEST_CASE("what only one side knows is shown, never dropped", "[report][compared]") {
  const auto comparison = compare_time(ddp().estimate, measured_run());
  const auto items = by_name(comparison);
  CHECK(items.at("pipeline bubble").estimated == 4);
  CHECK_FALSE(items.at("pipeline bubble").measured);
  CHECK_FALSE(items.at("pipeline bubble").error());
  CHECK(items.at("data").measured == 0.03125);
  CHECK_FALSE(items.at("data").estimated);
  // Both sides add up to their totals.
  CHECK(comparison.sum.estimated == 9);
  CHECK(comparison.sum.measured == Approx(5.03125));
  // For a trainer without items the estimate is unchanged.
  const auto alone = compare_time(ddp().estimate, {});
  CHECK(alone.items.size() == 7);  // two all-reduces are one operation
  CHECK(alone.sum.estimated == 9);
  CHECK_FALSE(alone.sum.measured);
}

TEST_CASE("memory is compared item by item, and the peak by itself", "[report][compared]") {
  const auto comparison = compare_memory(ddp().estimate, measured_run());
  const auto items = by_name(comparison);
  CHECK(items.at("weights").error() == Approx(0));
  CHECK(items.at("activations").estimated == 50);  // including the recomputed layer
  CHECK(items.at("activations").error() == Approx(-50));
  CHECK_FALSE(items.at("allocator slack").measured);
  CHECK_FALSE(items.at("logits").estimated);
  CHECK(comparison.total.measured == 200);
  CHECK(comparison.total.error() == Approx(-22.5));
}

static std::string explained(const plan::Planned& planned, const show::Screen& screen,
                             const record::Measurement* measured = nullptr) {
  return show::text(explain(planned, {}, measured), screen);
}
static nlohmann::json explain_json(const plan::Planned& planned,
                                   const record::Measurement* measured = nullptr) {
  return nlohmann::json::parse(show::text_as("json", explain(planned, {}, measured), {}));
}

TEST_CASE("explain shows measured beside estimated in every format", "[report][compared]") {
  const auto planned = ddp();
  const auto with = measured_run();
  const auto text = explained(planned, {}, &with);
  CHECK(text.find("Measured: seconds of one step") != std::string::npos);
  CHECK(text.find("pipeline bubble (not measured)") != std::string::npos);
  CHECK(text.find("data (not estimated)") != std::string::npos);
  CHECK(text.find("+12.5 %") != std::string::npos);
  CHECK(explained(planned, {}).find("Measured") == std::string::npos);
  CHECK(text.find("While it trained") == std::string::npos);
  auto noted = with;
  noted.stated["clock_mhz"] = 2900;
  CHECK(explained(planned, {}, &noted).find("\nWhile it trained, its clock was 2,900 MHz\n") !=
        std::string::npos);
  noted.stated["others_share"] = 0.741;
  CHECK(explained(planned, {}, &noted)
            .find("\nWhile it trained, other programs used 74 % of the machine: measure again when "
                  "it is idle; its "
                  "clock was 2,900 MHz\n") != std::string::npos);
  const auto markdown = explained(planned, {.markdown = true}, &with);
  CHECK(markdown.starts_with("# ddp-1\n\n- "));
  CHECK(markdown.find("\n## Measured: bytes of one rank\n\n| measured |") != std::string::npos);
  const auto json = explain_json(planned, &with);
  REQUIRE(json["measured_time"].size() == 6 + 2);  // the sum and the step
  CHECK(json["measured_time"][7]["error_percent"] == 12.5);
  const auto& memory = json["measured_memory"];
  CHECK(memory[memory.size() - 2]["measured"] == 207);
  CHECK_FALSE(explain_json(planned).contains("measured_time"));
}
