#include "core/run/store/submissions.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/place.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::store;

namespace {

record::Submission array_of(std::vector<std::string> runs) {
  record::Submission out;
  out.executor = "slurm";
  out.time = 1763193600.25;
  out.array = true;
  out.runs = std::move(runs);
  return out;
}

fs::path written(const TestFolder& place, record::Submission submission) {
  const auto folder = write_submission(place.root(), submission, "");
  REQUIRE(folder);
  return *folder;
}

std::string job_of_answer(const std::string& answer) {
  const TestFolder place;
  const auto folder = written(place, array_of({"a-1"}));
  place.file(folder / "answer", answer);
  const auto read = read_submissions(place.root());
  REQUIRE(read);
  return read->front().submission.job;
}

std::string hash_of(const std::string& id) { return id.substr(id.find('-') + 1); }

}  // namespace

TEST_CASE("a submission is read as it was written", "[store][submissions]") {
  const TestFolder place;
  auto submission = array_of({"a-1", "b-2"});
  submission.phase = 3;
  submission.after = "0006-0123456789abcdef";
  submission.sums = {{"1f", "2e"}, {"3d", ""}};
  const auto folder = write_submission(place.root(), submission, "#!/bin/bash\n");
  REQUIRE(folder);
  CHECK(folder->filename() == submission.id);
  CHECK(*read_file(*folder / "array.sbatch") == "#!/bin/bash\n");

  const auto read = read_submissions(place.root());
  REQUIRE(read);
  REQUIRE(read->size() == 1);
  const auto& got = read->front().submission;
  CHECK(read->front().folder == *folder);
  CHECK(got.id == submission.id);
  CHECK(got.executor == "slurm");
  CHECK(got.time == 1763193600.25);
  CHECK(got.array);
  CHECK(got.runs == submission.runs);
  REQUIRE(got.sums.size() == 2);
  CHECK(got.sums[0].script == "1f");
  CHECK(got.sums[0].start == "2e");
  CHECK(got.sums[1].script == "3d");
  CHECK(got.sums[1].start.empty());
  CHECK(got.phase == 3);
  CHECK(got.after == submission.after);
  CHECK(got.job.empty());
  CHECK(got.refused.empty());
}

TEST_CASE("a serial submission has several runs and one job", "[store][submissions]") {
  const TestFolder place;
  auto submission = array_of({"a-1", "b-2"});
  submission.array = false;
  CHECK_FALSE(read_submissions(written(place, submission).parent_path().parent_path()));
  const TestFolder other;
  submission.serial = true;
  const auto folder = write_submission(other.root(), submission, "#!/bin/bash\n");
  REQUIRE(folder);
  CHECK(*read_file(*folder / "serial.sbatch") == "#!/bin/bash\n");
  const auto read = read_submissions(other.root());
  REQUIRE(read);
  CHECK(read->front().submission.serial);
  CHECK(read->front().submission.tasks() == 1);
}

TEST_CASE("without submissions there are none", "[store][submissions]") {
  const TestFolder place;
  CHECK(read_submissions(place.root())->empty());
  CHECK(read_submissions(place.root() / "nowhere")->empty());
}

TEST_CASE("numbers go on after the last one, and all ids differ", "[store][submissions]") {
  const TestFolder place;
  std::set<std::string> hashes;
  for (int i = 1; i <= 20; ++i) {
    const auto id = written(place, array_of({"a-1"})).filename().string();
    CHECK(std::stoi(id) == i);
    CHECK(hashes.insert(hash_of(id)).second);
    CHECK(hash_of(id).size() == 16);
  }
  // A damaged submission counts as well; entries with other names do not.
  fs::create_directories(place.root() / "submissions/0041-0123456789abcdef");
  place.file("submissions/9000-notes", "mine");
  place.file("submissions/.nfs0001", "");
  CHECK(std::stoi(written(place, array_of({"a-1"})).filename().string()) == 42);
}

TEST_CASE("the order is that of the numbers, beyond four digits too", "[store][submissions]") {
  const TestFolder place;
  auto submission = array_of({"a-1"});
  fs::create_directories(place.root() / "submissions/9998-0123456789abcdef");
  for (int i = 0; i < 3; ++i) written(place, submission);
  fs::remove_all(place.root() / "submissions/9998-0123456789abcdef");
  const auto read = read_submissions(place.root());
  REQUIRE(read);
  REQUIRE(read->size() == 3);
  CHECK((*read)[0].submission.id.starts_with("9999-"));
  CHECK((*read)[1].submission.id.starts_with("10000-"));
  CHECK((*read)[2].submission.id.starts_with("10001-"));
}

TEST_CASE("the job is what orch noted, else what sbatch answered", "[store][submissions]") {
  const TestFolder place;
  const auto folder = written(place, array_of({"a-1"}));
  place.file(folder / "answer", "123;jean-zay\n");
  CHECK(read_submissions(place.root())->front().submission.job == "123");
  REQUIRE(note_job(folder, "124"));
  CHECK(read_submissions(place.root())->front().submission.job == "124");
  REQUIRE(note_refusal(folder, "sbatch: error: invalid partition\n"));
  CHECK(read_submissions(place.root())->front().submission.refused ==
        "sbatch: error: invalid partition");
}

TEST_CASE("a refusal without a string is one", "[store][submissions]") {
  const TestFolder place;
  REQUIRE(note_refusal(written(place, array_of({"a-1"})), " \n"));
  CHECK_FALSE(read_submissions(place.root())->front().submission.refused.empty());
}

TEST_CASE("what is no answer of sbatch or of a supervisor is none", "[store][submissions]") {
  CHECK(job_of_answer("123\n") == "123");
  CHECK(job_of_answer("123;cluster\n") == "123");
  CHECK(job_of_answer("Welcome to the cluster!\n123\n") == "123");
  CHECK(job_of_answer("12.34\n") == "12.34");  // process 12, started at 34
  for (const std::string text :
       {"", "\n", "123", "12 3\n", "Submitted batch job 123\n", "123;\n", "123;a b\n", "-1\n",
        "123\n124\n", "0x12\n", ";c\n", "12.\n", ".34\n", "12.34", "1.2.3\n", "12.3a\n",
        "99999999999999999999999999999999999999999\n"})
    CHECK(job_of_answer(text).empty());
  CHECK(job_of_answer(std::string("\0\xff\xfe 12\n", 7)).empty());
}

TEST_CASE("every damaged submission is named, with a next step", "[store][submissions]") {
  const TestFolder place;
  const std::string good =
      R"({"version": 1, "id": "ID", "executor": "slurm", "time": 1, "array": false, "phase": 1,)"
      R"( "after": "", "runs": ["a-1"]})";
  const auto with = [&](const std::string& from, const std::string& to) {
    auto text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::vector<std::string> texts = {
      "",
      "{",
      "[]",
      "null",
      std::string("\0\x01\xff", 3),
      good,  // its id is another
      with("\"version\": 1", "\"version\": 2"),
      with("\"a-1\"", "\"../a\""),
      with("\"a-1\"", ""),
      with("\"a-1\"", "1"),
      with("\"a-1\"", "\"a-1\", \"b-2\""),
      with("\"phase\": 1", "\"phase\": 1e300"),
      with("\"time\": 1", "\"time\": \"now\""),
      with("\"slurm\"", "null"),
  };
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto id = "000" + std::to_string(i % 10) + "-0123456789abcde" + std::to_string(i / 10);
    auto text = texts[i];
    if (const auto at = text.find("\"ID\""); at != std::string::npos && i != 5)
      text.replace(at + 1, 2, id);
    place.file(fs::path("submissions") / id / "submission.json", text);
  }
  fs::create_directories(place.root() / "submissions/0100-0123456789abcdef/submission.json");
  fs::create_directories(place.root() / "submissions/0101-0123456789abcdef");
  place.file("submissions/0102-0123456789abcdef", "a file");
  const auto read = read_submissions(place.root());
  REQUIRE_FALSE(read);
  CHECK(read.error().size() == texts.size() + 3);
  for (const auto& error : read.error()) {
    CHECK(error.place.find("submission.json") != std::string::npos);
    CHECK_FALSE(error.fix.empty());
  }
}

TEST_CASE("a fate that cannot be read is an error, not a lost job", "[store][submissions]") {
  const TestFolder place;
  const auto folder = written(place, array_of({"a-1"}));
  for (const auto* name : {"job", "answer", "refused"}) {
    fs::create_directory(folder / name);
    CHECK_FALSE(read_submissions(place.root()));
    fs::remove(folder / name);
    REQUIRE(::mkfifo((folder / name).c_str(), 0600) == 0);  // must not block until it has a writer
    CHECK_FALSE(read_submissions(place.root()));
    fs::remove(folder / name);
  }
  place.file(folder / "job", "1\x1b[2J");
  CHECK_FALSE(read_submissions(place.root()));
  fs::remove(folder / "job");
  CHECK(read_submissions(place.root()));
}

TEST_CASE("a submission killed before it was in place leaves nothing behind",
          "[store][submissions]") {
  const TestFolder place;
  const auto pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  const auto id = "0001-0123456789abcdef";
  const auto draft =
      place.file(fs::path("submissions") / (".tmp-" + std::to_string(pid) + "@" + host + "@" + id) /
                     "submission.json",
                 "{");
  CHECK(read_submissions(place.root())->empty());
  CHECK(written(place, array_of({"a-1"})).filename().string().starts_with("0001-"));
  CHECK_FALSE(fs::exists(draft.parent_path()));
}

TEST_CASE("a submission has sums of each run", "[store][submissions]") {
  const TestFolder place;
  const auto folder = written(place, array_of({"a-1", "b-2"}));
  const auto text = *read_file(folder / "submission.json");
  const auto at = text.find(",\n  \"script_sums\"");
  REQUIRE(at != std::string::npos);
  place.file(folder / "submission.json",
             text.substr(0, at) + R"(, "script_sums": ["1f"], "start_sums": ["2e"]})");
  const auto damaged = read_submissions(place.root());
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().front().fact.find("the number of checksums differs") != std::string::npos);
}

TEST_CASE("two processes that submit at once get folders of their own", "[store][submissions]") {
  const TestFolder place;
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const auto pid = ::fork();
    if (pid == 0) {
      for (int i = 0; i < 25; ++i) {
        auto submission = array_of({"a-1"});
        if (!write_submission(place.root(), submission, "")) ::_exit(1);
      }
      ::_exit(0);
    }
    children.push_back(pid);
  }
  for (const auto pid : children) {
    int status = 1;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
  const auto read = read_submissions(place.root());
  REQUIRE(read);
  CHECK(read->size() == 100);
}
