#include "tests/app/desk.h"

using namespace orch;
using app::Exit;
using nlohmann::json;

namespace {

constexpr const char* kConstraint =
    R"(constraints = { ["no whole node"] = function(r) return r.tensor_parallel <= 4 end },)";

struct SpaceChanges {
  std::string model = "gpt-1.3b";
  std::string gpus = "gpus = { 8, 16 }";
  std::string batch = "batch = { global_batch = 16 },";
  std::string strategies = "strategies = { megatron { zero_stage = 1 }, fsdp {} },";
  std::string constraints = kConstraint;
  std::string more = {};
};

fs::path written(const Desk& desk, const std::string& name, const SpaceChanges& changes = {}) {
  return desk.file(name, "return experiment { name = \"x\", model = \"" + changes.model +
                             "\", hardware = { cluster = \"dgx-a100\", " + changes.gpus + " }, " +
                             changes.batch + " tokens = 100e9, " + changes.strategies +
                             changes.constraints + changes.more + "}");
}

app::SearchArguments asked(const fs::path& file, const std::string& format = "json") {
  app::SearchArguments out;
  out.source.file = file;
  out.common.format = format;
  return out;
}

double space(const Desk& desk, const app::SearchArguments& arguments) {
  return desk(app::search_command, arguments).json()["search"]["space"].get<double>();
}

// The entries of some lists.
std::vector<json> listed(const json& said, const std::function<bool(const std::string&)>& which) {
  std::vector<json> out;
  for (const auto& entry : said["runs"])
    if (which(entry["list"])) out.push_back(entry);
  return out;
}
std::vector<json> best_of(const json& said) {
  return listed(said, [](const std::string& list) { return list != "pareto"; });
}
std::vector<json> list_of(const json& said, const std::string& name) {
  return listed(said, [&](const std::string& list) { return list == name; });
}

CommandOutput failed(const Desk& desk, const SpaceChanges& changes) {
  return desk(app::search_command, asked(written(desk, "wrong.lua", changes), "table"));
}

}  // namespace

TEST_CASE("a search finds layouts that can be, whatever the threads", "[app][search]") {
  const Desk desk;
  auto arguments = asked(written(desk, "x.lua"));
  arguments.top = 4;
  const auto said = desk(app::search_command, arguments);
  REQUIRE(said.exit == Exit::ok);
  CHECK(said.notes.empty());
  auto one = said.json();
  arguments.options.threads = 3;
  auto three = desk(app::search_command, arguments).json();
  one["search"].erase("seconds");
  three["search"].erase("seconds");
  CHECK(one == three);
  CHECK(one["search"]["evaluated"] == one["search"]["space"]);
  const auto best = best_of(one), pareto = list_of(one, "pareto");
  std::vector<std::string> lists;
  for (const auto& entry : best) lists.push_back(entry["list"]);
  CHECK(lists == std::vector<std::string>{"time", "time", "time", "time", "strategy", "strategy",
                                          "gpu_hours", "gpu_hours", "gpu_hours", "gpu_hours",
                                          "headroom", "headroom", "headroom", "headroom"});
  CHECK(pareto.size() == 4);
  const auto number = [](const json& entry, const char* key) { return entry[key].get<double>(); };
  for (const auto& list : {best, pareto})
    for (const auto& entry : list) {
      CHECK(entry["fit"] != "oom");
      CHECK(number(entry, "tensor_parallel") <= 4);
      CHECK(number(entry, "tensor_parallel") * number(entry, "pipeline_parallel") *
                number(entry, "data_parallel") ==
            number(entry, "gpus"));
      CHECK(number(entry, "micro_batch") * number(entry, "accumulate") *
                number(entry, "data_parallel") ==
            16);
    }
  for (std::size_t i = 1; i < 4; ++i)
    CHECK(number(best[i - 1], "days_to_train") <= number(best[i], "days_to_train"));
  double least = 1e30;
  for (const auto& a : pareto) {
    least = std::min(least, number(a, "days_to_train"));
    for (const auto& b : pareto)  // none is worse than another in everything
      CHECK((a == b || number(a, "days_to_train") < number(b, "days_to_train") ||
             number(a, "peak_memory_bytes") < number(b, "peak_memory_bytes") ||
             number(a, "gpu_hours") < number(b, "gpu_hours")));
  }
  CHECK(least == number(best[0], "days_to_train"));
}

// The smaller model would otherwise fill every list by time.
TEST_CASE("each size of a model has a best of its own", "[app][search]") {
  const Desk desk;
  const auto file = desk.file(
      "sizes.lua",
      R"(return experiment { name = "x", model = { gpt { layers = 32, hidden = 2560, heads = 32, vocab = 50257, seq = 2048 }, "gpt-1.3b" },
    hardware = { cluster = "dgx-a100", gpus = 8 }, batch = { global_batch = 16 }, tokens = 100e9,
    strategies = { megatron {}, fsdp {} } })");
  const auto best = best_of(desk(app::search_command, asked(file)).json());
  std::vector<int> firsts;
  for (const auto& entry : best)
    if (entry["list"] == "strategy") firsts.push_back(entry["layers"].get<int>());
  CHECK(firsts == std::vector{24, 24, 32, 32});
  CHECK(desk(app::search_command, asked(file, "table")).has("the best of each size:"));
}

// Four nodes of Jean Zay, which have twice as many GPUs, are faster and take more GPU-hours.
TEST_CASE("what is written keeps the budget where some machine does", "[app][search]") {
  const Desk desk;
  const auto search = [&](const std::string& budget) {
    const auto file = desk.file(
        "two.lua",
        R"(return experiment { name = "x", model = "llama-3-8b", tokens = 100e9,
      hardware = { cluster = { "perlmutter", "jean-zay" }, partition = "a100-80g", nodes = 4 }, )" +
            budget +
            R"( batch = { global_batch = 512 }, strategies = { zero3 { engine = "framework" } } })");
    auto arguments = asked(file);
    arguments.top = 1;
    arguments.write = (desk.root() / ("best" + std::to_string(budget.size()) + ".lua")).string();
    const auto best = best_of(desk(app::search_command, arguments).json());
    return std::pair(best, *read_file(arguments.write));
  };
  const auto [best, fastest] = search("");
  REQUIRE(best[0]["cluster"] == "perlmutter");
  REQUIRE(fastest.find("jean-zay") != std::string::npos);
  const auto enough = std::to_string(1.01 * best[0]["gpu_hours"].get<double>());
  CHECK(search("budget = { gpu_hours = " + enough + " },").second.find("perlmutter") !=
        std::string::npos);
}

TEST_CASE("who overlaps with the first of a list shares its place", "[app][search]") {
  const Desk desk;
  SpaceChanges slow;  // slow attention makes layouts of one strategy nearly equal
  slow.strategies =
      "strategies = { megatron { zero_stage = 1, flash_attention = false }, fsdp { flash_attention "
      "= false } },";
  const auto best = best_of(desk(app::search_command, asked(written(desk, "x.lua", slow))).json());
  for (const auto& [name, low, high] : {std::array{"time", "days_low", "days_high"},
                                        std::array{"headroom", "memory_low", "memory_high"}}) {
    std::vector<json> entries;
    for (const auto& entry : best)
      if (entry["list"] == name) entries.push_back(entry);
    const auto overlap = [low = low, high = high](const json& a, const json& b) {
      return a[low].get<double>() <= b[high].get<double>() &&
             b[low].get<double>() <= a[high].get<double>();
    };
    for (std::size_t i = 0; i < entries.size(); ++i) {
      bool tie = i > 0 && overlap(entries[i], entries[0]);
      for (std::size_t j = 1; i == 0 && j < entries.size(); ++j)
        tie = tie || overlap(entries[0], entries[j]);
      CHECK(entries[i]["tie"] == tie);
      CHECK(entries[i]["rank"] == (tie ? 1 : i + 1));
    }
  }
}

TEST_CASE("--keep, --open and --where change the space as they say", "[app][search]") {
  const Desk desk;
  const auto file = written(desk, "x.lua");
  const auto all = space(desk, asked(file));
  auto fewer = asked(file);
  fewer.opening.keep = {"recompute"};  // none, selective, full
  CHECK(space(desk, fewer) == all / 3);
  auto more = asked(file);
  more.opening.open = {"flash_attention"};
  CHECK(space(desk, more) == all * 2);
  // overlap_tensor, overlap, reduce_dtype, tied_scatter, offload_activations, dtype, optimizer,
  // flash_attention, fused_kernels and four values of prefetch.
  const auto fsdp =
      written(desk, "fsdp.lua",
              {.gpus = "gpus = 2",
               .batch = "batch = { global_batch = 2, micro_batch = 1 },",
               .strategies = "strategies = { fsdp { recompute = \"none\", tensor_parallel = 1 } },",
               .constraints = ""});
  auto open = asked(fsdp);
  open.opening.open = {"all"};
  CHECK(space(desk, open) == space(desk, asked(fsdp)) * 2 * 2 * 2 * 2 * 5 * 2 * 2 * 2 * 2 * 4 * 3);
  auto where = asked(file);
  where.where = "gpus == 8 and strategy == \"fsdp\"";
  const auto kept = desk(app::search_command, where);
  CHECK(kept.exit == Exit::ok);
  CHECK_FALSE(kept.has("\"gpus\": 16"));
  CHECK_FALSE(kept.has("\"strategy\": \"megatron\""));
}

TEST_CASE("the best is written as an experiment with the same estimate", "[app][search]") {
  const Desk desk;
  const auto ramp = written(
      desk, "ramp.lua",
      {.gpus = "gpus = 16",
       .batch = "batch = { global_batch = 16, rampup = { start = 4, step = 4, samples = 9765625, "
                "fewer_nodes = true } },"});
  for (const auto& file : {ramp, written(desk, "x.lua")}) {
    auto search = asked(file);
    search.write = (desk.root() / "best.lua").string();
    const auto found = desk(app::search_command, search).json()["runs"][0];
    app::PlanArguments plan;
    plan.source.file = search.write;
    plan.options.runs = desk.runs();
    plan.common.format = "json";
    const auto planned = desk(app::plan_command, plan).json()["runs"][0];
    for (const auto* key : {"days_to_train", "days_low", "days_high", "gpu_hours"})
      CHECK(found[key] == planned[key]);
  }
}

TEST_CASE("nothing that an experiment says is lost in what a search writes", "[app][search]") {
  const Desk desk;
  auto search =
      asked(written(desk, "said.lua",
                    {.strategies = "strategies = { megatron { setup = 'module load a' } },",
                     .more = R"(start = "2026-12-01", availability = 0.9,
                   budget = { gpu_hours = 1e6, deadline = "2027-12-01" },
                   training = { learning_rate = 0.001, seed = 7 }, trainer = "my-trainer",
                   expect = { tokens_per_second = { value = 68000, below = 0.05 } },)"}),
            "table");
  search.write = (desk.root() / "best.lua").string();
  CHECK(desk(app::search_command, search).has("next: orch run "));
  const auto text = *read_file(search.write);
  for (const auto* said :
       {"start = \"2026-12-01\"", "availability = 0.9", "deadline = \"2027-12-01\"",
        "learning_rate = 0.001, seed = 7", "trainer = \"my-trainer\"", "gpu_hours = 1000000",
        "expect = { { tokens_per_second = { value = 68000, below = 0.05 } } }",
        "setup = \"module load a\""})
    CHECK(text.find(said) != std::string::npos);
  CHECK(desk(app::search_command, search).exit == Exit::ok);  // its own file is written again
  search.write = search.source.file.string();
  const auto other = desk(app::search_command, search);
  CHECK(other.exit == Exit::error);
  CHECK(other.notes_have("not written by orch search"));
}

TEST_CASE("what nothing keeps is named, with the end that it makes", "[app][search]") {
  const Desk desk;
  const auto none = failed(
      desk,
      {.constraints =
           R"(constraints = { ["room for others"] = function(r) return r.gpus > 100 end },)"});
  CHECK(none.exit == Exit::invalid_experiment);
  CHECK((none.has("room for others") || none.notes_have("room for others")));
  const auto large = failed(desk, {.model = "gpt-530b"});
  CHECK(large.exit == Exit::invalid_experiment);
  CHECK(large.has("the nearest to fitting takes"));
  const auto poor = failed(desk, {.more = "budget = { gpu_hours = 1 }"});
  CHECK(poor.exit == Exit::over_budget);
  CHECK(poor.has("nothing keeps it"));
  CHECK(failed(desk, {.batch = "batch = { global_batch = 13 },"}).has("DP 1"));  // a prime
}

TEST_CASE("mistakes of a search say what was meant", "[app][search]") {
  const Desk desk;
  const auto usage = [&](std::vector<std::string> keep, std::vector<std::string> open,
                         const std::string& where) {
    auto arguments = asked(written(desk, "x.lua"), "table");
    arguments.opening.keep = std::move(keep);
    arguments.opening.open = std::move(open);
    arguments.where = where;
    const auto said = desk(app::search_command, arguments);
    CHECK(said.exit == Exit::usage);
    return said.notes;
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(usage({"tensor_paralel"}, {}, ""),
             ContainsSubstring("did you mean 'tensor_parallel'?"));
  CHECK_THAT(usage({}, {"flash_atention"}, ""),
             ContainsSubstring("did you mean 'flash_attention'?"));
  CHECK_THAT(usage({"interleave"}, {"interleave"}, ""), ContainsSubstring("kept and opened"));
  CHECK_THAT(usage({}, {}, "gpuss == 8"), ContainsSubstring("did you mean 'gpus'?"));

  for (const auto& [changes, part] : std::vector<std::pair<SpaceChanges, const char*>>{
           {{.strategies = "strategies = {},"}, "an empty list leaves nothing to run"},
           {{.gpus = ""}, "how many GPUs"},
           {{.batch = ""}, "write global_batch"},
           {{.more = "search = { params = \"1.3B\", tolerance = 1e-9, heads = { 7 } }"},
            "no shape has"},
           {{.more = "search = { params = \"big\", layer = 3, heads = {}, layers = { from = 9, to "
                     "= 3 } }"},
            "did you mean 'layers'?"}}) {
    const auto said = failed(desk, changes);
    CHECK(said.exit == Exit::invalid_experiment);
    CHECK_THAT(said.notes, ContainsSubstring(part));
  }
}

TEST_CASE("shapes are searched, and a plan keeps its model", "[app][search]") {
  const Desk desk;
  const auto file =
      written(desk, "shapes.lua",
              {.more = "search = { params = 1.3e9, tolerance = 0.04, layers = { 20 } }"});
  const auto found = desk(app::search_command, asked(file));
  CHECK(found.has("\"layers\": 20"));
  CHECK(found.has("\"model\": \"gpt-2"));
  app::PlanArguments plan;
  plan.source.file = file;
  plan.options.runs = desk.runs();
  plan.common.format = "json";
  CHECK(desk(app::plan_command, plan).has("\"model\": \"gpt-1.3b\""));
}

TEST_CASE("the number of GPUs can be searched", "[app][search]") {
  const Desk desk;
  const SpaceChanges thirteen{
      .model = "gpt-13b",
      .gpus = "gpus = 16",
      .batch = "batch = { global_batch = 512 },",
      .strategies =
          R"(strategies = { megatron { recompute = "full" }, fsdp { recompute = "full" } },)",
      .constraints = "",
      .more = "budget = { deadline_days = 40 },"};
  auto arguments = asked(written(desk, "x.lua", thirteen));
  arguments.opening.open = {"gpus"};
  arguments.opening.keep = {"recompute",       "interleave", "sequence_parallel",
                            "stage_partition", "offload",    "zero_stage"};
  const auto said = desk(app::search_command, arguments);
  REQUIRE(said.exit == Exit::ok);
  const auto found = said.json();

  // By hand: a separate search for each number.
  struct Best {
    int gpus;
    double days, hours;
  };
  std::vector<Best> bests;
  for (const int gpus : {1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80}) {
    auto alone = thirteen;
    alone.gpus = "gpus = " + std::to_string(gpus);
    auto only = asked(written(desk, "alone.lua", alone));
    only.opening.keep = arguments.opening.keep;
    const auto one = desk(app::search_command, only);
    if (one.exit == Exit::invalid_experiment) continue;  // nothing fits
    const auto best = one.json()["runs"][0];
    bests.push_back({gpus, best["days_to_train"].get<double>(), best["gpu_hours"].get<double>()});
  }
  REQUIRE(bests.size() > 3);
  CHECK(list_of(found, "fewest_gpus").front()["gpus"] == bests.front().gpus);
  const auto in_time =
      std::ranges::find_if(bests, [](const Best& best) { return best.days <= 40; });
  REQUIRE(in_time != bests.end());
  REQUIRE(in_time != bests.begin());
  const auto fewest = list_of(found, "fewest_gpus_in_budget");
  CHECK(fewest.front()["gpus"] == in_time->gpus);
  CHECK(fewest.front()["days_to_train"].get<double>() == Approx(in_time->days));
  REQUIRE(fewest.size() == 2);  // and its runner-up, by another strategy or on more
  CHECK((fewest[1]["strategy"] != fewest[0]["strategy"] || fewest[1]["gpus"] > fewest[0]["gpus"]));
  const auto cheapest = list_of(found, "cheapest_in_budget").front();
  CHECK(cheapest["days_to_train"].get<double>() <= 40);
  for (const auto& best : bests)
    if (best.days <= 40) CHECK(cheapest["gpu_hours"].get<double>() <= best.hours * (1 + 1e-9));

  arguments.common.format = "table";
  const auto text = desk(app::search_command, arguments);
  CHECK(text.has("Fewest GPUs within 40 days: "));
  CHECK(text.has("; runner-up: "));
  arguments.common.format = "csv";
  CHECK(desk(app::search_command, arguments).has("\ncheapest_in_budget,"));
}

TEST_CASE("a deadline that no number of GPUs keeps", "[app][search]") {
  const Desk desk;
  auto arguments = asked(
      written(desk, "x.lua", {.constraints = "", .more = "budget = { deadline_days = 0.01 },"}),
      "table");
  arguments.source.set = {"hardware.gpus=8"};
  arguments.opening.open = {"gpus"};
  const auto said = desk(app::search_command, arguments);
  CHECK(said.exit == Exit::over_budget);
  CHECK(said.has("Fewest GPUs within 0.01 days: none of the sizes that were tried"));
  CHECK(said.has("Fewest GPUs that fit: "));
}

// ddp in bf16 stores 2 bytes of weights and of gradients and 12 of the optimizer for each
// parameter: 79 GiB hold at most 5.3e9 parameters; with full recomputation and sequences of 2,048
// activations take less than a third.
TEST_CASE("the largest model that fits a GPU", "[app][search]") {
  const Desk desk;
  const SpaceChanges one{.gpus = "gpus = 1",
                         .batch = "batch = { global_batch = 16 },",
                         .strategies = "strategies = { ddp {} },",
                         .constraints = ""};
  auto arguments = asked(written(desk, "x.lua", one));
  arguments.opening.open = {"params"};
  arguments.write = (desk.root() / "largest.lua").string();
  const auto said = desk(app::search_command, arguments);
  REQUIRE(said.exit == Exit::ok);
  const auto largest = list_of(said.json(), "largest_model");
  REQUIRE(largest.size() == 2);
  const auto params = largest[0]["params"].get<double>();
  CHECK(params < 79 * 1.0737e9 / 16);
  CHECK(params > 0.6 * 79 * 1.0737e9 / 16);
  CHECK(largest[1]["params"].get<double>() < params);
  app::PlanArguments again;
  again.source.file = arguments.write;
  again.common.format = "json";
  const auto runs = desk(app::plan_command, again).json()["runs"];
  REQUIRE(runs.size() == 1);
  CHECK(runs[0]["params"] == largest[0]["params"]);
  CHECK(runs[0]["fit"] != "oom");
}

TEST_CASE("sizes are searched one at a time", "[app][search]") {
  const Desk desk;
  const auto fails = [&](std::vector<std::string> open, const SpaceChanges& changes, Exit exit,
                         const std::string& words) {
    auto arguments = asked(written(desk, "x.lua", changes), "table");
    arguments.opening.open = std::move(open);
    const auto said = desk(app::search_command, arguments);
    CHECK(said.exit == exit);
    CAPTURE(said.notes);
    CHECK(said.notes.find(words) != std::string::npos);
  };
  fails({"gpus", "params"}, {}, Exit::usage, "gpus and params cannot be opened together");
  fails({"params"}, {}, Exit::invalid_experiment,
        "has several numbers of GPUs, and --open asks about one");
  fails({"gpus"}, {.batch = "batch = { global_batch = { 16, 32 } },"}, Exit::invalid_experiment,
        "has several batches");
}

// A model that fits may be too slow: then a smaller one is searched, and the last step is halved.
TEST_CASE("the largest model within a deadline may be smaller than the experiment's",
          "[app][search]") {
  const Desk desk;
  const SpaceChanges one{.gpus = "gpus = 8",
                         .batch = "batch = { global_batch = 128 },",
                         .strategies = "strategies = { ddp { recompute = \"full\" } },",
                         .constraints = "",
                         .more = "budget = { deadline_days = 4 },"};
  auto arguments = asked(written(desk, "x.lua", one));
  arguments.opening.open = {"params"};
  arguments.opening.keep = {"recompute"};
  const auto said = desk(app::search_command, arguments);
  REQUIRE(said.exit == Exit::ok);
  const auto kept = list_of(said.json(), "largest_model_in_budget");
  REQUIRE(!kept.empty());
  CHECK(kept[0]["days_to_train"].get<double>() <= 4);
  CHECK(kept[0]["days_to_train"].get<double>() > 3.2);
  CHECK(kept[0]["params"].get<double>() < 1.3e9);
  CHECK(list_of(said.json(), "largest_model")[0]["params"].get<double>() > 1.3e9);
}

// Sizes for which a filter leaves no run do not end the search: the layers of larger ones may be
// multiples again.
TEST_CASE("a size that --where excludes does not end a search for the largest", "[app][search]") {
  const Desk desk;
  const SpaceChanges one{
      .gpus = "gpus = 1", .strategies = "strategies = { ddp {} },", .constraints = ""};
  auto arguments = asked(written(desk, "x.lua", one));
  arguments.opening.open = {"params"};
  arguments.where = "layers % 8 == 0";
  const auto largest = list_of(desk(app::search_command, arguments).json(), "largest_model");
  REQUIRE(!largest.empty());
  CHECK(largest[0]["params"].get<double>() > 2e9);
  CHECK(largest[0]["layers"].get<int>() % 8 == 0);
}

TEST_CASE("where nodes come and go, a search puts what ends first first", "[app][search]") {
  const Desk desk;
  const SpaceChanges windows{
      .gpus = "nodes = { 1, 4 }",
      .batch = "batch = { global_batch = 128 },",
      .strategies = "strategies = { fsdp {} },",
      .constraints = "",
      .more =
          R"(start = "2027-01-01", availability = { { from = "2027-01-01", nodes = 1 }, { from = "2027-02-01", nodes = 4 } },)"};
  auto arguments = asked(written(desk, "x.lua", windows));
  const auto said = desk(app::search_command, arguments);
  CAPTURE(said.notes);
  REQUIRE(said.exit == Exit::ok);
  const auto list = list_of(said.json(), "time");
  for (std::size_t i = 1; i < list.size(); ++i)
    CHECK(list[i - 1]["ends"].get<std::string>() <= list[i]["ends"].get<std::string>());
  CHECK(list[0]["nodes"] == 1);
}

TEST_CASE("strategies of which nothing fits are named", "[app][search]") {
  const Desk desk;
  const auto file = written(
      desk, "x.lua",
      {.model = "gpt-13b", .strategies = "strategies = { fsdp {}, ddp {} },", .constraints = ""});
  CHECK(desk(app::search_command, asked(file, "table")).has("nothing of ddp works and fits"));
}
