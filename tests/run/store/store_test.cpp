#include "core/run/store/store.h"

#include <sys/wait.h>

#include "core/plan/run_json.h"
#include "core/run/store/submissions.h"
#include "tests/place.h"
#include "tests/plan/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::store;

namespace {

std::string document(const std::string& id) {
  auto run = plan::test::run();
  run.id = id;
  return plan::run_json(run);
}

NewRunFolder folder(const std::string& id) {
  return {id, {{"run.json", document(id)}, {"job.sbatch", "go"}}};
}

bool never() { return false; }

Result<WriteCounts> write(const TestFolder& place, const std::vector<std::string>& ids) {
  RunStore store(place.root());
  return store.write(
      "x", ids.size(), [&](std::size_t i) { return Result(folder(ids[i])); }, never);
}

std::string host() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

fs::path draft_of(const TestFolder& place, const std::string& owner) {
  return place.file("x/.tmp-" + owner + "@a-1/run.json", "half").parent_path();
}

// The pid of a process that has certainly ended.
std::string dead_pid() {
  const auto pid = ::fork();
  if (pid == 0) ::_exit(0);
  int status = 0;
  while (::waitpid(pid, &status, 0) != pid) continue;
  return std::to_string(pid);
}

}  // namespace

TEST_CASE("a folder is written once, and counted when it is there", "[store]") {
  const TestFolder place;
  CHECK(write(place, {"a-1", "b-2"})->created == 2);
  const auto again = write(place, {"a-1", "c-3"});
  CHECK(again->created == 1);
  CHECK(again->unchanged == 1);
  CHECK(again->others == 1);
  CHECK(*read_file(place.root() / "x/a-1/run.json") == document("a-1"));
}

TEST_CASE("the same run asked for twice is one folder", "[store]") {
  const TestFolder place;
  const auto written = write(place, {"a-1", "a-1"});
  REQUIRE(written);
  CHECK(written->created == 1);
}

TEST_CASE("what a killed process left is removed", "[store]") {
  const TestFolder place;
  const auto dead = draft_of(place, dead_pid() + "@" + host());
  const auto ours =
      draft_of(place, std::to_string(::getpid()) + "@" + host());  // the number was reused
  REQUIRE(write(place, {"a-1"}));
  CHECK_FALSE(fs::exists(dead));
  CHECK_FALSE(fs::exists(ours));
}

TEST_CASE("what a living process writes is left alone", "[store]") {
  const TestFolder place;
  const auto draft = draft_of(place, std::to_string(::getppid()) + "@" + host());
  REQUIRE(write(place, {"b-2"}));
  CHECK(fs::exists(draft));
}

TEST_CASE("a draft of another machine is left alone until it is a day old", "[store]") {
  const TestFolder place;
  const auto draft = draft_of(place, "1@" + host() + "-2");
  REQUIRE(write(place, {"b-2"}));
  CHECK(fs::exists(draft));
  fs::last_write_time(draft, fs::file_time_type::clock::now() - std::chrono::hours(25));
  REQUIRE(write(place, {"b-2"}));
  CHECK_FALSE(fs::exists(draft));
}

TEST_CASE("a folder that another process puts in place first is no error", "[store]") {
  const TestFolder place;
  RunStore store(place.root());
  const auto written = store.write(
      "x", 2,
      [&](std::size_t i) {
        if (i == 1) REQUIRE(write(place, {"a-1"}));  // between the writing and the renaming of a-1
        return Result(folder(i == 0 ? "a-1" : "b-2"));
      },
      never);
  REQUIRE(written);
  CHECK(*read_file(place.root() / "x/a-1/run.json") == document("a-1"));
  CHECK(*read_file(place.root() / "x/b-2/run.json") == document("b-2"));
}

TEST_CASE("an error leaves neither drafts nor the folders made for them", "[store]") {
  const TestFolder place;
  RunStore store(place.root() / "new");
  const auto written = store.write(
      "x", 2,
      [&](std::size_t i) -> Result<NewRunFolder> {
        if (i == 1) return Error{"template", "is broken", ""};
        return folder("a-1");
      },
      never);
  CHECK_FALSE(written);
  CHECK_FALSE(fs::exists(place.root() / "new"));
}

TEST_CASE("an interrupt keeps what is written, whole", "[store]") {
  const TestFolder place;
  RunStore store(place.root());
  int asked = 0;
  const auto written = store.write(
      "x", 5, [&](std::size_t i) { return Result(folder("r-" + std::to_string(i))); },
      [&] { return ++asked > 3; });
  REQUIRE(written);
  CHECK(written->interrupted);
  CHECK(written->created == 3);
  CHECK(fs::exists(place.root() / "x/r-2/job.sbatch"));
  CHECK_FALSE(fs::exists(place.root() / "x/r-3"));
}

TEST_CASE("a run is found by id, beginning and hash", "[store]") {
  const TestFolder place;
  REQUIRE(write(place, {"gpt-tp4-0123abcd", "gpt-tp8-4567abcd"}));
  const RunStore store(place.root());
  const auto first = place.root() / "x/gpt-tp4-0123abcd";
  for (const auto* name : {"gpt-tp4-0123abcd", "gpt-tp4", "0123abcd", "0123"})
    CHECK(*store.find(name) == first);
  CHECK(store.find("gpt").error().front().fact == "2 runs begin like this");
  CHECK(store.find("gpt-tp4-0123abce").error().front().fix == "did you mean 'gpt-tp4-0123abcd'?");
  CHECK_FALSE(store.find("abcd"));
}

TEST_CASE("a submitted run is not touched: its job may not have read the script yet", "[store]") {
  const TestFolder place;
  REQUIRE(write(place, {"a-1", "b-2", "c-3"}));
  record::Submission queued;
  queued.runs = {"a-1"};
  record::Submission refused;
  refused.runs = {"b-2"};
  REQUIRE(write_submission(place.root() / "x", queued, "array"));
  const auto folder_of_refused = write_submission(place.root() / "x", refused, "");
  REQUIRE(note_refusal(*folder_of_refused, "no such partition"));
  for (const auto* id : {"a-1", "b-2", "c-3"}) place.file(fs::path("x") / id / "job.sbatch", "old");

  const auto again = write(place, {"a-1", "b-2", "c-3"});
  REQUIRE(again);
  CHECK(again->unchanged == 1);
  CHECK(again->refreshed == 2);
  CHECK(again->others == 0);
  CHECK(*read_file(place.root() / "x/a-1/job.sbatch") == "old");
  CHECK(*read_file(place.root() / "x/b-2/job.sbatch") == "go");
}

TEST_CASE("nothing is refreshed beside a submission that cannot be read", "[store]") {
  const TestFolder place;
  REQUIRE(write(place, {"a-1"}));
  place.file("x/submissions/0001-0123456789abcdef/submission.json", "{");
  place.file("x/a-1/job.sbatch", "old");
  CHECK_FALSE(write(place, {"a-1"}));
  CHECK(*read_file(place.root() / "x/a-1/job.sbatch") == "old");
}
