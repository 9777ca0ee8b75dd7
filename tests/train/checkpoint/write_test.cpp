#include "tests/place.h"
#include "tests/test.h"
#include "tests/train/checkpoint/made.h"

using namespace made;
using checkpoint::WriteOptions;
using NameSet = std::set<std::string>;

namespace {

NameSet names_in(const fs::path& folder) {
  NameSet names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

Status write(const fs::path& folder, std::int64_t step, WriteOptions options = {}) {
  return checkpoint::write(folder, at_step(step), simple(step), options);
}

WriteOptions keeping(std::int64_t keep) {
  WriteOptions options;
  options.keep = keep;
  return options;
}

WriteOptions as_rank(int rank, const std::string& attempt, double wait_seconds = 0) {
  WriteOptions options;
  options.rank = rank;
  options.attempt = attempt;
  options.wait_seconds = wait_seconds;
  return options;
}

}  // namespace

TEST_CASE("the last ones are kept, older ones are removed", "[checkpoint]") {
  const TestFolder place;
  for (std::int64_t step = 10; step <= 50; step += 10) REQUIRE(write(place.root(), step));
  CHECK(names_in(place.root()) == NameSet{"step-00000040", "step-00000050"});
  REQUIRE(write(place.root(), 60, keeping(0)));
  REQUIRE(write(place.root(), 70, keeping(0)));
  CHECK(names_in(place.root()).size() == 4);
  REQUIRE(write(place.root(), 80, keeping(1)));
  CHECK(names_in(place.root()) == NameSet{"step-00000080"});
  CHECK(checkpoint::list(place.root()) == std::vector{place.root() / "step-00000080"});
}

TEST_CASE("a corrupt newer one never makes a sound one go", "[checkpoint]") {
  const TestFolder place;
  REQUIRE(write(place.root(), 50, keeping(1)));
  place.file("step-00000060/checkpoint.json", "torn");
  REQUIRE(write(place.root(), 55, keeping(1)));  // resumed from 50
  CHECK(checkpoint::open_latest(place.root()).path == place.root() / "step-00000055");
  REQUIRE(write(place.root(), 60, keeping(1)));  // replaces the corrupt one
  CHECK(names_in(place.root()) == NameSet{"step-00000060"});
  CHECK(checkpoint::open_latest(place.root()).skipped.empty());
}

TEST_CASE("a broken older one is not counted among those to keep", "[checkpoint]") {
  const TestFolder place;
  REQUIRE(write(place.root(), 10));
  place.file("step-00000020/checkpoint.json", "torn");
  REQUIRE(write(place.root(), 30));
  CHECK(names_in(place.root()) == NameSet{"step-00000010", "step-00000020", "step-00000030"});
  REQUIRE(write(place.root(), 40));
  CHECK(names_in(place.root()) == NameSet{"step-00000030", "step-00000040"});
}

TEST_CASE("a folder that cannot be listed is not one without checkpoints", "[checkpoint]") {
  const TestFolder place;
  CHECK(checkpoint::open_latest(place.root() / "missing").skipped.empty());
  place.file("checkpoints", "a file");
  const auto latest = checkpoint::open_latest(place.root() / "checkpoints");
  CHECK_FALSE(latest.reader);
  CHECK_THAT(text(latest.skipped), ContainsSubstring("cannot list"));
}

TEST_CASE("a step that exists already is replaced", "[checkpoint]") {
  const TestFolder place;
  REQUIRE(write(place.root(), 5));
  REQUIRE(checkpoint::write(place.root(), at_step(5), simple(7), {}));
  const auto latest = checkpoint::open_latest(place.root());
  CHECK(read(*latest.reader, TensorPiece::whole("weights/w", TensorDtype::f32, {100}))[0] == 7);
  CHECK(names_in(place.root()) == NameSet{"step-00000005"});
}

TEST_CASE("killed between the old one's leaving and the new one's coming, the old one counts",
          "[checkpoint]") {
  const TestFolder place;
  REQUIRE(write(place.root(), 5, keeping(1)));
  fs::rename(place.root() / "step-00000005", place.root() / "step-00000005.replaced");
  CHECK(checkpoint::open_latest(place.root()).path == place.root() / "step-00000005.replaced");
  REQUIRE(write(place.root(), 5, keeping(1)));
  CHECK(names_in(place.root()) == NameSet{"step-00000005"});
}

TEST_CASE("what killed runs left behind goes with the next write", "[checkpoint]") {
  const TestFolder place;
  place.file("step-00000005.writing/rank-0.safetensors.tmp", "half");
  place.file("step-00000009.old.writing/rank-1.json", "half");
  place.file("step-00000002.removing/rank-0.safetensors", "half");
  place.file("step-00000007.txt", "not ours");
  place.file("notes/step-1", "not ours");
  CHECK(checkpoint::list(place.root()).empty());
  REQUIRE(write(place.root(), 5));
  CHECK(names_in(place.root()) == NameSet{"step-00000005", "step-00000007.txt", "notes"});
}

TEST_CASE("a rank that is ahead keeps what it writes", "[checkpoint]") {
  const TestFolder place;
  REQUIRE(checkpoint::write(place.root(), at_step(1, 2), {}, as_rank(1, "a")));
  REQUIRE(checkpoint::write(place.root(), at_step(2, 2), {}, as_rank(1, "a")));
  REQUIRE(checkpoint::write(place.root(), at_step(1, 2), simple(1), as_rank(0, "a")));
  REQUIRE(checkpoint::write(place.root(), at_step(2, 2), simple(2), as_rank(0, "a")));
  CHECK(checkpoint::open_latest(place.root()).reader->facts().step == 2);
}

TEST_CASE("the share of a killed try is never taken for this one's", "[checkpoint]") {
  const TestFolder place;
  REQUIRE(checkpoint::write(place.root(), at_step(1, 2), {}, as_rank(1, "old")));
  const auto note = *read_file(place.root() / "step-00000001.old.writing/rank-1.json");
  for (const bool planted : {false, true}) {
    if (planted) place.file("step-00000001.new.writing/rank-1.json", note);
    const auto status =
        checkpoint::write(place.root(), at_step(1, 2), simple(1), as_rank(0, "new", 0.02));
    CHECK_THAT(text(status.error()), ContainsSubstring("rank-1 has not written its share in time"));
    CHECK(names_in(place.root()).empty());
  }
}

TEST_CASE("a rank's file of another size than it told makes no checkpoint", "[checkpoint]") {
  const int bytes = GENERATE(-1, 1);
  const TestFolder place;
  REQUIRE(write_all(place.root(), at_step(1), {simple(1), {}}));
  REQUIRE(checkpoint::write(place.root(), at_step(2, 2), {}, as_rank(1, "b")));
  const auto shard = place.root() / "step-00000002.b.writing/rank-1.safetensors";
  fs::resize_file(shard, fs::file_size(shard) + static_cast<std::uintmax_t>(bytes));
  auto options = as_rank(0, "b");
  options.keep = 1;
  const auto status = checkpoint::write(place.root(), at_step(2, 2), simple(2), options);
  REQUIRE_FALSE(status);
  CHECK_THAT(text(status.error()), ContainsSubstring("cannot be read back"));
  CHECK(names_in(place.root()) == NameSet{"step-00000001"});
}

TEST_CASE("several ranks without a name for their attempt are refused", "[checkpoint]") {
  const TestFolder place;
  const auto status = checkpoint::write(place.root(), at_step(1, 2), simple(1), as_rank(0, ""));
  CHECK_THAT(text(status.error()), ContainsSubstring("the attempt is not named"));
}

TEST_CASE("waiting for a rank can be given up", "[checkpoint]") {
  const TestFolder place;
  auto options = as_rank(0, "a", 60);
  int asked = 0;
  options.give_up = [&] { return ++asked == 3; };
  const auto status = checkpoint::write(place.root(), at_step(1, 2), simple(1), options);
  CHECK_THAT(text(status.error()), ContainsSubstring("gave up waiting for rank-1"));
  CHECK(names_in(place.root()).empty());
}

TEST_CASE("bytes that do not fit their piece are refused before anything is written",
          "[checkpoint]") {
  const TestFolder place;
  SavedState saved = simple(1);
  saved.pieces[0].data.pop_back();
  const auto status = checkpoint::write(place.root() / "new", at_step(1), saved, {});
  CHECK_THAT(text(status.error()), ContainsSubstring("weights/w: has other bytes"));
  CHECK_FALSE(fs::exists(place.root() / "new"));
}

TEST_CASE("a checkpoint is found by its own, its folder's and its run's name", "[checkpoint]") {
  const TestFolder place;
  const auto folder = place.root() / "checkpoints";
  REQUIRE(write(folder, 1));
  REQUIRE(write(folder, 2));
  CHECK(checkpoint::open_at(place.root()).path == folder / "step-00000002");
  CHECK(checkpoint::open_at(folder, 1).path == folder / "step-00000001");
  CHECK(checkpoint::open_at(folder / "step-00000001").reader->facts().step == 1);
  CHECK_FALSE(checkpoint::open_at(folder / "step-00000001", 2).reader);
  CHECK_FALSE(checkpoint::open_at(folder, 3).reader);
  CHECK_FALSE(checkpoint::open_at(place.root() / "nowhere").reader);
}
