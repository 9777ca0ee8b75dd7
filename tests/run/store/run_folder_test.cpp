#include "core/run/store/run_folder.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "core/base/date.h"
#include "tests/place.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::store;

namespace {

const std::string kRun = R"({"version": 1, "experiment": "gpt", "strategy": "zero3",
  "backend": "zero3", "model": {"name": "gpt-1b", "family": "gpt", "layers": 24, "hidden": 2048,
  "heads": 16, "vocab": 50257, "seq": 2048}, "cluster": "jean-zay", "gpus": 16, "nodes": 2,
  "data_parallel": 16, "micro_batch": 32, "global_batch": 512, "rampup": null, "tokens": 300000000000, "steps": 0})";
const std::string kEstimate = R"({"version": 1, "fit": "tight", "peak_memory_bytes": 7.5e10,
  "step_seconds": 2.5, "step_low": 2, "step_high": 3, "tokens_per_second": 419430.4,
  "days_per_100b_tokens": 2.76, "gpu_hours": 3178.9, "schedule": []})";
const std::string kStatus = R"({"version": 1, "state": "failed", "message": "it broke",
  "job_id": "77", "restart_count": 2, "phase": 1, "phases": 3, "start": "2026-11-15T07:00:00Z",
  "end": null, "signal": "USR1", "exit_code": 3, "nodes": ["n1", "n2"], "bad_nodes": ["n2"]})";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// Texts that are not a valid JSON object of ours.
const std::vector<std::string> kRubbish = {"",
                                           "{",
                                           "[]",
                                           "7",
                                           "null",
                                           "{}",
                                           std::string("\0\xff\x01{", 4),
                                           R"({"version": 3})",
                                           R"({"version": "1"})",
                                           R"({"version": -1e999})",
                                           std::string(200'000, '[')};

// Checks that each invalid content, or anything else in a file's place, is an error that names it.
template <class Read>
void check_rubbish(const fs::path& path, const Read& read) {
  const auto check = [&] {
    const auto got = read();
    REQUIRE_FALSE(got);
    CHECK(got.error().front().place.find(path.filename().string()) != std::string::npos);
    CHECK_FALSE(got.error().front().fix.empty());
    fs::remove_all(path);
  };
  for (const auto& text : kRubbish) {
    std::ofstream(path, std::ios::binary) << text;
    check();
  }
  fs::create_directory(path);
  check();
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  check();
  std::ofstream(path) << "{";
  fs::resize_file(path, std::uintmax_t{10} << 30);  // sparse
  check();
  fs::create_symlink(path, path);
  check();
}

// Runs a check as a user other than root, in a separate process.
template <class Check>
bool as_another_user(const Check& check) {
  const auto pid = ::fork();
  if (pid == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(2);
    ::_exit(check() ? 0 : 1);
  }
  int status = 1;
  ::waitpid(pid, &status, 0);
  return status == 0;
}

}  // namespace

TEST_CASE("what a follower must know is read from run.json and estimate.json", "[store][folder]") {
  const TestFolder place;
  place.file("gpt/a-1/run.json", kRun);
  place.file("gpt/a-1/estimate.json", kEstimate);
  const auto folder = place.root() / "gpt/a-1";
  const auto run = read_live_run(folder);
  REQUIRE(run);
  CHECK(run->record.source == "gpt");
  CHECK(run->record.id == "a-1");
  CHECK(run->record.field_text("strategy") == "zero3");
  CHECK(run->record.field_text("cluster") == "jean-zay");
  CHECK(run->gpus() == 16);
  CHECK(run->record.whole("nodes") == 2);
  CHECK(run->record.measured.steps_planned == 286103);  // 286102.29…
  CHECK(run->record.estimated->fit == plan::MemoryFit::tight);
  CHECK(run->record.estimated->step_seconds == 2.5);
  CHECK(run->record.estimated->step_low == 2);
  CHECK(run->record.estimated->step_high == 3);
  CHECK(run->record.estimated->tokens_per_second == 419430.4);
  CHECK(run->record.estimated->peak_memory == 7.5e10);
  CHECK(run->record.estimated->days_per_100b_tokens == 2.76);
  CHECK(run->record.estimated->gpu_hours == 3178.9);
  CHECK(run->phases == 0);

  // By hand: two steps of 256 and one of 384 reach 896 of the 800 samples; what is left of 300e9 /
  // 2048 = 146484375 is 146483479, in 286101 steps of 512.
  place.file("gpt/a-1/run.json",
             with(kRun, "\"rampup\": null", R"("rampup": {"start": 256, "step": 128,
    "samples": 800, "fewer_nodes": true})"));
  REQUIRE(read_live_run(folder));
  CHECK(read_live_run(folder)->record.measured.steps_planned == 286104);

  place.file("gpt/a-1/run.json", with(kRun, "\"steps\": 0", "\"steps\": 500"));
  CHECK(read_live_run(folder)->record.measured.steps_planned == 500);
  CHECK(read_live_run(folder)->record.estimated->gpu_hours == Approx(500 * 2.5 * 16 / 3600));
  // A price of 2 per GPU-hour.
  place.file("gpt/a-1/estimate.json",
             with(kEstimate, "\"gpu_hours\"", "\"cost\": 6357.8, \"gpu_hours\""));
  CHECK(read_live_run(folder)->record.estimated->cost == Approx(2 * 500 * 2.5 * 16 / 3600));
  for (const auto* name : {"job.sbatch", "job-2.sbatch", "job-3.sbatch", "job-5.sbatch"})
    place.file(fs::path("gpt/a-1") / name, "");
  CHECK(read_live_run(folder)->phases == 3);
}

TEST_CASE("a run without an estimate is one", "[store][folder]") {
  const TestFolder place;
  place.file("a-1/run.json", kRun);
  const auto run = read_live_run(place.root() / "a-1");
  REQUIRE(run);
  CHECK_FALSE(run->record.estimated);
}

TEST_CASE("a damaged run.json or estimate.json is named", "[store][folder]") {
  const TestFolder place;
  const auto run = place.file("a-1/run.json", kRun);
  const auto read = [&] { return read_live_run(place.root() / "a-1"); };
  check_rubbish(place.file("a-1/estimate.json", kEstimate), read);
  fs::remove(run);
  REQUIRE_FALSE(read());  // an empty document is not a run
  check_rubbish(run, read);
  for (const auto& text :
       {with(kRun, "\"gpus\": 16", "\"gpus\": 1e300"), with(kRun, "\"gpus\": 16", "\"gpus\": -1"),
        with(kRun, "\"gpus\": 16", "\"gpus\": 1.5"), with(kRun, "\"seq\": 2048", "\"seq\": 0"),
        with(kRun, "512", "18446744073709551615"), with(kRun, "300000000000", "\"all\""),
        with(kRun, "\"gpus\": 16", "\"gpus\": 8"), with(kRun, "\"heads\": 16", "\"heads\": 15"),
        with(kRun, "\"seq\": 2048", "\"seq\": null"), with(kRun, "\"model\"", "\"mode\"")}) {
    place.file("a-1/run.json", text);
    CHECK_FALSE(read());
  }
}

TEST_CASE("attempts are read in the order of their numbers", "[store][folder]") {
  const TestFolder place;
  place.file("attempts/10/status.json", kStatus);
  place.file("attempts/2/status.json",
             with(kStatus, "\"message\"", "\"submission\": \"0001-ab\", \"message\""));
  fs::create_directories(place.root() / "attempts/11/flight");
  for (const auto* other :
       {"attempts/0", "attempts/03", "attempts/4x", "attempts/-5", "attempts/99999999999999999999"})
    fs::create_directories(place.root() / other);
  place.file("attempts/12", "not a folder");
  const auto attempts = read_attempts(place.root());
  REQUIRE(attempts);
  REQUIRE(attempts->size() == 3);
  const auto& second = attempts->front();
  CHECK(second.number == 2);
  CHECK(second.state == "failed");
  CHECK(second.message == "it broke");
  CHECK(second.job == "77");
  CHECK(second.submission == "0001-ab");
  CHECK(second.phase == 1);
  CHECK(second.phases == 3);
  CHECK(second.start == 1794726000);  // date -ud 2026-11-15T07:00:00Z +%s
  CHECK(second.end == 0);
  CHECK(second.signal == "USR1");
  CHECK(second.exit_code == 3);
  CHECK(second.nodes == std::vector<std::string>{"n1", "n2"});
  CHECK(second.bad_nodes == std::vector<std::string>{"n2"});
  CHECK((*attempts)[1].number == 10);
  CHECK((*attempts)[1].submission.empty());
  CHECK((*attempts)[2].number == 11);
  CHECK((*attempts)[2].state == "running");
  CHECK_FALSE((*attempts)[2].exit_code);

  CHECK(read_attempts(place.root(), 10)->size() == 2);
  CHECK(read_attempts(place.root(), 12)->empty());
  CHECK(read_attempts(place.root() / "nowhere")->empty());
}

TEST_CASE("bytes that are not UTF-8 in a message do not hide how the run ended",
          "[store][folder]") {
  const TestFolder place;
  place.file("attempts/1/status.json", with(kStatus, "it broke", "node\xff\xc3 died"));
  const auto attempts = read_attempts(place.root());
  REQUIRE(attempts);
  CHECK(attempts->front().state == "failed");
  CHECK(attempts->front().message == "node?? died");
}

TEST_CASE("a damaged status.json is named", "[store][folder]") {
  const TestFolder place;
  const auto path = place.file("attempts/1/status.json", kStatus);
  check_rubbish(path, [&] { return read_attempts(place.root()); });
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"failed\"", "\"happy\""},
           {"2026-11-15T07:00:00Z", "2026-13-15T07:00:00Z"},
           {"2026-11-15T07:00:00Z", "2026-11-15T24:00:00Z"},
           {"2026-11-15T07:00:00Z", "2026-11-15 07:00:00Z"},
           {"2026-11-15T07:00:00Z", "2026-11-15T+7:00:00Z"},
           {"\"phase\": 1", "\"phase\": 1e9"},
           {"[\"n2\"]", "[2]"},
           {"\"exit_code\": 3", "\"exit_code\": \"3\""}}) {
    place.file("attempts/1/status.json", with(kStatus, from, to));
    CHECK_FALSE(read_attempts(place.root()));
  }
}

TEST_CASE("what may not be read is an error, not nothing", "[store][folder]") {
  const TestFolder place;
  place.file("a/attempts/1/status.json", kStatus);
  place.file("a/state.json", "{}");
  fs::permissions(place.root(), fs::perms(0755));
  fs::permissions(place.root() / "a/attempts", fs::perms(0));
  fs::permissions(place.root() / "a/state.json", fs::perms(0));
  record::LiveRun run;
  CHECK(as_another_user(
      [&] { return !read_attempts(place.root() / "a") && !read_state(place.root() / "a", run); }));
  fs::permissions(place.root() / "a/attempts", fs::perms(0700));
}

TEST_CASE("a state is read as it was written", "[store][folder]") {
  const TestFolder place;
  record::LiveRun run, got;
  got.cancel_asked = true;
  got.record.measured.steps = 7;
  REQUIRE(read_state(place.root() / "a", got));  // no file: no change
  CHECK_FALSE(got.cancel_asked);
  CHECK(got.record.measured.steps == 0);
  run.record.id = "a";
  fs::create_directory(place.root() / "a");
  run.take(record::StateVerdict{record::RunState::failed, record::Failure::gpu_memory,
                                "CUDA \"oom\"\n\xff"});
  run.cancel_asked = true;
  run.cancelled_hang = {"77_3", "no step for 20 s", 12};
  run.retries_from = 4;
  run.elapsed_seconds = 77.5;
  run.record.origin.end = 1763193600.5;
  run.submission = "77_3";
  auto& noted = run.record.measured;
  noted.gpu_hours = 12.125;
  noted.steps = 120;
  noted.last_loss = 2.25;
  noted.step_seconds = statistics::Interval{0.5, {}, {}, 1};
  noted.tokens_per_second = 1e6;
  noted.peak_memory_bytes = 7e10;
  noted.stated["evaluation_loss"] = 2.5;
  noted.stated["gradient_norm"] = 0.75;
  noted.stated["learning_rate"] = 1e-3;
  noted.stated["communicated_bytes"] = 4096;
  noted.stated["others_share"] = 0.25;
  noted.stated["clock_mhz"] = 2900;
  REQUIRE(write_states(place.root(), {&run}));
  got.record.measured.steps_planned = 500;
  REQUIRE(read_state(place.root() / "a", got));
  CHECK(got.record.state == record::RunState::failed);
  CHECK(got.record.failure == record::Failure::gpu_memory);
  CHECK(got.record.reason == "CUDA \"oom\"\\x0a\\xff");
  CHECK(got.cancel_asked);
  REQUIRE(got.cancelled_hang);
  CHECK(got.cancelled_hang->submission == "77_3");
  CHECK(got.cancelled_hang->reason == "no step for 20 s");
  CHECK(got.cancelled_hang->step == 12);
  CHECK(got.retries_from == 4);
  CHECK(got.gpu_hours() == 12.125);
  CHECK(got.elapsed_seconds == 77.5);
  CHECK(got.record.origin.end == 1763193600.5);
  CHECK(got.submission == "77_3");
  const auto& measured = got.record.measured;
  CHECK(measured.steps == 120);
  CHECK(measured.steps_planned == 500);  // from run.json
  CHECK(measured.last_loss == 2.25);
  CHECK(measured.step_seconds->value == 0.5);
  CHECK(measured.tokens_per_second == 1e6);
  CHECK(measured.peak_memory_bytes == 7e10);
  CHECK(measured.stated == noted.stated);

  noted.last_loss = std::nan("");
  noted.tokens_per_second = INFINITY;
  noted.stated["evaluation_loss"] = std::nan("");
  REQUIRE(write_states(place.root(), {&run}));
  REQUIRE(read_state(place.root() / "a", got));
  CHECK_FALSE(measured.last_loss);
  CHECK_FALSE(measured.stated.contains("evaluation_loss"));
  CHECK_FALSE(measured.tokens_per_second);
}

TEST_CASE("many states are written at once, and nothing is left beside them", "[store][folder]") {
  const TestFolder place;
  CHECK(write_states(place.root(), {}));
  std::vector<record::LiveRun> runs(21);
  std::vector<const record::LiveRun*> changed;
  for (int i = 0; i < 20; ++i) {
    auto& run = runs[static_cast<std::size_t>(i)];
    run.record.id = std::to_string(i);
    run.retries_from = i;
    changed.push_back(&run);
    fs::create_directory(place.root() / run.record.id);
  }
  REQUIRE(write_states(place.root(), changed));
  for (const auto* run : changed) {
    const auto folder = place.root() / run->record.id;
    record::LiveRun got;
    REQUIRE(read_state(folder, got));
    CHECK(got.retries_from == run->retries_from);
    CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
  }
  runs.back().record.id = "nowhere";
  changed.push_back(&runs.back());
  CHECK_FALSE(write_states(place.root(), changed));
  CHECK(std::distance(fs::directory_iterator(place.root() / "0"), fs::directory_iterator()) == 1);
}

TEST_CASE("a damaged state.json or experiment.json is named", "[store][folder]") {
  const TestFolder place;
  record::LiveRun run;
  check_rubbish(place.root() / "state.json", [&] { return read_state(place.root(), run); });
  check_rubbish(place.root() / "experiment.json", [&] { return read_experiment(place.root()); });
}

TEST_CASE("what a follower needs of an experiment is read as it was written", "[store][folder]") {
  const TestFolder place;
  CHECK_FALSE(read_experiment(place.root())->has_value());
  plan::Experiment asked;
  asked.name = "gpt";
  asked.file = "a \"b\".lua";
  asked.budget.gpu_hours = 1000.5;
  asked.budget.money = 2e6;
  asked.budget.co2_kg = 12.5;
  asked.budget.deadline = parse_date("2026-12-01");
  asked.expect.push_back({"tokens_per_second", 68000, 0.05, {}, "strategy=ddp"});
  asked.expect.push_back({"step_seconds", 1.5, {}, 0.1, ""});
  REQUIRE(write_experiment(place.root(), asked));
  const auto back = read_experiment(place.root());
  REQUIRE(back);
  REQUIRE(*back);
  CHECK((*back)->name == "gpt");
  CHECK((*back)->file == "a \"b\".lua");
  CHECK((*back)->budget.gpu_hours == 1000.5);
  CHECK((*back)->budget.money == 2e6);
  CHECK((*back)->budget.energy_kwh == 0);
  CHECK((*back)->budget.co2_kg == 12.5);
  CHECK((*back)->budget.deadline == asked.budget.deadline);
  CHECK((*back)->expect == asked.expect);
}

TEST_CASE("runs and experiments are found by what they hold", "[store][folder]") {
  const TestFolder place;
  for (const auto* name : {"x/b-2", "x/a-1", "x/.tmp-1@h@c-3"})
    place.file(fs::path(name) / "run.json", kRun);
  place.file("x/experiment.json", "{}");
  fs::create_directories(place.root() / "x/empty");
  fs::create_directories(place.root() / "submitted/submissions");
  fs::create_directories(place.root() / "other/folder");
  place.file("index.jsonl", "");
  CHECK(run_ids(place.root() / "x") == std::vector<std::string>{"a-1", "b-2"});
  CHECK(run_ids(place.root() / "nowhere").empty());
  CHECK(experiments(place.root()) == std::vector<std::string>{"submitted", "x"});
  CHECK(experiments(place.root() / "nowhere").empty());
}

TEST_CASE("a folder of someone else, or one that is closed, is refused", "[store][folder]") {
  const TestFolder place;
  CHECK(check_owner(place.root()));
  CHECK(check_owner(place.root() / "nowhere"));
  fs::permissions(place.root(), fs::perms(0777));
  if (::geteuid() == 0) {
    CHECK(as_another_user([&] { return !check_owner(place.root()); }));
    const auto mine = place.root() / "closed";
    fs::create_directory(mine);
    REQUIRE(::chown(mine.c_str(), 65534, 65534) == 0);
    CHECK(as_another_user([&] { return bool(check_owner(mine)); }));
    CHECK_FALSE(check_owner(mine));  // root leaves the folders of users alone too
    fs::permissions(mine, fs::perms(0500));
    CHECK(as_another_user([&] {
      const auto status = check_owner(mine);
      return !status && !status.error().front().fix.empty();
    }));
  } else {
    fs::permissions(place.root(), fs::perms(0500));
    CHECK_FALSE(check_owner(place.root()));
    fs::permissions(place.root(), fs::perms(0700));
    CHECK_FALSE(check_owner("/"));
  }
}
