// The state of a checkpoint after a loss of power: the synced files, found by counting the calls.
#include <sys/stat.h>
#include <sys/syscall.h>

#include <mutex>

#include "tests/place.h"
#include "tests/test.h"
#include "tests/train/checkpoint/made.h"

using namespace made;

namespace {

// By inode, which renaming does not change; in order.
std::mutex sync_lock;
std::vector<ino_t> all_synced;

ino_t inode_of(const fs::path& path) {
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  return facts.st_ino;
}

// The index of its last sync among all; 0: none.
std::ptrdiff_t synced_at(const fs::path& path) {
  const std::lock_guard guard(sync_lock);
  const auto last = std::find(all_synced.rbegin(), all_synced.rend(), inode_of(path));
  return all_synced.rend() - last;
}

}  // namespace

// Replaces the C library's function, for all of this program.
extern "C" int fsync(int file) {
  struct stat facts {};
  if (::fstat(file, &facts) == 0) {
    const std::lock_guard guard(sync_lock);
    all_synced.push_back(facts.st_ino);
  }
  return static_cast<int>(::syscall(SYS_fsync, file));
}

TEST_CASE("all of a checkpoint is on the disk before it has its name, then the name",
          "[checkpoint]") {
  const TestFolder place;
  all_synced.clear();
  REQUIRE(write_all(place.root(), at_step(1), {simple(1), {}}));
  const auto made = place.root() / "step-00000001";
  const auto facts = synced_at(made / "checkpoint.json"), folder = synced_at(made),
             above = synced_at(place.root());
  for (const auto* shard : {"rank-0.safetensors", "rank-1.safetensors"}) {
    INFO(shard);
    CHECK(synced_at(made / shard) > 0);
    CHECK(synced_at(made / shard) < facts);
  }
  CHECK(facts < folder);
  CHECK(folder < above);
}
