// Ranks as processes; kill -9 at random times; full disks.
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <thread>

#include "tests/place.h"
#include "tests/test.h"
#include "tests/train/checkpoint/made.h"

using namespace made;
using checkpoint::WriteOptions;

namespace {

constexpr std::int64_t kElements = 60'000;
constexpr int kRanks = 2;

// A rank's half of a tensor with the step in every element.
SavedState half(std::int64_t step, int rank) {
  auto piece = range(TensorPiece::whole("w", TensorDtype::f32, {kElements}),
                     rank * kElements / kRanks, (rank + 1) * kElements / kRanks);
  const std::vector<float> values(kElements / kRanks, static_cast<float>(step));
  return {{{piece, bytes(values)}}};
}

WriteOptions options_of(int rank, const std::string& attempt) {
  WriteOptions options;
  options.rank = rank;
  options.attempt = attempt;
  options.wait_seconds = 60;
  return options;
}

// Writes step after step until it is killed; rank 0 reports each complete one.
int write_on(const fs::path& folder, std::int64_t step, int rank, const std::string& attempt,
             int tell) {
  for (;; ++step) {
    if (!checkpoint::write(folder, at_step(step, kRanks), half(step, rank),
                           options_of(rank, attempt)))
      return 1;
    if (rank == 0 && ::write(tell, &step, sizeof step) != sizeof step) return 2;
  }
}

std::int64_t last_told(int pipe, std::int64_t last) {
  std::int64_t step = 0;
  while (::read(pipe, &step, sizeof step) == sizeof step) last = step;
  return last;
}

void kill_all(const std::vector<pid_t>& ranks) {
  for (const auto rank : ranks) ::kill(rank, SIGKILL);
  for (const auto rank : ranks) exit_of(rank);
}

// A disk of one megabyte.
struct Mounted {
  explicit Mounted(const fs::path& path)
      : at(path), done(::mount("orch-test", at.c_str(), "tmpfs", 0, "size=1m") == 0) {}
  ~Mounted() {
    if (done) ::umount(at.c_str());
  }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  fs::path at;
  bool done;
};

bool holds_its_step(const checkpoint::CheckpointReader& reader) {
  const auto all = read(reader, TensorPiece::whole("w", TensorDtype::f32, {kElements}));
  return all == std::vector<float>(static_cast<std::size_t>(kElements),
                                   static_cast<float>(reader.facts().step));
}

}  // namespace

TEST_CASE("ranks that write at the same time make one checkpoint", "[checkpoint]") {
  const TestFolder place;
  std::vector<pid_t> children;
  for (int rank = 0; rank < 4; ++rank)
    children.push_back(in_process([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * ((rank + 2) % 4)));
      auto piece =
          range(TensorPiece::whole("w", TensorDtype::f32, {40, 10}), rank * 100, rank * 100 + 100);
      return checkpoint::write(place.root(), at_step(1, 4), {{saved(piece)}}, options_of(rank, "a"))
                 ? 0
                 : 1;
    }));
  for (const auto child : children) CHECK(exit_of(child) == 0);
  const auto latest = checkpoint::open_latest(place.root());
  REQUIRE(latest.reader);
  const auto whole = TensorPiece::whole("w", TensorDtype::f32, {40, 10});
  CHECK(read(*latest.reader, whole) == counted(whole, 0));
  CHECK(std::distance(fs::directory_iterator(latest.path), {}) == 5);  // and no rank-k.json
}

TEST_CASE("kill -9 at any moment leaves every complete checkpoint sound", "[checkpoint]") {
  const TestFolder place;
  std::mt19937 random(11);
  std::int64_t complete = 0;
  for (int round = 0; round < 30; ++round) {
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < kRanks; ++rank)
      ranks.push_back(in_process([&] {
        return write_on(place.root(), complete + 1, rank, "attempt" + std::to_string(round),
                        pipe[1]);
      }));
    ::close(pipe[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + random() % 50'000));
    kill_all(ranks);
    complete = last_told(pipe[0], complete);
    ::close(pipe[0]);

    const auto latest = checkpoint::open_latest(place.root());
    REQUIRE(latest.skipped.empty());  // no folder with a final name is incomplete
    if (!latest.reader) {
      REQUIRE(complete == 0);
      continue;
    }
    // It may have become complete just before that could be reported.
    REQUIRE(latest.reader->facts().step >= complete);
    REQUIRE(latest.reader->facts().step <= complete + 1);
    REQUIRE(holds_its_step(*latest.reader));
    complete = latest.reader->facts().step;
  }
  REQUIRE(complete > 0);
  // The next complete one removes everything that was left.
  REQUIRE(write_all(place.root(), at_step(complete + 1),
                    {half(complete + 1, 0), half(complete + 1, 1)}, "last"));
  CHECK(std::distance(fs::directory_iterator(place.root()), {}) == 2);
}

TEST_CASE("a rank that cannot write tells rank 0, which leaves nothing behind", "[checkpoint]") {
  const TestFolder place;
  REQUIRE(write_all(place.root(), at_step(1), {half(1, 0), half(1, 1)}));
  const auto child = in_process([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{8192, 8192};
    ::setrlimit(RLIMIT_FSIZE, &small);
    return checkpoint::write(place.root(), at_step(2, 2), half(2, 1), options_of(1, "b")) ? 1 : 0;
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto status =
      checkpoint::write(place.root(), at_step(2, 2), half(2, 0), options_of(0, "b"));
  CHECK(exit_of(child) == 0);
  CHECK(std::chrono::steady_clock::now() - begin <
        std::chrono::seconds(20));  // not the full minute
  CHECK_THAT(text(status.error()), ContainsSubstring("rank-1 could not write its share"));
  CHECK_THAT(text(status.error()), ContainsSubstring("File too large"));
  CHECK(std::distance(fs::directory_iterator(place.root()), {}) == 1);
  CHECK(holds_its_step(*checkpoint::open_latest(place.root()).reader));
}

TEST_CASE("a full disk fails the new checkpoint and leaves the older one as it was",
          "[checkpoint]") {
  const TestFolder place;
  const Mounted disk(place.root());
  if (!disk.done) SKIP("this user may not mount");
  const auto small = simple(1, 100'000);  // 400 kB
  const auto large = simple(2, 200'000);  // 800 kB
  REQUIRE(checkpoint::write(place.root(), at_step(1), small, {}));
  for (int i = 0; i < 3; ++i) {
    const auto status = checkpoint::write(place.root(), at_step(2), large, {});
    CHECK_THAT(text(status.error()), ContainsSubstring("No space left on device"));
    CHECK_THAT(text(status.error()), ContainsSubstring("free some space"));
    CHECK(std::distance(fs::directory_iterator(place.root()), {}) == 1);
    CHECK(checkpoint::open_latest(place.root()).reader->facts().step == 1);
  }
  REQUIRE(checkpoint::write(place.root(), at_step(3), small, {}));
}
