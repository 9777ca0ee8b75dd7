#include "core/base/room.h"

#include "tests/place.h"
#include "tests/test.h"

using namespace orch;

namespace {

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("host memory ends at the tightest of the machine and its control groups", "[base]") {
  const TestFolder folder;
  const auto root = folder.root();
  put(root / "proc/meminfo", "MemTotal:  2000 kB\nMemAvailable:   1000 kB\n");
  CHECK(host_room(root).bytes == 1024000);
  CHECK(host_room(root).bound == "MemAvailable");
  put(root / "proc/self/cgroup", "0::/job/step\n");
  const auto groups = root / "sys/fs/cgroup";
  put(groups / "job/memory.max", "900000\n");
  put(groups / "job/memory.current", "500000\n");
  put(groups / "job/memory.stat", "anon 7\ninactive_file 60000\nactive_file 40000\n");
  put(groups / "job/step/memory.max", "max\n");
  put(groups / "job/step/memory.current", "500000\n");
  CHECK(host_room(root).bytes == 500000);
  CHECK(host_room(root).bound == "memory.max of /job");
  put(groups / "memory.max", "400000\n");
  put(groups / "memory.current", "600000\n");
  CHECK(host_room(root).bytes == 1);  // 0 would mean unknown
  CHECK(host_room(root).bound == "memory.max of /");
}

TEST_CASE("control groups of the first version bound it too", "[base]") {
  const TestFolder folder;
  const auto root = folder.root();
  put(root / "proc/self/cgroup", "8:cpu:/x\n7:memory:/slurm/job:7\n");
  put(root / "sys/fs/cgroup/memory/slurm/job:7/memory.limit_in_bytes", "1000\n");
  put(root / "sys/fs/cgroup/memory/slurm/job:7/memory.usage_in_bytes", "300\n");
  put(root / "sys/fs/cgroup/memory/slurm/job:7/memory.stat",
      "inactive_file 1\ntotal_inactive_file 50\n");
  CHECK(host_room(root).bytes == 750);
  CHECK(host_room(root).bound == "memory.limit_in_bytes of /slurm/job:7");
}
