#include "core/base/draft.h"

#include <sys/stat.h>

#include "tests/place.h"
#include "tests/test.h"

namespace orch {
namespace {

using Name = DraftFile::Name;

using NameSet = std::set<std::string>;

NameSet names_in(const TestFolder& place) {
  NameSet out;
  for (const auto& entry : fs::directory_iterator(place.root()))
    out.insert(entry.path().filename());
  return out;
}

TEST_CASE("a draft is not there until it is published, and then whole", "[base][draft]") {
  const TestFolder place;
  for (const auto name : {Name::own, Name::fixed, Name::locked}) {
    const auto file = place.root() / "file";
    auto draft = DraftFile::create(file, name);
    REQUIRE(draft);
    REQUIRE(draft->append("one "));
    REQUIRE(draft->append(std::string(3 << 20, 'x')));
    REQUIRE(draft->append(" two"));
    CHECK_FALSE(fs::exists(file));
    REQUIRE(draft->sync());
    REQUIRE(draft->publish());
    CHECK(*read_file(file) == "one " + std::string(3 << 20, 'x') + " two");
    CHECK(names_in(place) == NameSet{"file"});
    fs::remove(file);
  }
}

TEST_CASE("a draft that is not published leaves the old file and nothing else", "[base][draft]") {
  const TestFolder place;
  REQUIRE(write_file_atomically(place.root() / "file", "old"));
  for (const auto name : {Name::own, Name::fixed, Name::locked}) {
    auto draft = DraftFile::create(place.root() / "file", name);
    REQUIRE(draft);
    REQUIRE(draft->append("new"));
    auto moved = std::move(*draft);
    REQUIRE(moved.sync());
    CHECK(names_in(place).size() == 2);
  }
  CHECK(names_in(place) == NameSet{"file"});
  CHECK(*read_file(place.root() / "file") == "old");
}

TEST_CASE("what was flushed can be read back and written over", "[base][draft]") {
  const TestFolder place;
  auto draft = DraftFile::create(place.root() / "file", Name::locked);
  REQUIRE(draft);
  REQUIRE(draft->append("0123456789"));
  REQUIRE(draft->flush());
  char bytes[4] = {};
  REQUIRE(draft->read_at(3, bytes, 4));
  CHECK(std::string(bytes, 4) == "3456");
  CHECK_FALSE(draft->read_at(8, bytes, 4));
  REQUIRE(draft->write_at(3, "abc", 3));
  REQUIRE(draft->publish());
  CHECK(*read_file(place.root() / "file") == "012abc6789");
}

TEST_CASE("a fixed draft takes the place of what a killed process left", "[base][draft]") {
  const TestFolder place;
  for (const auto name : {Name::fixed, Name::locked}) {
    REQUIRE(write_file_atomically(place.root() / "file.tmp", "left by a kill"));
    auto draft = DraftFile::create(place.root() / "file", name);
    REQUIRE(draft);
    REQUIRE(draft->append("new"));
    REQUIRE(draft->publish());
    CHECK(*read_file(place.root() / "file") == "new");
    CHECK(names_in(place) == NameSet{"file"});
  }
}

TEST_CASE("a draft never follows a link that someone laid", "[base][draft]") {
  const TestFolder place;
  REQUIRE(write_file_atomically(place.root() / "precious", "text"));
  const auto own = "file.tmp" + std::to_string(::getpid());
  for (const auto name : {Name::own, Name::fixed, Name::locked}) {
    fs::create_symlink(place.root() / "precious",
                       place.root() / (name == Name::own ? own : std::string("file.tmp")));
    auto draft = DraftFile::create(place.root() / "file", name);
    if (draft) REQUIRE(draft->append("new"));
    if (draft) REQUIRE(draft->publish());
    CHECK(*read_file(place.root() / "precious") == "text");
    fs::remove(place.root() / "file.tmp");
  }
}

TEST_CASE("two locked drafts of a file are one too many", "[base][draft]") {
  const TestFolder place;
  const auto first = DraftFile::create(place.root() / "file", Name::locked);
  REQUIRE(first);
  const auto second = DraftFile::create(place.root() / "file", Name::locked);
  REQUIRE_FALSE(second);
  CHECK(second.error().front().fact == "another program is writing to it");
  CHECK(fs::exists(place.root() / "file.tmp"));
}

TEST_CASE("a draft folder appears whole, or not at all", "[base][draft]") {
  const TestFolder place;
  const auto folder = place.root() / "a/b";
  {
    const std::vector<DraftContent> files{{"file", "text"}};
    auto draft = DraftFolder::create(folder, files);
    REQUIRE(draft);
    CHECK(is_draft(draft->path()));
    CHECK_FALSE(fs::exists(folder));
  }
  CHECK(fs::is_empty(place.root() / "a"));
  const std::vector<DraftContent> twice{{"file", "text"}, {"file", "again"}};
  CHECK_FALSE(DraftFolder::create(folder, twice));
  CHECK(fs::is_empty(place.root() / "a"));
  auto draft = DraftFolder::create(folder.string() + "/", {twice[0]});
  REQUIRE(draft);
  REQUIRE(draft->sync());
  REQUIRE(draft->publish());
  CHECK(*read_file(folder / "file") == "text");
  CHECK(std::distance(fs::directory_iterator(place.root() / "a"), {}) == 1);
}

TEST_CASE("a draft folder never takes the place of another", "[base][draft]") {
  const TestFolder place;
  auto draft = DraftFolder::create(place.root() / "a");
  REQUIRE(draft);
  fs::create_directories(place.root() / "a/full");
  CHECK_FALSE(draft->publish());
  CHECK_FALSE(DraftFolder::create(place.root() / "a"));
  CHECK(fs::exists(place.root() / "a/full"));
  REQUIRE(write_file_atomically(place.root() / "file", "text"));
  CHECK_FALSE(DraftFolder::create(place.root() / "file"));
}

TEST_CASE("what a user names keeps its permissions, and links lead to it", "[base][files]") {
  const TestFolder place;
  const auto file = place.root() / "file", link = place.root() / "link";
  REQUIRE(write_output(file, "old"));
  fs::permissions(file, fs::perms(0600));
  fs::create_symlink("file", link);
  REQUIRE(write_output(link, "new"));
  CHECK(fs::is_symlink(link));
  CHECK(*read_file(file) == "new");
  CHECK(fs::status(file).permissions() == fs::perms(0600));
  fs::permissions(file, fs::perms(0400));
  if (::geteuid() != 0) CHECK_FALSE(write_output(file, "more"));
}

}  // namespace
}  // namespace orch
