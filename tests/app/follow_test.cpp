#include "core/base/text.h"
#include "core/run/store/run_folder.h"
#include "tests/app/desk.h"

using namespace orch;
using app::Exit;

namespace {

// Runs that were never submitted, with attempts made by hand.
class FollowBench : public Desk {
 public:
  // Plans that many runs below runs/NAME.
  std::vector<std::string> planned(const std::string& name, int count) const {
    app::RunArguments run;
    run.plan.options.runs = runs();
    run.plan.source.file = file(name + ".lua", fmt::format(R"(local many = {{}}
for i = 1, {} do many[i] = i end
return experiment {{ name = "{}", model = "gpt-1.3b",
  hardware = {{ cluster = "dgx-a100", gpus = 8 }},
  batch = {{ accumulate = many }}, strategies = {{ ddp {{ flash_attention = false }} }} }})",
                                                           count, name));
    const auto said = (*this)(app::run_command, run);
    REQUIRE(said.exit == Exit::ok);
    auto ids = store::run_ids(root() / "runs" / name);
    std::sort(ids.begin(), ids.end());
    REQUIRE(std::ssize(ids) == count);
    return ids;
  }

  // An attempt as recorded by the job script: an hour on one node.
  void attempt(const std::string& run, int number, const std::string& state,
               const std::string& message = "") const {
    const auto end = state == "running" ? "null" : "\"2026-11-15T08:00:00Z\"";
    file(fmt::format("runs/{}/attempts/{}/status.json", run, number),
         fmt::format(R"({{"version": 1, "state": "{}", "message": "{}", "job_id": "77",
           "restart_count": 0, "phase": 1, "phases": 1, "start": "2026-11-15T07:00:00Z",
           "end": {}, "signal": null, "exit_code": null, "nodes": ["n1"], "bad_nodes": []}})",
                     state, message, end));
  }

  // A trainer's events: half a second and 8192 tokens per step.
  void events(const std::string& run, int number, int steps) const {
    std::string text;
    for (int step = 1; step <= steps; ++step)
      text += fmt::format(
          R"({{"event":"step","time":{}.{},"step":{},"loss":{}.25,"step_seconds":0.5,"tokens":{}}})"
          "\n",
          1763193600 + step / 2, step % 2 * 5, step, 10 - step % 8, step * 8192);
    file(fmt::format("runs/{}/attempts/{}/events.jsonl", run, number), text);
  }

  app::FollowArguments of(std::vector<std::string> targets = {},
                          const std::string& format = "table") const {
    app::FollowArguments out;
    out.runs = runs();
    out.targets = std::move(targets);
    out.common.format = format;
    out.common.screen.markdown = format == "md";
    return out;
  }

  CommandOutput status(std::vector<std::string> targets = {},
                       const std::string& format = "table") const {
    return (*this)(app::status_command, of(std::move(targets), format));
  }
};

}  // namespace

TEST_CASE("status tells how runs stand from their folders alone", "[app][follow]") {
  const FollowBench bench;
  const auto none = bench.status();
  CHECK(none.exit == Exit::error);
  CHECK(none.notes_have("no runs"));

  const auto ids = bench.planned("first", 6);
  bench.attempt("first/" + ids[0], 1, "finished");
  bench.events("first/" + ids[0], 1, 40);
  bench.attempt("first/" + ids[1], 1, "failed", "a task left with exit code 3");
  bench.attempt("first/" + ids[2], 1, "running");
  bench.events("first/" + ids[2], 1, 20);
  bench.attempt("first/" + ids[3], 1, "stopped", "saved before the time limit");
  bench.attempt("first/" + ids[4], 1, "failed", "killed");
  bench.file("runs/first/" + ids[4] + "/attempts/1/stdout.log",
             "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n");

  const auto table = bench.status();
  CHECK(table.exit == Exit::runs_failed);
  CHECK(table.notes.empty());
  for (const auto* part : {"bad exit: a task left with exit code 3", "gpu memory: ",
                           "CUDA out of memory", "saved before the time limit", "submitted by hand",
                           "40/", "first: 1 finished, 1 running, 1 stopped, 2 failed, 1 planned; "})
    CHECK(table.has(part));
  std::size_t before = 0;  // those that need attention come first
  for (const auto* state : {" failed ", " running ", " stopped ", " finished ", " planned "}) {
    const auto at = table.out.find(state);
    CHECK(at > before);
    before = at;
  }

  const auto document = bench.status({"first"}, "json").json();
  std::multiset<std::string> states, failures;
  for (const auto& run : document["runs"]) {
    states.insert(run["state"]);
    if (run["state"] == "failed") failures.insert(run["failure"]);
    CHECK(run["estimated_step_seconds"].get<double>() > 0);
    if (run["state"] != "finished") continue;
    CHECK(run["step"] == 40);
    CHECK(run["step_seconds"] == 0.5);
    CHECK(run["tokens_per_second"] == 8192 / 0.5);
    CHECK(run["gpu_hours"] == 8.0);  // an hour on eight GPUs
    CHECK(run["elapsed_seconds"] == 3600.0);
  }
  CHECK(states == std::multiset<std::string>{"failed", "failed", "finished", "planned", "running",
                                             "stopped"});
  CHECK(failures == std::multiset<std::string>{"bad_exit", "gpu_memory"});

  const auto csv = bench.status({ids[0]}, "csv");
  CHECK(csv.exit == Exit::ok);
  CHECK(std::count(csv.out.begin(), csv.out.end(), '\n') == 2);
  CHECK(csv.has("first," + ids[0] + ","));
  CHECK(csv.has(",finished,none,"));
  CHECK(bench.status({}, "md").has("| run | state |"));
}

TEST_CASE("several experiments are one document, and words find them", "[app][follow]") {
  const FollowBench bench;
  bench.planned("first", 6);
  const auto ids = bench.planned("second", 2);
  bench.attempt("second/" + ids[0], 1, "finished");
  const auto document = bench.status({}, "json").json();
  CHECK(document["experiments"].size() == 2);
  CHECK(document["runs"].size() == 8);
  const auto csv = bench.status({}, "csv").out;
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 9);
  CHECK(bench.status({}, "md").has("\nsecond: 1 finished, 1 planned"));
  CHECK(bench.status().has("second: 1 finished, 1 planned"));
  CHECK_FALSE(bench.status({"second"}).has("first"));
  const auto both = bench.status({bench.runs() + "/second/", ids[1]});
  CHECK(both.has("1 finished, 1 planned"));
  CHECK(bench.status({"secnd"}).notes_have("did you mean 'second'?"));
  CHECK(bench.status({ids[0].substr(0, ids[0].size() - 1)}).exit == Exit::ok);
  CHECK(bench.status({"gpt"}).notes_have("runs begin like this"));
  CHECK(bench.status({ids[0], "zzz"}).notes_have("zzz"));
}

TEST_CASE("an experiment is found by its file too", "[app][follow]") {
  const FollowBench bench;
  bench.planned("first", 2);
  bench.planned("second", 1);
  const auto first = bench.status({(bench.root() / "first.lua").string()});
  CHECK(first.exit == Exit::ok);
  CHECK(first.has("first: 2 planned"));
  CHECK_FALSE(first.has("second"));
  // Its name counts, not the file's.
  const auto other = bench.file("other.lua", *read_file(bench.root() / "second.lua"));
  CHECK(bench.status({other.string()}).has("second: 1 planned"));
  const auto none = bench.file("none.lua", R"(return experiment { model = "gpt-1.3b",
    hardware = { cluster = "dgx-a100", gpus = 8 }, strategies = { ddp {} } })");
  CHECK(bench.status({none.string()}).notes_have("its experiment 'none' has no runs below"));
}

TEST_CASE("a damaged run.json is named by orch run, whether its run was started or not",
          "[app][follow]") {
  const FollowBench bench;
  const auto ids = bench.planned("first", 2);
  app::RunArguments run;
  run.plan.options.runs = bench.runs();
  run.plan.source.file = bench.root() / "first.lua";
  CHECK(bench(app::run_command, run).has("nothing changed"));
  for (const bool started : {false, true}) {
    if (started) bench.attempt("first/" + ids[1], 1, "finished");
    bench.file("runs/first/" + ids[1] + "/run.json", "{ \"version\": ");
    const auto said = bench(app::run_command, run);
    CHECK(said.exit == Exit::error);
    CHECK(said.notes_have("runs/first/" + ids[1] + "/run.json: "));
    CHECK_FALSE(said.has("nothing changed"));
  }
}

TEST_CASE("of many runs the first are shown, no wider than the screen", "[app][follow]") {
  const FollowBench bench;
  const auto ids = bench.planned("many", 60);
  bench.attempt("many/" + ids[0], 1, "failed", "a task left with exit code 3");
  CHECK(bench.status().has("… and 40 more (--top 0 shows all)"));
  auto three = bench.of();
  three.top = 3;
  CHECK(bench(app::status_command, three).has("… and 57 more"));
  for (const std::size_t width : {40, 60, 80, 120, 200}) {
    three.common.screen.width = width;
    const auto said = bench(app::status_command, three);
    for (const auto& line : split(said.out, '\n')) {
      const auto columns =
          std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
      CHECK(columns <= static_cast<std::ptrdiff_t>(width));
    }
  }
}

TEST_CASE("the log of a run: its end, one rank, one attempt", "[app][follow]") {
  const FollowBench bench;
  const auto ids = bench.planned("one", 2);
  const auto logs = [&](const std::string& run, int attempt, double lines, int rank = -1) {
    return bench(app::logs_command,
                 app::LogsArguments{run, bench.runs(), false, rank, attempt, lines});
  };
  const auto fresh = logs(ids[0], 0, 50);
  CHECK(fresh.exit == Exit::error);
  CHECK(fresh.notes_have("has not started"));
  CHECK(logs(ids[0].substr(0, ids[0].size() - 1) + "x", 0, 50)
            .notes_have("did you mean '" + ids[0] + "'?"));

  bench.attempt("one/" + ids[0], 1, "failed");
  std::string text;
  for (int i = 1; i <= 100; ++i) text += fmt::format("{}: line {}\n", i % 4, i);
  bench.file("runs/one/" + ids[0] + "/attempts/1/stdout.log", text);
  bench.attempt("one/" + ids[0], 2, "finished");
  CHECK(logs(ids[0], 0, 50).out.empty());
  bench.file("runs/one/" + ids[0] + "/attempts/2/stdout.log", "10%\r20%\rdone\r\n\ttabbed\n");
  CHECK(logs(bench.runs() + "/one/" + ids[0], 0, 50).out == "10%\n20%\ndone\n\ttabbed\n");
  const auto fifty = logs(ids[0].substr(ids[0].rfind('-') + 1), 1, 50).out;
  CHECK(std::count(fifty.begin(), fifty.end(), '\n') == 50);
  CHECK(logs(ids[0], 1, 3).out == "2: line 98\n3: line 99\n0: line 100\n");
  CHECK(logs(ids[0], 1, 0).out == text);
  const auto rank = logs(ids[0], 1, 0, 3).out;
  CHECK(std::count(rank.begin(), rank.end(), '\n') == 25);
  CHECK(logs(ids[0], 1, 50, 77).out.empty());
  CHECK(logs(ids[0], 3, 50).notes_have("there are 2"));
}

TEST_CASE("what is not under way is neither cancelled, resumed nor watched", "[app][follow]") {
  const FollowBench bench;
  const auto ids = bench.planned("idle", 2);
  bench.attempt("idle/" + ids[0], 1, "finished");
  const auto cancelled = bench(app::cancel_command, bench.of({"idle"}));
  CHECK(cancelled.exit == Exit::ok);
  CHECK(cancelled.notes_have("idle: nothing to cancel"));
  CHECK(cancelled.asked.empty());
  for (const auto again : {app::resume_command, app::retry_command}) {
    const auto said = bench(again, bench.of({"idle"}));
    CHECK(said.notes_have("idle: nothing to submit"));
    CHECK(said.asked.empty());
  }
  const auto watched = bench(app::watch_command, bench.of({"idle"}));
  CHECK(watched.exit == Exit::ok);
  CHECK(watched.has("idle: 1 finished, 1 planned"));
  const auto inspected = bench(app::inspect_command, bench.of({ids[1]}));
  CHECK(inspected.exit == Exit::error);
  CHECK(inspected.notes_have("has not started"));
  CHECK(bench(app::inspect_command, bench.of({"idle"})).exit == Exit::usage);
  bench.planned("alone", 1);
  for (const auto& word : {std::string("alone"), (bench.root() / "alone.lua").string()})
    CHECK(bench(app::inspect_command, bench.of({word})).notes_have("has not started"));
}

TEST_CASE("an index has every run", "[app][follow]") {
  const FollowBench bench;
  const auto ids = bench.planned("ended", 3);
  bench.attempt("ended/" + ids[0], 1, "finished");
  const auto said = bench(app::index_command, bench.of());
  CHECK(said.exit == Exit::ok);
  CHECK(said.out == "3 runs in " + bench.runs() + "/index.jsonl\n");
  const auto names = app::names_of("targets", bench.runs());
  CHECK(contains(names, "ended"));
  CHECK(contains(names, ids[2]));
}

TEST_CASE("a submission that is none has no supervisor", "[app][follow]") {
  const FollowBench bench;
  const auto said = bench(app::supervise_command,
                          app::SuperviseArguments{bench.runs() + "/x/submissions/0001-0123"});
  CHECK(said.exit == Exit::error);
}
