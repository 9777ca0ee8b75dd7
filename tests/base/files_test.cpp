#include "core/base/files.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/place.h"
#include "tests/test.h"

using namespace orch;

namespace {

// The sequence of syncs: "file" while the old text was still in place, "file, late" after the
// rename, "folder".
std::vector<std::string> synced;
fs::path watched;

}  // namespace

// Replaces the library's function.
extern "C" int fsync(int fd) {
  char name[4096] = {};
  const auto link = "/proc/self/fd/" + std::to_string(fd);
  if (!watched.empty() && ::readlink(link.c_str(), name, sizeof name - 1) > 0) {
    std::ifstream file(watched);
    std::string text;
    std::getline(file, text);
    synced.emplace_back(fs::is_directory(name) ? "folder" : text == "old" ? "file" : "file, late");
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

TEST_CASE("a file is replaced whole, and nothing is left beside it", "[base][files]") {
  const TestFolder folder;
  const auto file = folder.root() / "state.json";
  REQUIRE(write_file_atomically(file, "old"));
  REQUIRE(write_file_atomically(file, "new"));
  CHECK(*read_file(file) == "new");
  CHECK(std::distance(fs::directory_iterator(folder.root()), {}) == 1);
}

// Power may fail between any two of them.
TEST_CASE("a file is on the disk before it is in its place, and a folder when that is asked",
          "[base][files]") {
  const TestFolder folder;
  const auto file = folder.root() / "state.json";
  REQUIRE(write_file_atomically(file, "old"));
  synced.clear();
  watched = file;
  REQUIRE(write_file_atomically(file, "new"));
  sync_folder(folder.root());
  watched.clear();
  CHECK(synced == std::vector<std::string>{"file", "folder"});
}

TEST_CASE("a write that cannot be done leaves the old text", "[base][files]") {
  const TestFolder folder;
  const auto file = folder.root() / "a-folder";
  fs::create_directories(file / "inside");  // a rename onto a full folder fails, also for root
  const auto status = write_file_atomically(file, "text");
  REQUIRE_FALSE(status);
  CHECK(status.error().front().place == file.string());
  CHECK(fs::is_directory(file));
  CHECK(std::distance(fs::directory_iterator(folder.root()), {}) == 1);
}

TEST_CASE("a missing file and a folder say what they are", "[base][files]") {
  const TestFolder folder;
  CHECK(read_file(folder.root() / "none").error().front().text().find("No such file") !=
        std::string::npos);
  CHECK(read_file(folder.root()).error().front().fact.find("Is a directory") != std::string::npos);
}

TEST_CASE("a full disk is named with what to do", "[base][files]") {
  const auto error = file_error("/x/run.json", "cannot write", ENOSPC);
  CHECK(error.text() ==
        "/x/run.json: cannot write: No space left on device\n"
        "  free some space or quota, then run it again");
}

TEST_CASE("a tree is removed with all that is in it, and links are not followed", "[base][files]") {
  const TestFolder place;
  place.file("kept/file", "kept");
  place.file("tree/a/b/c", "1");
  place.file("tree/.hidden", "2");
  fs::create_directory_symlink(place.root() / "kept", place.root() / "tree/a/link");
  fs::create_symlink("nowhere", place.root() / "tree/dangling");
  CHECK(remove_tree(place.root() / "tree") == 0);
  CHECK(entries_of(place.root()) == std::vector{place.root() / "kept"});
  CHECK(fs::exists(place.root() / "kept/file"));

  CHECK(remove_tree(place.root() / "tree") == 0);  // nothing is left to remove
  fs::create_directory_symlink(place.root() / "kept", place.root() / "link");
  CHECK(remove_tree(place.root() / "link") == 0);
  CHECK(remove_tree(place.root() / "kept/file/below") == ENOTDIR);
  CHECK(remove_tree(place.root() / "kept/file") == 0);
  CHECK(fs::is_empty(place.root() / "kept"));
}

TEST_CASE("what cannot be removed is reported, and the rest is removed", "[base][files]") {
  if (::geteuid() == 0) SKIP("root may remove everything");
  const TestFolder place;
  place.file("tree/locked/file", "1");
  place.file("tree/z", "2");
  fs::permissions(place.root() / "tree/locked", fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(remove_tree(place.root() / "tree") == EACCES);
  CHECK_FALSE(fs::exists(place.root() / "tree/z"));
  fs::permissions(place.root() / "tree/locked", fs::perms::owner_all);
}
