// ORCH_PAGES=FOLDER orch_test_show "[pages]": each page of the fixtures as FOLDER/<name>.html,
// beside it what its records hold as <name>.json, so that the browser's page can be held against
// it.

#include <nlohmann/json.hpp>

#include "tests/show/page/fixtures.h"
#include "tests/test.h"

namespace orch::page::test {
namespace {

using nlohmann::json;

void put(json& out, const char* name, const std::optional<double>& value) {
  if (value) out[name] = *value;
}

json facts(const Page& page) {
  json out = json::array();
  for (const auto& record : page.records) {
    json run{{"id", record.id},
             {"strategy", record.field_text("strategy")},
             {"model", record.field_text("model")},
             {"state", record::name(record.state)},
             {"failure", record::name(record.failure)},
             {"doubts", json::array()},
             {"fields", json::object()},
             {"losses", record.measured.losses.size()},
             {"times", record.measured.step_times.size()},
             {"peaks", record.measured.peaks.size()},
             {"resumes", record.measured.resumes.size()},
             {"items", record.measured.time_items.size()},
             {"estimated_items", record.estimated ? record.estimated->time.size() : 0}};
    for (const auto& doubt : record.doubts) run["doubts"].push_back(doubt.kind);
    for (const auto& field : record.fields) run["fields"][field.name] = record::text(field.value);
    put(run, "gpus", record.field_number("gpus"));
    if (record.measured.step_seconds) run["step"] = record.measured.step_seconds->value;
    put(run, "days", record.measured.days_per_100b_tokens);
    put(run, "memory", record.measured.peak_memory_bytes);
    if (record.estimated) {
      run["fit"] = name(record.estimated->fit);
      run["estimated_step"] = record.estimated->step_seconds;
      run["estimated_days"] = record.estimated->days_per_100b_tokens;
      run["estimated_memory"] = record.estimated->peak_memory;
      if (record.estimated->usable_memory > 0) run["limit"] = record.estimated->usable_memory;
    }
    out.push_back(run);
  }
  return out;
}

}  // namespace

TEST_CASE("pages of the fixtures", "[.pages]") {
  const char* folder = std::getenv("ORCH_PAGES");
  REQUIRE(folder);
  const std::map<std::string, Page> pages{{"full", full()},
                                          {"many", many(2000)},
                                          {"hostile", hostile()},
                                          {"empty", {}},
                                          {"plans", plans()},
                                          {"logs", logs()},
                                          {"published", published()},
                                          {"sweep", sweep()},
                                          {"same", same_size()},
                                          {"families", families()},
                                          {"ended", ended()},
                                          {"repeats", repeats()},
                                          {"ties", ties()}};
  std::filesystem::create_directories(folder);
  for (const auto& [name, page] : pages) {
    const auto base = std::string(folder) + "/" + name;
    std::ofstream(base + ".html", std::ios::binary) << html(page);
    std::ofstream(base + ".svg", std::ios::binary) << svg(page);
    std::ofstream(base + ".json", std::ios::binary)
        << facts(page).dump(-1, ' ', true, json::error_handler_t::replace);
  }
}

}  // namespace orch::page::test
