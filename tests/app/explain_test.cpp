#include "tests/app/desk.h"

using namespace orch;
using app::Exit;
using nlohmann::json;

namespace {

app::ExplainArguments explain(const Desk& desk, const fs::path& word,
                              const std::string& format = "json") {
  app::ExplainArguments out;
  out.run.file = word;
  out.runs = desk.runs();
  out.common.format = format;
  return out;
}

double sum(const json& list, const char* key) {
  double total = 0;
  for (const auto& item : list) total += item[key].get<double>();
  return total;
}

void check_sums(const json& answer) {
  const auto& run = answer["runs"][0];
  double time = 0, peak = 0;
  for (const auto& item : answer["time"])
    if (item["kind"] != "sum") time += item["seconds"].get<double>();
  CHECK(time == Approx(run["step_seconds"].get<double>()).epsilon(1e-9));
  int next = 0;
  for (const auto& stage : answer["stages"]) {
    const double bytes = stage["bytes"];
    double sum = 0;
    for (const auto& item : answer["memory"]) {
      if (item["first_stage"] != stage["first_stage"] || item["place"] != "device") continue;
      sum += item["bytes"].get<double>();
      CHECK(item["formula"] != "");
    }
    CHECK(sum == Approx(bytes).epsilon(1e-6));  // of whole bytes
    peak = std::max(peak, bytes);
    CHECK(stage["first_stage"] == next);
    next = stage["last_stage"].get<int>() + 1;
  }
  CHECK(peak == Approx(run["peak_memory_bytes"].get<double>()).epsilon(1e-9));
  CHECK(next == run["pipeline_parallel"].get<int>());
}

// The run folders of 200b: without SLURM no run is started.
std::vector<fs::path> rendered(const Desk& desk) {
  app::RunArguments run;
  run.plan.source.file = shipped("200b.lua");
  run.plan.options.runs = desk.runs();
  const auto said = desk(app::run_command, run);
  REQUIRE(said.exit == Exit::ok);
  CHECK(said.has("stopped after rendering: SLURM not found"));
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(desk.root() / "runs/200b"))
    if (fs::exists(entry.path() / "run.json")) out.push_back(entry.path());
  return out;
}

}  // namespace

TEST_CASE("the items of every run add up to its totals", "[app]") {
  const Desk desk;
  const auto folders = rendered(desk);
  REQUIRE(folders.size() == 72);  // as in the head of the plan
  for (const auto& folder : folders) {
    INFO(folder);
    check_sums(desk(app::explain_command, explain(desk, folder)).json());
  }
}

TEST_CASE("plan and explain are one estimate", "[app]") {
  const Desk desk;
  for (const auto* name : {"200b.lua", "bloom7b_days.lua"}) {
    INFO(name);
    app::PlanArguments plan;
    plan.source.file = shipped(name);
    plan.options.runs = desk.runs();
    plan.common.format = "json";
    const auto best = desk(app::plan_command, plan).json()["runs"][0];
    const auto answer = desk(app::explain_command, explain(desk, shipped(name))).json();
    check_sums(answer);
    const auto& run = answer["runs"][0];
    CHECK(best["id"] == run["id"]);
    for (const auto* key : {"step_seconds", "peak_memory_bytes", "days_to_train", "gpu_hours"})
      CHECK(best[key].get<double>() == Approx(run[key].get<double>()).epsilon(1e-9));
  }
}

TEST_CASE("a run is named by folder, id, beginning, hash and beginning of the hash", "[app]") {
  const Desk desk;
  const auto folder = rendered(desk).front();
  const auto id = folder.filename().string();
  const auto hash = id.substr(id.rfind('-') + 1);
  for (const auto& name : {folder.string(), folder.string() + "/", folder.string() + "/.", id,
                           id.substr(0, id.size() - 2), hash, hash.substr(0, 6)}) {
    INFO(name);
    const auto said = desk(app::explain_command, explain(desk, name, "table"));
    CHECK(said.exit == Exit::ok);
    CHECK(said.has(id));
    CHECK(said.has("one step"));
  }
  const auto several = desk(app::explain_command, explain(desk, "gpt-199b"));
  CHECK(several.exit == Exit::error);
  CHECK(several.notes_have("runs begin like this"));
  CHECK(several.notes_have("gpt-199b-deepspeed"));
  const auto typo = desk(app::explain_command, explain(desk, id.substr(0, id.size() - 1) + "x"));
  CHECK(typo.exit == Exit::error);
  CHECK(typo.notes_have("did you mean '" + id + "'?"));
  auto changed = explain(desk, id);
  changed.run.set = {"hardware.nodes=4"};
  CHECK(desk(app::explain_command, changed).exit == Exit::usage);
}

TEST_CASE("what cannot be explained says why", "[app]") {
  const Desk desk;
  const auto none = desk(app::explain_command, explain(desk, "nothing"));
  CHECK(none.exit == Exit::error);
  CHECK(none.notes_have("orch run FILE.lua makes runs"));
  CHECK(desk(app::explain_command, explain(desk, "missing.lua")).exit == Exit::invalid_experiment);
  auto some = explain(desk, shipped("200b.lua"), "table");
  some.where = "pipeline_parallel == 16";
  CHECK(desk(app::explain_command, some).has("-pp16-"));
  some.where = "pipeline_paralel == 16";
  CHECK(desk(app::explain_command, some).exit == Exit::usage);
  some.where = "pipeline_parallel == 17";
  CHECK(desk(app::explain_command, some).exit == Exit::invalid_experiment);
}

TEST_CASE("the stretches of a schedule add up, with dates where there is a start", "[app]") {
  const Desk desk;
  auto asked = explain(desk, shipped("200b.lua"));
  asked.start = parse_date("2028-02-29");
  const auto answer = desk(app::explain_command, asked).json();
  const auto &run = answer["runs"][0], &phases = answer["schedule"];
  const auto close = [](double value) { return Approx(value).epsilon(1e-9); };
  CHECK(sum(phases, "tokens") == close(run["tokens"].get<double>()));
  CHECK(sum(phases, "seconds") == close(run["days_to_train"].get<double>() * 86400));
  CHECK(sum(phases, "gpu_hours") == close(run["gpu_hours"].get<double>()));
  CHECK(phases.front()["from"] == "2028-02-29");
  CHECK(phases.back()["to"] == run["ends"]);
  CHECK(run["ends_low"].get<std::string>() < run["ends"].get<std::string>());
  CHECK(run["ends"].get<std::string>() < run["ends_high"].get<std::string>());
  for (const auto& [low, value, high] :
       {std::array{"step_low", "step_seconds", "step_high"},
        std::array{"memory_low", "peak_memory_bytes", "memory_high"}}) {
    CHECK(run[low].get<double>() < run[value].get<double>());
    CHECK(run[value].get<double>() < run[high].get<double>());
  }
  asked.common.format = "table";
  const auto said = desk(app::explain_command, asked);
  CHECK(said.has("begins 2028-02-29 and ends 20"));
  CHECK(said.has("Schedule"));
}

TEST_CASE("a probe that is prepared has a folder for each kind of stage", "[app]") {
  const Desk desk;
  app::ProbeArguments probe;
  probe.words = {shipped("200b.lua")};
  probe.where = "pipeline_parallel == 12";
  probe.runs = desk.runs();
  probe.output = (desk.root() / "probes").string();
  probe.prepare = true;
  const auto said = desk(app::probe_command, probe);
  REQUIRE(said.exit == Exit::ok);
  const auto folder = fs::directory_iterator(probe.output)->path();
  CHECK(fs::exists(folder / "run"));
  CHECK(fs::exists(folder / "stage-0/run.json"));
  CHECK(fs::exists(folder / "stage-11/run.json"));  // the last of twelve
  probe.prepare = false;
  probe.show = true;  // no run was started
  CHECK(desk(app::probe_command, probe).exit == Exit::runs_failed);
}
