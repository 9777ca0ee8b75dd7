#include "core/app/failures.h"

#include "core/base/date.h"
#include "core/base/text.h"
#include "core/run/store/run_folder.h"
#include "core/run/store/submissions.h"
#include "tests/app/desk.h"

using namespace orch;
using app::Exit;

namespace {

const std::string kHeader =
    "JobID|JobIDRaw|Partition|State|Submit|Eligible|Start|End|NNodes|AllocTRES\n";
constexpr double kNewYear = 1767225600;  // 2026-01-01T00:00:00Z
constexpr double kHour = 3600;

class FailuresBench : public Desk {
 public:
  // A line of sacct: hours are counted from new year; the job waited for one.
  static std::string job(int id, const std::string& state, double from, double to, int gpus) {
    const auto at = [](double hours) { return fmt::format("{:.0f}", kNewYear + hours * kHour); };
    return fmt::format("{}|{}|gpu|{}|{}|{}|{}|{}|{}|cpu=8,gres/gpu={}\n", id, id, state,
                       at(from - 2), at(from - 1), at(from), at(to), (gpus + 7) / 8, gpus);
  }

  // 20,000 GPU-hours and two failures of nodes.
  static std::string site() {
    return kHeader + job(1, "COMPLETED", 0, 1000, 16) + job(2, "NODE_FAIL", 0, 300, 8) +
           job(2, "COMPLETED", 301, 501, 8) + job(3, "BOOT_FAIL", 0, 0.1, 8) +
           job(4, "CANCELLED by 1000", 100, 100, 8) + job(5, "FAILED", 100, 100, 8) +
           "6|6|gpu|PENDING|100|100|Unknown|Unknown|1|\n"
           "2.batch|2.batch||FAILED|100|100|100|200|1|gres/gpu=8\n" +
           job(7, "COMPLETED", 0, 50, 0);
  }

  std::string mine(const std::string& operation = "") const {
    return file("clusters/mine.yaml", "name: mine\nlike: dgx-a100\n" + operation +
                                          "partitions:\n  - name: a100-80g  # ours\n")
        .string();
  }

  app::CalibrateArguments learn(std::vector<std::string> from, const std::string& cluster) const {
    app::CalibrateArguments out;
    out.failures = true;
    out.files = std::move(from);
    out.cluster = cluster;
    out.common.format = "json";
    return out;
  }
  CommandOutput operator()(const app::CalibrateArguments& arguments) const {
    return Desk::operator()(app::calibrate_command, arguments);
  }

  // One run of dgx-a100 on eight GPUs, with nothing done yet.
  fs::path planned() const {
    app::RunArguments run;
    run.plan.options.runs = runs();
    run.plan.source.file = file("one.lua", R"(return experiment { name = "one", model = "gpt-1.3b",
  hardware = { cluster = "dgx-a100", gpus = 8 }, batch = { accumulate = 1 },
  strategies = { ddp { flash_attention = false } } })");
    REQUIRE(Desk::operator()(app::run_command, run).exit == Exit::ok);
    return fs::path("runs/one") / store::run_ids(root() / "runs/one").front();
  }

  // Of one run, by SLURM.
  static record::Submission submission(const fs::path& run) {
    record::Submission out;
    out.executor = "slurm";
    out.runs = {run.filename().string()};
    out.sums = {{std::string(64, '0'), ""}};
    return out;
  }
  // orch ended the job of this submission, which made no steps.
  void hang(const fs::path& run, const record::Submission& submission) const {
    auto live = store::read_live_run(root() / run);
    REQUIRE(live);
    live->cancelled_hang = {submission.id, "no step for an hour", 7};
    file(run / "state.json", store::state_json(*live));
  }

  // An attempt from one hour of the year to another; a "running" one did not record its end.
  void attempt(const fs::path& run, int number, int job, const std::string& state, double from,
               double to, const std::string& failure = "",
               const std::string& submission = "") const {
    const auto at = [](double hours) { return format_moment(kNewYear + hours * kHour); };
    const auto place = run / "attempts" / std::to_string(number);
    const auto status = file(
        place / "status.json",
        fmt::format(
            R"({{"version": 1, "state": "{}", "message": "", "job_id": "{}", "submission": "{}",
               "restart_count": 0, "phase": 1, "phases": 1, "start": "{}", "end": {}, "signal": null,
               "exit_code": null, "nodes": ["n1"], "bad_nodes": []}})",
            state, job, submission, at(from), state == "running" ? "null" : "\"" + at(to) + "\""));
    const auto seen = std::chrono::sys_seconds(
        std::chrono::seconds(static_cast<std::int64_t>(kNewYear + to * kHour)));
    fs::last_write_time(status, std::chrono::file_clock::from_sys(seen));
    if (!failure.empty())
      file(place / "events.jsonl",
           fmt::format(R"({{"event":"failed","time":1,"class":"{}","message":"it broke"}})"
                       "\n",
                       failure));
  }
};

const nlohmann::json& row(const nlohmann::json& table, const std::string& key,
                          const nlohmann::json& value) {
  for (const auto& each : table)
    if (each[key] == value) return each;
  FAIL("no row " + value.dump() + " in " + table.dump());
  return table;
}

}  // namespace

TEST_CASE("a site's failures and waits are learned from sacct", "[app][failures]") {
  const FailuresBench bench;
  bench.mine();
  const auto text = bench.file("sacct.txt", FailuresBench::site());
  auto learn = bench.learn({text.string()}, "mine");
  const auto told = bench(learn);
  REQUIRE(told.exit == Exit::ok);
  const auto answer = told.json();
  // The prior: 3 failures at 1.9733e-5 per GPU-hour, so in 152,029.6 GPU-hours. Then 2 in
  // 16 * 1,000 + 8 * 300 + 8 * 200 + 8 * 0.1 = 20,000.8.
  const auto& failures = row(answer["constants"], "name", "failures");
  CHECK(failures["before"].get<double>() == Approx(1.97329e-5).epsilon(1e-4));
  CHECK(failures["after"].get<double>() == Approx(5 / 172030.4).epsilon(1e-4));
  // Of chi-squared with 10 degrees: 3.940 and 18.307.
  CHECK(failures["low"].get<double>() == Approx(3.940 / 2 / 172030.4).epsilon(1e-3));
  CHECK(failures["high"].get<double>() == Approx(18.307 / 2 / 172030.4).epsilon(1e-3));
  CHECK(row(answer["constants"], "name", "failure_count")["after"] == 5);
  // Four jobs ran for a while, each after an hour since it could start: too few.
  CHECK(answer["constants"].size() == 2);
  CHECK(finding(answer, "queue_wait").find("4 jobs of at least 8 GPUs") != std::string::npos);
  const auto& source = answer["sources"][0];
  CHECK(source["jobs"] == 6);  // each start of each job
  CHECK(source["gpu_hours"].get<double>() == Approx(20000.8));
  CHECK(source["kinds"] == "BOOT_FAIL 1, NODE_FAIL 1");
  CHECK(source["from"] == "2026-01-01");
  CHECK(source["to"] == "2026-02-11");
  const auto uncounted = [&](const char* what) {
    return row(answer["not_counted"], "what", what)["count"];
  };
  CHECK(uncounted("failures of state FAILED") == 1);
  CHECK(uncounted("ends of state CANCELLED") == 1);
  CHECK(uncounted("jobs that did not start") == 1);
  CHECK(uncounted("jobs without GPUs") == 1);
  CHECK(uncounted("lines of steps") == 1);
  // 1 / (5 / 172,030.4) / 384 hours.
  const auto& between = row(answer["between_failures"], "gpus", 384);
  CHECK(between["hours_between_failures"].get<double>() == Approx(89.6).epsilon(1e-3));
  CHECK(finding(answer, "answer").starts_with("mine: one failure in 34,406 GPU-hours"));
  CHECK(told.notes_have("nothing was written: --write"));
  for (const auto* format : {"table", "md", "csv"}) {
    learn.common.format = format;
    CHECK(bench(learn).has("failure_count"));
  }
}

TEST_CASE("what is learned is written once, however often", "[app][failures]") {
  const FailuresBench bench;
  const auto cluster =
      bench.mine("operation:\n  pue: { value: 1.3, origin: page }  # as of 2025\n");
  auto site = FailuresBench::site();
  for (int id = 10; id < 13; ++id) site += FailuresBench::job(id, "COMPLETED", 2000, 2001, 8);
  const auto text = bench.file("sacct.txt", site);
  auto learn = bench.learn({text.string()}, "mine");
  learn.write = true;
  const auto told = bench(learn);
  REQUIRE(told.exit == Exit::ok);
  const auto once = *read_file(cluster);
  CHECK(once.find("  pue: { value: 1.3, origin: page }  # as of 2025\n") != std::string::npos);
  CHECK(once.find("  - name: a100-80g  # ours\n") != std::string::npos);
  CHECK(once.find("failures: { value: 2.9061e-05, origin: \"measured: 2 failures in 20,025 "
                  "GPU-hours of sacct, 2026-01-01 to 2026-03-25, over a prior of 1.9733e-05 worth "
                  "3: published: Llama 3, ") != std::string::npos);
  CHECK(once.find("queue_wait: { value: 3600 s, origin: \"measured: median of 7 jobs on at least 8 "
                  "GPUs in sacct, ") != std::string::npos);
  // The same jobs again, and their file named twice: nothing changes.
  REQUIRE(bench(learn).exit == Exit::ok);
  CHECK(*read_file(cluster) == once);
  learn.files.push_back(text.string());
  REQUIRE(bench(learn).exit == Exit::ok);
  CHECK(*read_file(cluster) == once);
  // More jobs replace what was learned from fewer: (3 + 3) / (152,029.6 + 20,024.8 + 8,000).
  bench.file("sacct.txt", site + FailuresBench::job(20, "NODE_FAIL", 0, 1000, 8));
  REQUIRE(bench(learn).exit == Exit::ok);
  CHECK(read_file(cluster)->find("failures: { value: 3.3323e-05,") != std::string::npos);
  // Into another file, under its name.
  learn.write = false;
  learn.output = (bench.root() / "clusters/yours.yaml").string();
  REQUIRE(bench(learn).exit == Exit::ok);
  CHECK(read_file(learn.output)->starts_with("name: yours\n"));
}

TEST_CASE("a rate of the user's own is the prior", "[app][failures]") {
  const FailuresBench bench;
  bench.mine(
      "operation:\n  node_days_between_failures: { value: 100, origin: log }\n"
      "  failure_count: { value: 10, origin: log }\n");
  const auto text = bench.file("sacct.txt", FailuresBench::site());
  auto learn = bench.learn({text.string()}, "mine/a100-80g");
  learn.write = true;
  const auto told = bench(learn);
  REQUIRE(told.exit == Exit::ok);
  // 10 in 100 days of 8 GPUs each: 192,000 GPU-hours; the file has 5.2083e-5.
  const auto answer = told.json();
  const auto& failures = row(answer["constants"], "name", "failures");
  CHECK(failures["after"].get<double>() == Approx(12 / (192000 + 20000.8)).epsilon(1e-4));
  // The partition's own rate goes before that of the cluster.
  const auto written = *read_file(bench.root() / "clusters/mine.yaml");
  CHECK(written.find("    operation:\n      failures: { value: 5.6603e-05,") != std::string::npos);
  CHECK(bench(learn).exit == Exit::ok);
  CHECK(*read_file(bench.root() / "clusters/mine.yaml") == written);
  const auto again = app::failure_prior([] {
    plan::Partition partition;
    partition.operation.failures = {
        4e-5, app::learned_origin("7 failures in 9 GPU-hours", {5.2083e-5, 10, "log: of 2025"})};
    return partition;
  }());
  CHECK(again.rate == 5.2083e-5);
  CHECK(again.count == 10);
  CHECK(again.origin == "log: of 2025");
}

TEST_CASE("jobs of other partitions do not count", "[app][failures]") {
  const FailuresBench bench;
  bench.file("clusters/mine.yaml",
             "name: mine\nlike: dgx-a100\npartitions:\n  - name: a100-80g\n    slurm:\n"
             "      partition: big\n");
  const auto text =
      bench.file("sacct.txt", kHeader + "1|1|big|COMPLETED|100|100|200|3800|2|cpu=4\n" +
                                  "2|2|gpu|NODE_FAIL|100|100|200|3800|8|cpu=4\n");
  // GPUs are not recorded: two nodes of eight for an hour.
  const auto answer = bench(bench.learn({text.string()}, "mine/a100-80g")).json();
  CHECK(answer["sources"][0]["gpu_hours"] == 16);
  CHECK(answer["sources"][0]["failures"] == 0);
  CHECK(row(answer["not_counted"], "what", "jobs of other partitions")["count"] == 1);
}

// Its components wait, start and end together.
TEST_CASE("a heterogeneous job counts once, with the hours of all its components",
          "[app][failures]") {
  const FailuresBench bench;
  bench.mine();
  const auto line = [](const char* id, const char* state, int gpus) {
    return fmt::format("{}|1|gpu|{}|3600|3600|7200|14400|1|gres/gpu={}\n", id, state, gpus);
  };
  const auto text = bench.file(
      "sacct.txt", kHeader + line("7+0", "CANCELLED by 0", 8) + line("7+1", "NODE_FAIL", 16) +
                       line("8+0", "NODE_FAIL", 8) + line("8+1", "NODE_FAIL", 8) +
                       line("9+0", "FAILED", 8) + line("9+1", "FAILED", 8));
  const auto answer = bench(bench.learn({text.string()}, "mine")).json();
  const auto& source = answer["sources"][0];
  CHECK(source["jobs"] == 3);
  CHECK(source["gpu_hours"] == 2 * 56);
  CHECK(source["kinds"] == "NODE_FAIL 2");
  REQUIRE(answer["not_counted"].size() == 1);
  CHECK(row(answer["not_counted"], "what", "failures of state FAILED")["count"] == 1);
}

TEST_CASE("our own attempts say why they ended, and count once beside sacct", "[app][failures]") {
  const FailuresBench bench;
  const auto run = bench.planned();
  bench.attempt(run, 1, 71, "failed", 0, 1, "nccl");
  bench.attempt(run, 2, 72, "running", 2, 4);  // its node died: SLURM started the job again
  bench.attempt(run, 3, 72, "stopped", 5, 7);
  bench.attempt(run, 4, 73, "running", 8, 9);  // without a trace
  bench.attempt(run, 5, 74, "failed", 10, 11, "data");
  auto learn = bench.learn({bench.runs()}, "dgx-a100");
  auto answer = bench(learn).json();
  REQUIRE(answer["sources"].size() == 1);
  CHECK(answer["sources"][0]["source"] == "attempts");
  CHECK(answer["sources"][0]["gpu_hours"].get<double>() == Approx(8 * (1 + 2 + 2 + 1 + 1)));
  CHECK(answer["sources"][0]["kinds"] == "nccl 1, node 1");
  const auto uncounted = [&](const char* what) {
    return row(answer["not_counted"], "what", what)["count"];
  };
  CHECK(uncounted("attempts without a trace of their end") == 1);
  CHECK(uncounted("attempts that failed: data") == 1);
  // sacct has some of these jobs, and knows how they ended.
  const auto text = bench.file("sacct.txt", kHeader + FailuresBench::job(71, "FAILED", 0, 1, 8) +
                                                FailuresBench::job(72, "NODE_FAIL", 2, 4.1, 8) +
                                                FailuresBench::job(72, "COMPLETED", 5, 7, 8) +
                                                FailuresBench::job(73, "NODE_FAIL", 8, 9, 8));
  learn.files.push_back(text.string());
  answer = bench(learn).json();
  REQUIRE(answer["sources"].size() == 2);
  CHECK(row(answer["sources"], "source", "sacct")["gpu_hours"].get<double>() ==
        Approx(8 * (1 + 2.1 + 2 + 1)));
  CHECK(row(answer["sources"], "source", "sacct")["kinds"] == "NODE_FAIL 2");
  CHECK(row(answer["sources"], "source", "attempts")["gpu_hours"].get<double>() == Approx(8));
  CHECK(row(answer["sources"], "source", "attempts")["kinds"] == "nccl 1");
  CHECK(row(answer["constants"], "name", "failure_count")["after"] == 6);
  // Of another cluster there is nothing.
  const auto none = bench(bench.learn({bench.runs()}, "jean-zay/a100-80g"));
  CHECK(none.exit == Exit::error);
  CHECK(none.notes_have("no job held GPUs; not counted: runs of other clusters (1)"));
}

TEST_CASE("our own attempts know their waits, and the hang that orch ended", "[app][failures]") {
  const FailuresBench bench;
  const auto run = bench.planned();
  auto submission = FailuresBench::submission(run);
  for (int i = 1; i <= 5; ++i) {
    // Submitted i hours before it starts; the third one hangs.
    submission.time = kNewYear + (10 * i - i) * kHour;
    REQUIRE(store::write_submission(bench.root() / "runs/one", submission, ""));
    bench.attempt(run, i, 70 + i, i == 3 ? "cancelled" : "stopped", 10 * i, 10 * i + 1, "",
                  submission.id);
    if (i == 3) bench.hang(run, submission);
  }
  const auto answer = bench(bench.learn({(bench.root() / run).string()}, "dgx-a100")).json();
  CHECK(answer["sources"][0]["kinds"] == "hang 1");
  CHECK(answer["sources"][0]["gpu_hours"] == 40);
  const auto& wait = row(answer["constants"], "name", "queue_wait");
  CHECK(wait["after"] == 3 * kHour);  // of 1, 2, 3, 4 and 5 hours
  CHECK(wait["origin"].get<std::string>().find("5 jobs on at least 8 GPUs in our own attempts") !=
        std::string::npos);
}

TEST_CASE("of the attempts of a requeued job the last one hung", "[app][failures]") {
  const FailuresBench bench;
  const auto run = bench.planned();
  auto submission = FailuresBench::submission(run);
  submission.time = kNewYear;
  REQUIRE(store::write_submission(bench.root() / "runs/one", submission, ""));
  for (int i = 1; i <= 3; ++i)
    bench.attempt(run, i, 70, i == 3 ? "cancelled" : "stopped", 10 * i, 10 * i + 1, "",
                  submission.id);
  bench.hang(run, submission);
  const auto answer = bench(bench.learn({(bench.root() / run).string()}, "dgx-a100")).json();
  CHECK(answer["sources"][0]["kinds"] == "hang 1");
}

TEST_CASE("a job whose end was lost years ago is left out", "[app][failures]") {
  const FailuresBench bench;
  const auto text =
      bench.file("sacct.txt",
                 "JobID|State|Submit|Start|End|AllocTRES\n"
                 "1|RUNNING|2020-01-01T00:00:00|2020-01-01T00:00:00|Unknown|gres/gpu=256\n"
                 "2|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:00|"
                 "2026-01-02T00:00:00|gres/gpu=8\n");
  const auto answer = bench(bench.learn({text.string()}, "dgx-a100")).json();
  CHECK(answer["sources"][0]["gpu_hours"] == 8 * 24);
  CHECK(row(answer["not_counted"], "what", "jobs that run for more than 60 days")["count"] == 1);
}

TEST_CASE("what cannot be learned is refused, and nothing is written", "[app][failures]") {
  const FailuresBench bench;
  const auto cluster = bench.mine("operation:\n  failures: { value: 0, origin: hope }\n");
  const auto before = *read_file(cluster);
  const auto text = bench.file("sacct.txt", FailuresBench::site()).string();
  auto learn = bench.learn({text}, "mine");
  learn.write = true;
  CHECK(bench(learn).notes_have("its rate of failures is 0"));
  learn.cluster = "";
  CHECK(bench(learn).exit == Exit::usage);
  learn.cluster = "mine/nothing";
  CHECK(bench(learn).notes_have("mine has no partition 'nothing'"));
  learn = bench.learn({bench.file("short.txt", "JobID|State|Start|End\n").string()}, "mine");
  CHECK(bench(learn).notes_have("no column Eligible (or Submit) and AllocTRES (or NNodes)"));
  CHECK(bench(bench.learn({}, "dgx-a100")).notes_have("SLURM does not answer here"));
  learn = bench.learn({bench.file("empty/x", "").parent_path().string()}, "mine");
  CHECK(bench(learn).notes_have("contains no run folder"));
  CHECK(*read_file(cluster) == before);
  // Several rates in one cluster: which one is learned?
  bench.file("clusters/two.yaml",
             "name: two\nlike: jean-zay\npartitions:\n  - name: a100-80g\n    operation:\n"
             "      failures: { value: 1e-5, origin: log }\n  - name: v100-32g\n");
  learn = bench.learn({text}, "two");
  CHECK(bench(learn).notes_have("a100-80g and v100-32g have rates of failures of their own"));
}
