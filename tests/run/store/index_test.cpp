#include "core/run/store/index.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <cmath>

#include "core/run/store/run_folder.h"
#include "tests/place.h"

using namespace orch;
using namespace orch::store;

namespace {

Index::Row row(const std::string& experiment, const std::string& id) {
  Index::Row out;
  out.facts.experiment = experiment;
  out.facts.id = id;
  return out;
}

std::vector<Index::Row> many(const std::string& experiment, int from, int to) {
  std::vector<Index::Row> rows;
  for (int i = from; i < to; ++i) rows.push_back(row(experiment, "run-" + std::to_string(i)));
  return rows;
}

std::vector<std::string> ids(Index& index, const std::string& experiment) {
  std::vector<std::string> out;
  for (const auto& found : index.rows(experiment)) out.push_back(found.facts.id);
  return out;
}

using Ids = std::vector<std::string>;

// Ends with what the body returned: 0 is well.
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

std::string output_of(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string out;
  char buffer[512];
  while (const auto got = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, got);
  ::pclose(pipe);
  return out;
}

}  // namespace

TEST_CASE("a row is read as it was put", "[store][index]") {
  const Place place;
  Index::Row full;
  full.facts = {"x", "a-1", "zero3", "stage=2", "jz", 16, 2, 4, 286103, 1048576, 3, {}};
  auto& estimated = full.facts.estimated;
  estimated.fit = "tight";
  estimated.step_seconds = 2.5;
  estimated.step_low = 2;
  estimated.step_high = 3;
  estimated.tokens_per_second = 4e5;
  estimated.peak_memory_bytes = 7.5e10;
  estimated.days_per_100b_tokens = 2.75;
  estimated.communicated_bytes = 4096;
  estimated.gpu_hours = 3178.5;
  full.outcome.verdict = {record::State::failed, record::Failure::nccl, "it's \"broken\"; --"};
  full.outcome.cancel_asked = true;
  full.outcome.retries_from = 7;
  full.outcome.gpu_hours = 0.125;
  full.outcome.elapsed_seconds = 3600.5;
  full.outcome.end = 1763193600.5;
  full.outcome.submission = "77_x";
  auto& noted = full.outcome.measured;
  noted.steps = 120;
  noted.last_loss = 2.25;
  noted.step_seconds = statistics::Interval{0.5, {}, {}, 1};
  noted.tokens_per_second = 1e6;
  noted.peak_memory_bytes = 7e10;
  noted.stated = {{"evaluation_loss", 2.5}, {"learning_rate", 1e-3}, {"communicated_bytes", 4096}};
  full.updated = 1763193601;
  {
    auto index = Index::open(place.root());
    REQUIRE(index.available());
    index.put({full, row("x", "b-2")});
  }
  auto index = Index::open(place.root());
  const auto rows = index.rows("x");
  REQUIRE(rows.size() == 2);
  const auto& [facts, outcome, updated] = rows[0];
  CHECK(facts.experiment == "x");
  CHECK(facts.id == "a-1");
  CHECK(facts.strategy == "zero3");
  CHECK(facts.variant == "stage=2");
  CHECK(facts.cluster == "jz");
  CHECK(facts.gpus == 16);
  CHECK(facts.nodes == 2);
  CHECK(facts.accumulate == 4);
  CHECK(facts.estimated.communicated_bytes == 4096);
  CHECK(facts.steps == 286103);
  CHECK(facts.tokens_per_step == 1048576);
  CHECK(facts.phases == 3);
  CHECK(facts.estimated.fit == "tight");
  CHECK(facts.estimated.step_seconds == 2.5);
  CHECK(facts.estimated.step_low == 2);
  CHECK(facts.estimated.step_high == 3);
  CHECK(facts.estimated.tokens_per_second == 4e5);
  CHECK(facts.estimated.peak_memory_bytes == 7.5e10);
  CHECK(facts.estimated.days_per_100b_tokens == 2.75);
  CHECK(facts.estimated.gpu_hours == 3178.5);
  CHECK(outcome.verdict.state == record::State::failed);
  CHECK(outcome.verdict.failure == record::Failure::nccl);
  CHECK(outcome.verdict.reason == "it's \"broken\"; --");
  CHECK(outcome.cancel_asked);
  CHECK(outcome.retries_from == 7);
  CHECK(outcome.gpu_hours == 0.125);
  CHECK(outcome.elapsed_seconds == 3600.5);
  CHECK(outcome.end == 1763193600.5);
  CHECK(outcome.submission == full.outcome.submission);
  CHECK(outcome.measured.steps == 120);
  CHECK(outcome.measured.last_loss == 2.25);
  CHECK(outcome.measured.step_seconds->value == 0.5);
  CHECK(outcome.measured.tokens_per_second == 1e6);
  CHECK(outcome.measured.peak_memory_bytes == 7e10);
  CHECK(outcome.measured.stated.at("evaluation_loss") == 2.5);
  CHECK_FALSE(outcome.measured.stated.contains("gradient_norm"));
  CHECK(outcome.measured.stated.at("learning_rate") == 1e-3);
  CHECK(outcome.measured.stated.at("communicated_bytes") == 4096);
  CHECK(updated == 1763193601);
  CHECK(rows[1].outcome.measured.steps == 0);
  CHECK_FALSE(rows[1].outcome.cancel_asked);
}

TEST_CASE("rows are replaced, kept apart by experiment, and forgotten", "[store][index]") {
  const Place place;
  auto index = Index::open(place.root());
  index.put({row("x", "b-2"), row("x", "a-1"), row("y", "a-1"), row("o'x", "c-3")});
  auto newer = row("x", "a-1");
  newer.outcome.measured.steps = 5;
  index.put({newer});
  CHECK(ids(index, "x") == Ids{"a-1", "b-2"});
  CHECK(index.rows("x")[0].outcome.measured.steps == 5);
  CHECK_FALSE(index.rows("x")[0].outcome.measured.last_loss);
  CHECK(ids(index, "o'x") == Ids{"c-3"});
  index.keep_only("x", {"b-2", "never-there"});
  CHECK(ids(index, "x") == Ids{"b-2"});
  CHECK(ids(index, "y") == Ids{"a-1"});
  index.keep_only("y", {});
  CHECK(ids(index, "y").empty());
  index.replace_all({row("z", "d-4")});
  CHECK(ids(index, "x").empty());
  CHECK(ids(index, "z") == Ids{"d-4"});
  CHECK(index.available());
}

TEST_CASE("processes that write at once lose nothing", "[store][index]") {
  const Place place;
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c)
    children.push_back(start([&] {
      for (int i = 0; i < 10; ++i) {
        auto index = Index::open(place.root());  // the first ones make it at once
        index.put(many("x", 1000 * c + 20 * i, 1000 * c + 20 * (i + 1)));
        if (!index.available() || index.rows("x").size() < 20u * (i + 1)) return 1;
      }
      return 0;
    }));
  for (const auto pid : children) CHECK(wait_for(pid) == 0);
  auto index = Index::open(place.root());
  CHECK(index.rows("x").size() == 800);
}

TEST_CASE("a process that is killed while it writes leaves all of a put or nothing",
          "[store][index]") {
  const Place place;
  for (int i = 0; i < 10; ++i) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const auto pid = start([&] {
      auto index = Index::open(place.root());
      for (int n = 0;; n = (n + 1) % 50) {
        index.replace_all(many("x", 0, 100 * (n % 3 + 1)));
        if (n == 1 && ::write(ready[1], "x", 1) != 1) return 1;
      }
    });
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::usleep(static_cast<useconds_t>(700 * i));
    ::kill(pid, SIGKILL);
    CHECK(WTERMSIG(wait_for(pid)) == SIGKILL);
    ::close(ready[0]);
    ::close(ready[1]);
    auto index = Index::open(place.root());
    REQUIRE(index.available());
    const auto count = index.rows("x").size();
    CHECK((count == 100 || count == 200 || count == 300));
  }
  CHECK_FALSE(fs::exists(place.root() / "index.jsonl.damaged"));
}

TEST_CASE("what a killed process left behind its last batch is nothing, and goes",
          "[store][index]") {
  const Place place;
  const auto file = place.root() / "index.jsonl";
  Index::open(place.root()).put(many("x", 0, 3));
  const auto first = *read_file(file);
  Index::open(place.root()).put(many("x", 3, 6));
  const auto whole = *read_file(file);
  for (auto cut = first.size(); cut < whole.size(); ++cut) {  // at every byte
    place.file("index.jsonl", whole.substr(0, cut));
    auto index = Index::open(place.root());
    REQUIRE(ids(index, "x").size() == 3);
    index.put({row("x", "z")});
    REQUIRE(ids(index, "x") == Ids{"run-0", "run-1", "run-2", "z"});
  }
  CHECK_FALSE(fs::exists(file.string() + ".damaged"));
}

TEST_CASE("a file of which most is old news is written anew", "[store][index]") {
  const Place place;
  auto index = Index::open(place.root());
  for (int i = 0; i < 15; ++i) index.put(many("x", 0, 100));
  const auto before = fs::file_size(place.root() / "index.jsonl");
  CHECK(index.rows("x").size() == 100);
  index.put({row("x", "z")});
  CHECK(index.rows("x").size() == 101);
  CHECK(fs::file_size(place.root() / "index.jsonl") < before / 10);
}

TEST_CASE("a small experiment beside a large one is no reason to write all anew",
          "[store][index]") {
  const Place place;
  const auto file = place.root() / "index.jsonl";
  Index::open(place.root()).put(many("large", 0, 3000));
  auto index = Index::open(place.root());
  index.put(many("small", 0, 3));
  const auto inode = [&] {
    struct stat about = {};
    REQUIRE(::stat(file.c_str(), &about) == 0);
    return about.st_ino;
  };
  const auto before = inode();
  CHECK(index.rows("small").size() == 3);
  index.put({row("small", "z")});
  CHECK(inode() == before);
  for (int i = 0; i < 2; ++i) index.put(many("large", 0, 3000));
  CHECK(index.rows("small").size() == 4);  // two thirds are old news now, of the other one
  index.put({row("small", "y")});
  CHECK(inode() != before);
  CHECK(index.rows("small").size() == 5);
  CHECK(index.rows("large").size() == 3000);
}

TEST_CASE("what is forgotten is gone, also when all is written anew", "[store][index]") {
  const Place place;
  const auto file = place.root() / "index.jsonl";
  auto index = Index::open(place.root());
  index.put({row("x", "a"), row("x", "b"), row("y", "a")});
  const auto size = fs::file_size(file);
  index.forget("x", {});
  index.forget("x", {"never-there"});
  CHECK(fs::file_size(file) == size);
  index.forget("x", {"a", "never-there"});
  CHECK(ids(index, "x") == Ids{"b"});
  CHECK(ids(index, "y") == Ids{"a"});
  for (int i = 0; i < 15; ++i) index.put(many("x", 0, 100));
  const auto before = fs::file_size(file);
  CHECK(index.rows("x").size() == 101);
  index.forget("x", {"b"});
  CHECK(fs::file_size(file) < before / 10);
  CHECK(index.rows("x").size() == 100);
}

TEST_CASE("a lock that another process keeps is not waited for without end", "[store][index]") {
  const Place place;
  Index::open(place.root()).put({row("x", "a")});
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const auto pid = start([&] {
    const int file = ::open((place.root() / "index.lock").c_str(), O_RDWR);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(file, F_SETLKW, &lock) != 0 || ::write(ready[1], "x", 1) != 1) return 1;
    for (;;) ::pause();
  });
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  auto index = Index::open(place.root());
  CHECK_FALSE(index.available());
  CHECK(index.why().find("busy") != std::string::npos);
  ::kill(pid, SIGKILL);
  wait_for(pid);
  ::close(ready[0]);
  ::close(ready[1]);
  auto after = Index::open(place.root());
  CHECK(ids(after, "x") == Ids{"a"});
  index.forget("x", {"a"});  // which it cannot: no row is better than a wrong one
  CHECK(ids(after, "x").empty());
}

TEST_CASE("an index too large to be read is emptied", "[store][index]") {
  const Place place;
  const auto file = place.root() / "index.jsonl";
  auto early = Index::open(place.root());
  early.put({row("x", "a")});
  fs::resize_file(file, (std::uintmax_t{1} << 30) + 1);  // a hole
  CHECK(early.rows("x").empty());
  CHECK(early.why().find("too large") != std::string::npos);
  auto index = Index::open(place.root());
  REQUIRE(index.available());
  CHECK(fs::file_size(file) < 100);
  index.put({row("x", "b")});
  CHECK(ids(index, "x") == Ids{"b"});
}

TEST_CASE("an index that becomes one of another version is left alone", "[store][index]") {
  const Place place;
  const std::string other = "{\"orch_index\":99}\n{\"what\":1}\n{\"lines\":1}\n";
  for (const auto& text : {other, other + "{\"half"}) {
    fs::remove(place.root() / "index.jsonl");
    auto index = Index::open(place.root());
    REQUIRE(index.available());
    place.file("index.jsonl", text);
    CHECK(index.rows("x").empty());
    index.put({row("x", "a")});
    CHECK_FALSE(index.available());
    CHECK(*read_file(place.root() / "index.jsonl") == text);
  }
}

TEST_CASE("a part of the first line is an empty index", "[store][index]") {
  const Place place;
  const std::string head = "{\"orch_index\":5}\n";
  for (std::size_t size = 0; size <= head.size(); ++size) {
    place.file("index.jsonl", head.substr(0, size));
    auto index = Index::open(place.root());
    CHECK(index.rows("x").empty());
    index.put({row("x", "a")});
    REQUIRE(index.available());
    CHECK(ids(index, "x") == Ids{"a"});
  }
  CHECK_FALSE(fs::exists(place.root() / "index.jsonl.damaged"));
}

TEST_CASE("a damaged index is set aside and made anew", "[store][index]") {
  const Place place;
  const auto file = place.root() / "index.jsonl";
  Index::open(place.root()).put(many("x", 0, 500));
  const auto whole = *read_file(file);
  auto overwritten = whole;
  overwritten.replace(100, 3000, 3000, '\xa5');  // the first line is good, the others are not
  auto counted = whole;
  counted.replace(counted.rfind("500"), 3, "499");
  for (const auto& text :
       {std::string("garbage"), std::string(100'000, '\xff'), overwritten, counted}) {
    place.file("index.jsonl", text);
    auto index = Index::open(place.root());
    if (index.available()) index.rows("x");  // some damage shows only now
    if (!index.available()) index = Index::open(place.root());
    INFO(index.why());
    REQUIRE(index.available());
    index.put({row("x", "a-1")});
    CHECK(ids(index, "x") == Ids{"a-1"});
    CHECK(*read_file(file.string() + ".damaged") == text);
  }
}

TEST_CASE("an index of another version is emptied", "[store][index]") {
  const Place place;
  const auto file = (place.root() / "index.jsonl").string();
  Index::open(place.root()).put({row("x", "a-1")});
  auto text = *read_file(file);
  const std::string version = "{\"orch_index\":5}";
  REQUIRE(text.starts_with(version));
  place.file("index.jsonl", text.replace(0, version.size(), "{\"orch_index\":99}"));
  auto index = Index::open(place.root());
  REQUIRE(index.available());
  CHECK(ids(index, "x").empty());
  index.put({row("x", "b-2")});
  CHECK(ids(index, "x") == Ids{"b-2"});
  CHECK_FALSE(fs::exists(file + ".damaged"));
}

TEST_CASE("where it cannot be, the index says why and does nothing", "[store][index]") {
  const Place place;
  const auto check = [](Index index) {
    index.put({row("x", "a-1")});
    index.keep_only("x", {});
    return !index.available() && !index.why().empty() && index.rows("x").empty();
  };
  CHECK(check(Index::open(place.root() / "nowhere")));
  fs::create_directory(place.root() / "index.jsonl");
  place.file("index.jsonl/file", "");
  CHECK(check(Index::open(place.root())));
  CHECK_FALSE(rebuild_index(place.root()));

  const auto closed = place.root() / "closed";
  fs::create_directory(closed);
  Index::open(closed).put({row("x", "a-1")});
  fs::permissions(place.root(), fs::perms(0755));
  fs::permissions(closed, fs::perms(0555));
  CHECK(wait_for(start([&] {
          if (::geteuid() == 0 && ::setuid(65534) != 0) return 2;
          return check(Index::open(closed)) ? 0 : 1;
        })) == 0);
  fs::permissions(closed, fs::perms(0755));
}

TEST_CASE("a file system that cannot lock is told, at once", "[store][index]") {
  const Place place;
  const auto run = [&](const std::string& environment) {
    return output_of(environment + " " ORCH_INDEX_USER " " + place.root().string());
  };
  CHECK(run("") == "available 1 \n");
  for (const int code : {ENOLCK, ENOTSUP, ENOSYS}) {
    const auto said =
        run("LD_PRELOAD=" ORCH_NO_LOCKS " ASAN_OPTIONS=verify_asan_link_order=0 ORCH_ERRNO=" +
            std::to_string(code) + " timeout 60");
    INFO(said);
    CHECK(said.starts_with("unavailable 0 "));
    CHECK(said.find("cannot lock") != std::string::npos);
  }
  CHECK(run("") == "available 1 \n");
}

TEST_CASE("a disk that fills up makes the index unavailable, and no more", "[store][index]") {
  const Place place;
  Index::open(place.root()).put(many("x", 0, 10));
  CHECK(wait_for(start([&] {
          ::signal(SIGXFSZ, SIG_IGN);  // as orch does
          const rlimit limit{40'000, 40'000};
          if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
          auto index = Index::open(place.root());
          if (!index.available()) return 3;
          index.put(many("x", 0, 10'000));
          if (index.available() || index.why().empty()) return 4;
          return index.rows("x").empty() ? 0 : 5;
        })) == 0);
  auto index = Index::open(place.root());
  REQUIRE(index.available());
  CHECK(index.rows("x").size() == 10);  // undone
}

TEST_CASE("a full disk is survived", "[store][index]") {
  const Place place;
  if (::mount("orch-test", place.root().c_str(), "tmpfs", 0, "size=64k") != 0)
    SKIP("this user may not mount");
  {
    auto index = Index::open(place.root());
    CHECK(index.available());
    index.put(many("x", 0, 10'000));
    CHECK_FALSE(index.available());
    CHECK(index.why().find("No space left") != std::string::npos);
  }
  {
    auto index = Index::open(place.root());
    CHECK(index.available());
    CHECK(index.rows("x").empty());
  }
  ::umount(place.root().c_str());
}

TEST_CASE("the index is made again from the folders alone", "[store][index]") {
  const Place place;
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
  record::Outcome outcome;
  outcome.verdict.state = record::State::finished;
  REQUIRE(write_outcomes({{place.root() / "x/b-2", outcome}}));
  Index::open(place.root()).put({row("gone", "z-9"), row("x", "gone-8")});

  Errors damaged;
  const auto count = rebuild_index(place.root(), &damaged);
  REQUIRE(count);
  CHECK(*count == 3);
  REQUIRE(damaged.size() == 1);
  CHECK(damaged.front().place.find("damaged-3") != std::string::npos);
  auto index = Index::open(place.root());
  CHECK(ids(index, "x") == Ids{"a-1", "b-2"});
  CHECK(ids(index, "renamed") == Ids{"a-1"});
  CHECK(ids(index, "gone").empty());
  const auto rows = index.rows("x");
  CHECK(rows[0].facts.steps == 10);
  CHECK(rows[0].outcome.verdict.state == record::State::planned);
  CHECK(rows[1].outcome.verdict.state == record::State::finished);
  CHECK(rows[1].updated > 1.7e9);
}
