#include "core/base/csv.h"
#include "core/base/number.h"
#include "tests/app/desk.h"

using namespace orch;
using app::Exit;

namespace {

CommandOutput planned(const Desk& desk, const fs::path& file, const std::string& format) {
  app::PlanArguments plan;
  plan.source.file = file;
  plan.options.runs = desk.runs();
  plan.common.format = format;
  return desk(app::plan_command, plan);
}

bool is_same(const std::string& cell, const nlohmann::json& value) {
  if (value.is_null()) return cell.empty();
  if (value.is_string()) return cell == value.get<std::string>();
  if (value.is_boolean()) return cell == (value.get<bool>() ? "true" : "false");
  const auto number = number_from<double>(cell);
  return number && *number == Approx(value.get<double>());
}

}  // namespace

TEST_CASE("CSV has every value of a run that JSON has", "[app][plan]") {
  const Desk desk;
  const auto file = desk.file("x.lua", R"(return experiment { name = "x", model = "gpt-1.3b",
    hardware = { cluster = "dgx-a100", gpus = 8 }, batch = { global_batch = 64 },
    start = "2026-12-01", budget = { gpu_hours = 3000, deadline = "2027-12-01" },
    strategies = { megatron { tensor_parallel = { 1, 2 }, zero_stage = 1 }, fsdp {}, ddp {} } })");
  const auto runs = planned(desk, file, "json").json()["runs"];
  const auto csv = parse_csv(planned(desk, file, "csv").out, "x.csv");
  REQUIRE(csv);
  REQUIRE(runs.size() == 4);
  REQUIRE(csv->records.size() == 4);
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const auto& [name, value] : runs[i].items()) {
      if (value.is_array()) continue;
      INFO(name << ": " << value);
      const int column = csv->column(name);
      REQUIRE(column >= 0);
      CHECK(is_same(csv->records[i].cells[static_cast<std::size_t>(column)], value));
    }
  for (const auto* name : {"ends", "ends_high", "budget", "priced_as", "zero_stage", "sharding"})
    CHECK(csv->column(name) >= 0);
}
