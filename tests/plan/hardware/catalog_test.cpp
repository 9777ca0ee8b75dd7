#include "core/base/files.h"
#include "core/plan/hardware/hardware.h"
#include "tests/place.h"
#include "tests/plan/hardware/toy.h"
#include "tests/test.h"

namespace orch::hardware {
namespace {

// Two folders and a gpus.yaml, removed at the end.
struct Folders : TestFolder {
  Folders() {
    fs::create_directories(root() / "mine");
    fs::create_directories(root() / "shipped");
    file("gpus.yaml", toy::kGpus);
  }
  Catalog catalog() const {
    return Catalog({root() / "mine", root() / "shipped"}, {root() / "gpus.yaml"});
  }
};

TEST_CASE("the first folder with a cluster wins", "[hardware]") {
  const Folders folders;
  folders.file("shipped/toy.yaml", toy::kCluster);
  folders.file("mine/toy.yaml", toy::replaced(toy::kCluster, "doc: a toy", "doc: my toy"));
  auto catalog = folders.catalog();
  const auto found = catalog.find("toy");
  REQUIRE(found);
  CHECK((*found)->doc == "my toy");
  CHECK((*found)->file == (folders.root() / "mine/toy.yaml").string());
}

TEST_CASE("a cluster is read once", "[hardware]") {
  const Folders folders;
  folders.file("shipped/toy.yaml", toy::kCluster);
  auto catalog = folders.catalog();
  const auto first = catalog.find("toy");
  REQUIRE(first);
  fs::remove_all(folders.root());
  const auto second = catalog.find("toy");
  REQUIRE(second);
  CHECK(first->get() == second->get());
}

TEST_CASE("nothing is read before it is asked for", "[hardware]") {
  Catalog catalog({"/nonexistent/clusters"}, {"/nonexistent/gpus.yaml"});
  CHECK(catalog.names().empty());
  const auto found = catalog.find("toy");
  REQUIRE_FALSE(found);
  CHECK_THAT(text(found.error()), ContainsSubstring("no .yaml files in /nonexistent/clusters"));
}

TEST_CASE("an unknown cluster gets a guess and the list", "[hardware]") {
  const Folders folders;
  folders.file("shipped/jean-zay.yaml", "");
  folders.file("mine/toy.yaml", toy::kCluster);
  folders.file("mine/notes.txt", "");
  auto catalog = folders.catalog();
  CHECK(catalog.names() == std::vector<std::string>{"jean-zay", "toy"});
  CHECK_THAT(text(catalog.find("jeanzay").error()),
             StartsWith("no cluster is called 'jeanzay'\n  did you mean 'jean-zay'? there are: "
                        "jean-zay, toy (in "));
  CHECK_THAT(text(catalog.find("qqq").error()), ContainsSubstring("there are: jean-zay, toy"));
}

TEST_CASE("spreads are assumed until a file gives them", "[hardware]") {
  const auto plain = toy::cluster(toy::kCluster);
  REQUIRE(plain);
  CHECK(plain->partitions[0].efficiency.time_spread.value == 0.15);
  CHECK(plain->partitions[0].efficiency.memory_spread.value == 0.10);
  CHECK_THAT(plain->partitions[0].efficiency.time_spread.origin, StartsWith("assumed: "));
  const auto own = toy::cluster(toy::replaced(toy::kCluster, "    slurm:",
                                              "    efficiency: { time_spread: { value: 0.03, "
                                              "origin: \"fitted: 127 rows\" } }\n    slurm:"));
  REQUIRE(own);
  CHECK(own->partitions[0].efficiency.time_spread.value == 0.03);
  CHECK(own->partitions[0].efficiency.memory_spread.value == 0.10);
  const auto wide = toy::cluster(toy::replaced(
      toy::kCluster,
      "    slurm:", "    efficiency: { time_spread: { value: 15, origin: percent } }\n    slurm:"));
  CHECK_THAT(text(wide.error()), ContainsSubstring("15 is out of range"));
}

TEST_CASE("a name cannot lead out of the folders", "[hardware]") {
  const Folders folders;
  folders.file("toy.yaml", toy::kCluster);
  auto catalog = folders.catalog();
  for (const auto* name : {"../toy", "", ".", "/etc/passwd", "a/b", "toy\n"})
    CHECK_FALSE(catalog.find(name));
}

TEST_CASE("files that cannot be read are errors with a path", "[hardware]") {
  const Folders folders;
  fs::create_directories(folders.root() / "mine/dir.yaml");
  folders.file("mine/big.yaml", std::string(5 << 20, '#'));
  folders.file("mine/toy.yaml", toy::kCluster);
  auto catalog = folders.catalog();
  CHECK_THAT(text(catalog.find("dir").error()), ContainsSubstring("dir.yaml: is not a file"));
  CHECK_THAT(text(catalog.find("big").error()), ContainsSubstring("bytes are too many"));
  fs::remove(folders.root() / "gpus.yaml");
  auto fresh = folders.catalog();
  CHECK_THAT(text(fresh.find("toy").error()), ContainsSubstring("gpus.yaml: cannot open"));
}

}  // namespace
}  // namespace orch::hardware
