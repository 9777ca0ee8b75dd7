#include "core/run/store/index.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/run/store/run_folder.h"
#include "tests/place.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::store;

namespace {

using ListedIds = std::vector<std::string>;

// A row for the present state of its folder: without a state.json.
StoreIndex::Row row(const std::string& experiment, const std::string& id) {
  StoreIndex::Row out;
  out.record.source = experiment;
  out.record.id = id;
  return out;
}

std::vector<StoreIndex::Row> many(const std::string& experiment, int from, int to) {
  std::vector<StoreIndex::Row> rows;
  for (int i = from; i < to; ++i) rows.push_back(row(experiment, "run-" + std::to_string(i)));
  return rows;
}

ListedIds ids(const fs::path& root, const std::string& experiment) {
  ListedIds out;
  for (const auto& found : StoreIndex(root).rows(experiment)) out.push_back(found.record.id);
  return out;
}

// Exits with what the body returned: 0 means success.
template <class Body>
pid_t start(const Body& body) {
  const auto pid = ::fork();
  if (pid == 0) ::_exit(body());
  return pid;
}

int wait_for(pid_t pid) {
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("a row is read as it was put", "[store][index]") {
  const TestFolder place;
  StoreIndex::Row full;
  full.record.source = "x";
  full.record.id = "a-1";
  full.record.set("strategy", std::string("zero3"));
  full.record.set("cluster", std::string("jz"));
  full.record.set("gpus", std::int64_t{16});
  full.record.set("nodes", std::int64_t{2});
  full.record.set("accumulate", std::int64_t{4});
  full.variant = "stage=2";
  full.record.measured.steps_planned = 286103;
  full.phases = 3;
  auto& estimated = full.record.estimated.emplace();
  estimated.fit = plan::MemoryFit::tight;
  estimated.step_seconds = 2.5;
  estimated.step_low = 2;
  estimated.step_high = 3;
  estimated.tokens_per_second = 4e5;
  estimated.peak_memory = 7.5e10;
  estimated.days_per_100b_tokens = 2.75;
  estimated.communicated = 4096;
  estimated.gpu_hours = 3178.5;
  full.take(
      record::StateVerdict{record::RunState::failed, record::Failure::nccl, "it's \"broken\"; --"});
  full.cancel_asked = true;
  full.retries_from = 7;
  full.record.measured.gpu_hours = 0.125;
  full.elapsed_seconds = 3600.5;
  full.record.origin.end = 1763193600.5;
  full.submission = "77_x";
  auto& noted = full.record.measured;
  noted.steps = 120;
  noted.last_loss = 2.25;
  noted.step_seconds = statistics::Interval{0.5, {}, {}, 1};
  noted.tokens_per_second = 1e6;
  noted.peak_memory_bytes = 7e10;
  noted.stated = {{"evaluation_loss", 2.5}, {"learning_rate", 1e-3}, {"communicated_bytes", 4096}};
  REQUIRE(StoreIndex(place.root()).put("x", {full, row("x", "b-2")}));
  const auto rows = StoreIndex(place.root()).rows("x");
  REQUIRE(rows.size() == 2);
  const auto& found = rows[0];
  CHECK(found.record.fields == full.record.fields);
  CHECK(found.record.source == "x");
  CHECK(found.record.id == "a-1");
  CHECK(found.variant == "stage=2");
  CHECK(found.record.estimated->communicated == 4096);
  CHECK(found.record.measured.steps_planned == 286103);
  CHECK(found.phases == 3);
  CHECK(found.record.estimated->fit == plan::MemoryFit::tight);
  CHECK(found.record.estimated->step_seconds == 2.5);
  CHECK(found.record.estimated->step_low == 2);
  CHECK(found.record.estimated->step_high == 3);
  CHECK(found.record.estimated->tokens_per_second == 4e5);
  CHECK(found.record.estimated->peak_memory == 7.5e10);
  CHECK(found.record.estimated->days_per_100b_tokens == 2.75);
  CHECK(found.record.estimated->gpu_hours == 3178.5);
  CHECK(found.record.state == record::RunState::failed);
  CHECK(found.record.failure == record::Failure::nccl);
  CHECK(found.record.reason == "it's \"broken\"; --");
  CHECK(found.cancel_asked);
  CHECK(found.retries_from == 7);
  CHECK(found.gpu_hours() == 0.125);
  CHECK(found.elapsed_seconds == 3600.5);
  CHECK(found.record.origin.end == 1763193600.5);
  CHECK(found.submission == full.submission);
  CHECK(found.record.measured.steps == 120);
  CHECK(found.record.measured.last_loss == 2.25);
  CHECK(found.record.measured.step_seconds->value == 0.5);
  CHECK(found.record.measured.tokens_per_second == 1e6);
  CHECK(found.record.measured.peak_memory_bytes == 7e10);
  CHECK(found.record.measured.stated.at("evaluation_loss") == 2.5);
  CHECK_FALSE(found.record.measured.stated.contains("gradient_norm"));
  CHECK(found.record.measured.stated.at("learning_rate") == 1e-3);
  CHECK(found.record.measured.stated.at("communicated_bytes") == 4096);
  CHECK(rows[1].record.measured.steps == 0);
  CHECK_FALSE(rows[1].cancel_asked);
}

TEST_CASE("rows are replaced, and kept apart by experiment", "[store][index]") {
  const TestFolder place;
  const StoreIndex index(place.root());
  REQUIRE(index.put("x", {row("x", "a-1"), row("x", "b-2")}));
  REQUIRE(index.put("y", {row("y", "a-1")}));
  REQUIRE(index.put("o'x", {row("o'x", "c-3")}));
  auto newer = row("x", "b-2");
  newer.record.measured.steps = 5;
  REQUIRE(index.put("x", {newer}));
  CHECK(ids(place.root(), "x") == ListedIds{"b-2"});
  CHECK(StoreIndex(place.root()).rows("x")[0].record.measured.steps == 5);
  CHECK(ids(place.root(), "y") == ListedIds{"a-1"});
  CHECK(ids(place.root(), "o'x") == ListedIds{"c-3"});
  REQUIRE(index.put("y", {}));
  CHECK(ids(place.root(), "y").empty());
}

TEST_CASE("a row counts as long as its state.json is the same file", "[store][index]") {
  const TestFolder place;
  const auto folder = place.root() / "x/a-1";
  fs::create_directories(folder);
  const auto end = [&](record::RunState state) {
    auto run = row("x", "a-1");
    run.record.state = state;
    REQUIRE(write_states(place.root() / "x", {&run}));
  };
  CHECK(stamp_of(folder).empty());
  end(record::RunState::failed);
  auto ended = row("x", "a-1");
  ended.stamp = stamp_of(folder);
  REQUIRE_FALSE(ended.stamp.empty());
  REQUIRE(StoreIndex(place.root()).put("x", {ended, row("x", "never-ended")}));
  CHECK(ids(place.root(), "x") == ListedIds{"a-1", "never-ended"});
  end(record::RunState::failed);  // the same text, written again
  CHECK(ids(place.root(), "x") == ListedIds{"never-ended"});
  fs::remove(folder / "state.json");
  CHECK(ids(place.root(), "x") == ListedIds{"never-ended"});
}

TEST_CASE("processes that write at once, or are killed, leave a whole index", "[store][index]") {
  const TestFolder place;
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c)
    children.push_back(start([&] {
      for (;;)
        if (!StoreIndex(place.root()).put("x", many("x", 0, 100 * (c + 1)))) return 1;
    }));
  REQUIRE(StoreIndex(place.root()).put("x", many("x", 0, 100)));
  for (int i = 0; i < 100; ++i) {
    if (i % 25 == 24) ::kill(children[static_cast<std::size_t>(i) / 25], SIGKILL);
    const auto count = ids(place.root(), "x").size();
    REQUIRE((count == 100 || count == 200 || count == 300 || count == 400));
  }
  for (const auto pid : children) CHECK(WTERMSIG(wait_for(pid)) == SIGKILL);
}

TEST_CASE("an index that is damaged or of another version is none, and made anew",
          "[store][index]") {
  const TestFolder place;
  REQUIRE(StoreIndex(place.root()).put("x", many("x", 0, 3)));
  auto overwritten = *read_file(place.root() / "index.jsonl");
  overwritten[overwritten.find("run-1") - 20] = '\xa5';
  for (const auto& [text, left] : {std::pair<std::string, std::size_t>{"garbage", 0},
                                   {"", 0},
                                   {"{\"orch_index\":99}\n{\"what\":1}\n", 0},
                                   {std::string(100'000, '\xff'), 0},
                                   {overwritten, 2}}) {
    place.file("index.jsonl", text);
    StoreIndex index(place.root());
    CHECK(index.rows("x").size() == left);
    CHECK(index.why().empty());
    REQUIRE(index.put("x", {row("x", "a-1")}));
    CHECK(ids(place.root(), "x") == ListedIds{"a-1"});
  }
}

// The limit was once 64 MiB: about 72,000 runs.
TEST_CASE("an index of any size is read, and kept when another experiment is put",
          "[store][index]") {
  const TestFolder place;
  const StoreIndex index(place.root());
  auto large = row("large", "run-0");
  large.record.reason = std::string(1 << 20, 'r');
  REQUIRE(index.put("large", {large}));
  auto text = *read_file(place.root() / "index.jsonl");
  const auto line = text.substr(text.find('\n') + 1);
  for (int i = 1; i < 70; ++i) text += line;
  place.file("index.jsonl", text);
  REQUIRE(index.put("behind", {row("behind", "a-1")}));
  REQUIRE(index.put("small", {row("small", "b-2")}));
  CHECK(fs::file_size(place.root() / "index.jsonl") > text.size());
  CHECK(ids(place.root(), "behind") == ListedIds{"a-1"});
  CHECK(ids(place.root(), "small") == ListedIds{"b-2"});
}

TEST_CASE("an experiment is known by its field, not by a string that looks like it",
          "[store][index]") {
  const TestFolder place;
  const StoreIndex index(place.root());
  auto odd = row("x", "a-1");
  odd.record.reason = R"("experiment":"y" and {"experiment":"y"})";
  REQUIRE(index.put("x", {odd}));
  REQUIRE(index.put("y", {row("y", "b-2")}));
  CHECK(ids(place.root(), "x") == ListedIds{"a-1"});
  CHECK(ids(place.root(), "y") == ListedIds{"b-2"});
  REQUIRE(index.put("y\"", {row("y\"", "c-3")}));
  CHECK(ids(place.root(), "y\"") == ListedIds{"c-3"});
  CHECK(ids(place.root(), "y") == ListedIds{"b-2"});
  auto endless = row("x", "b-2");  // a reader would skip its line
  endless.record.reason = std::string(4 << 20, 'r');
  REQUIRE(index.put("x", {endless, odd}));
  CHECK(ids(place.root(), "x") == ListedIds{"a-1"});
  CHECK(fs::file_size(place.root() / "index.jsonl") < 10'000);
}

TEST_CASE("where it cannot be, the index says why and has no rows", "[store][index]") {
  const TestFolder place;
  const auto cannot = [](StoreIndex index) {
    const bool read = index.rows("x").empty() && !index.why().empty();
    return !index.put("x", {row("x", "a-1")}) && read;
  };
  place.file("index.jsonl/file", "");
  CHECK(cannot(StoreIndex(place.root())));
  CHECK_FALSE(rebuild_index(place.root()));
  CHECK_FALSE(StoreIndex(place.root() / "nowhere").put("x", {row("x", "a-1")}));

  const auto closed = place.root() / "closed";
  fs::create_directory(closed);
  REQUIRE(StoreIndex(closed).put("x", {row("x", "a-1")}));
  fs::permissions(place.root(), fs::perms(0755));
  fs::permissions(closed, fs::perms(0555));
  CHECK(wait_for(start([&] {  // it can be read, as it is
          if (::geteuid() == 0 && ::setuid(65534) != 0) return 2;
          return !StoreIndex(closed).put("x", {}) && ids(closed, "x") == ListedIds{"a-1"} ? 0 : 1;
        })) == 0);
  fs::permissions(closed, fs::perms(0755));
}

TEST_CASE("a disk that fills up leaves the index as it was", "[store][index]") {
  const TestFolder place;
  REQUIRE(StoreIndex(place.root()).put("x", many("x", 0, 10)));
  CHECK(wait_for(start([&] {
          ::signal(SIGXFSZ, SIG_IGN);  // as orch does
          const rlimit limit{40'000, 40'000};
          if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
          return StoreIndex(place.root()).put("x", many("x", 0, 10'000)) ? 3 : 0;
        })) == 0);
  CHECK(ids(place.root(), "x").size() == 10);
}

TEST_CASE("the index is made again from the folders alone", "[store][index]") {
  const TestFolder place;
  const auto run = [](const std::string& experiment) {
    return R"({"version": 1, "experiment": ")" + experiment +
           R"(", "strategy": "ddp", "backend": "ddp",
      "model": {"family": "gpt", "layers": 1, "hidden": 8, "heads": 1, "vocab": 8, "seq": 10},
      "cluster": "c", "gpus": 1, "nodes": 1, "global_batch": 1,
      "tokens": 100, "steps": 0})";
  };
  place.file("x/a-1/run.json", run("x"));
  place.file("x/b-2/run.json", run("x"));
  place.file("renamed/a-1/run.json", run("y"));
  place.file("x/damaged-3/run.json", "{");
  auto ended = row("x", "b-2");
  ended.record.state = record::RunState::finished;
  REQUIRE(write_states(place.root() / "x", {&ended}));
  REQUIRE(StoreIndex(place.root()).put("gone", {row("gone", "z-9")}));

  Errors damaged;
  const auto count = rebuild_index(place.root(), &damaged);
  REQUIRE(count);
  CHECK(*count == 3);
  REQUIRE(damaged.size() == 1);
  CHECK(damaged.front().place.find("damaged-3") != std::string::npos);
  CHECK(ids(place.root(), "x") == ListedIds{"a-1", "b-2"});
  CHECK(ids(place.root(), "renamed") == ListedIds{"a-1"});
  CHECK(ids(place.root(), "gone").empty());
  const auto rows = StoreIndex(place.root()).rows("x");
  CHECK(rows[0].record.measured.steps_planned == 10);
  CHECK(rows[0].record.state == record::RunState::planned);
  CHECK(rows[1].record.state == record::RunState::finished);
}
