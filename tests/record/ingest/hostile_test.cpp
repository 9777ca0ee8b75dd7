#include <sys/resource.h>
#include <sys/stat.h>

#include <thread>

#include "tests/record/ingest/logs.h"
#include "tests/test.h"

namespace orch::ingest {
namespace {

long peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

std::vector<std::string> all_cases() {
  std::vector<std::string> texts;
  for (const auto& entry :
       fs::directory_iterator(fs::path(ORCH_SOURCE_DIR) / "tests/record/ingest/cases"))
    texts.push_back(log_of_case(entry.path()));
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace

TEST_CASE("files that are no logs are passed over with the reason", "[ingest][hostile]") {
  const LogFolder folder;
  const auto patterns = shipped();
  std::string binary(
      "\x7f"
      "ELF");
  for (int i = 0; i < 5000; ++i) binary += static_cast<char>(i * 37 % 256);
  folder.write("a/empty.out", "");
  folder.write("a/binary.out", binary);
  folder.write("b/story.txt", "Once upon a time there was an iteration.\n");
  folder.write("b/job.out", iteration(1, 10, 1000, 2) + iteration(2, 10, 1000, 2));
  folder.write("b/job.out.gz", "\x1f\x8b\x08\x01\x02");
  folder.write("b/config.json", "{}");
  folder.write(".hidden/job.out", iteration(1, 10, 1000, 2));
  const auto found = ingest({folder.path().string()}, patterns);
  REQUIRE(found.has_value());
  REQUIRE(found->runs.size() == 1);
  CHECK(found->runs[0].id == "job.out");
  std::vector<std::string> reasons;
  for (const auto& passed : found->passed)
    reasons.push_back(fs::path(passed.file).filename().string() + ": " + passed.reason);
  REQUIRE(reasons.size() == 5);
  CHECK(reasons[0].ends_with(
      ": 1 file not read because of its ending (1 .json); name one to read it"));
  CHECK(reasons[1] == "binary.out: binary");
  CHECK(reasons[2] == "empty.out: empty");
  CHECK(reasons[3].starts_with("job.out.gz: compressed (gzip)"));
  CHECK(reasons[4] == "story.txt: no line of a known framework");
}

TEST_CASE("a file of a folder that cannot be read stops nothing", "[ingest][hostile]") {
  const LogFolder folder;
  folder.write("job.out", iteration(1, 10, 1000, 2));
  // This file can be opened, but reading it fails for every user.
  const auto odd = folder.path() / "memory.out";
  fs::create_symlink("/proc/self/mem", odd);
  const auto found = ingest({folder.path().string()}, shipped());
  REQUIRE(found.has_value());
  CHECK(found->runs.size() == 1);
  REQUIRE(found->passed.size() == 1);
  CHECK(found->passed[0].file == odd.string());
  CHECK_FALSE(ingest({odd.string()}, shipped()).has_value());
}

TEST_CASE("what may not be read is passed over", "[ingest][hostile]") {
  constexpr uid_t kNobody = 65534;
  const LogFolder folder;
  folder.write("job.out", iteration(1, 10, 1000, 2));
  const auto file = folder.write("a/other.out", iteration(1, 10, 1000, 2));
  const auto below = folder.write("b/other.out", iteration(1, 10, 1000, 2)).parent_path();
  fs::permissions(file, fs::perms::none);
  fs::permissions(below, fs::perms::none);
  const auto patterns = shipped();
  const auto self = ::geteuid();
  if (self == 0) REQUIRE(::seteuid(kNobody) == 0);  // root can read every file
  const auto found = ingest({folder.path().string()}, patterns);
  REQUIRE(::seteuid(self) == 0);
  fs::permissions(below, fs::perms::owner_all);
  REQUIRE(found.has_value());
  CHECK(found->runs.size() == 1);
  REQUIRE(found->passed.size() == 2);
  CHECK(found->passed[0].file == below.string());
  CHECK(found->passed[1].file == file.string());
  CHECK(found->passed[1].reason.starts_with("cannot open: "));
}

TEST_CASE("the log of a pipe at its end is not running", "[ingest][hostile]") {
  const LogFolder folder;
  const auto pipe = (folder.path() / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(pipe) << iteration(1, 10, 1000, 2); });
  const auto found = ingest({pipe}, shipped());
  writer.join();
  REQUIRE(found->runs.size() == 1);
  CHECK(found->runs[0].state == record::RunState::stopped);
}

TEST_CASE("a path that is not there is an error, all of them at once", "[ingest][hostile]") {
  const auto found = ingest({"/nowhere/one", "/nowhere/two"}, shipped());
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().size() == 2);
}

TEST_CASE("two logs of one name are told apart by their paths", "[ingest][hostile]") {
  const LogFolder folder;
  const auto one = folder.write("a/job.out", iteration(1, 10, 1000, 2)).string();
  const auto two = folder.write("b/job.out", iteration(1, 10, 2000, 2)).string();
  const auto found = ingest({one, two}, shipped());
  REQUIRE(found->runs.size() == 2);
  CHECK(found->runs[0].id == one);
  CHECK(found->runs[1].id == two);
}

TEST_CASE("an interrupt ends the reading", "[ingest][hostile]") {
  const LogFolder folder;
  const auto log = folder.write("log", iteration(1, 10, 1000, 2)).string();
  const auto found = ingest({log}, shipped(), {.set = {}, .interrupted = [] { return true; }});
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().front().fact == "interrupted");
}

TEST_CASE("words of a hostile log do not move the cursor", "[ingest][hostile]") {
  const auto found = read_text("  optimizer ....................... <script>alert(1)</script>\n" +
                               iteration(1, 10, 1000, 2) +
                               "CUDA out of memory \x9b"
                               "2J \x01\x02 <b>\n");
  REQUIRE(found.runs.size() == 1);
  const auto& reason = found.runs[0].reason;
  CHECK(std::none_of(reason.begin(), reason.end(), [](char c) { return c > 0 && c < 0x20; }));
  CHECK(reason.find("\\x9b2J \\x01\\x02") != std::string::npos);
}

TEST_CASE("absurd numbers are no layout", "[ingest][hostile]") {
  const auto found = read_text(
      "using world size: 99999999999999999999, data-parallel-size: 0, tensor-model-parallel size: "
      "999999999, pipeline-model-parallel size: 999999999 \n"
      "  micro_batch_size ................ -4\n  num_layers ...................... 1e400\n" +
      iteration(1, 10, 1000, 2) + iteration(2, 10, -5, 2) + iteration(3, 10, 1e300, 2));
  REQUIRE(found.runs.size() == 1);
  CHECK_FALSE(found.runs[0].whole("gpus"));
  CHECK_FALSE(found.runs[0].whole("micro_batch"));
  CHECK_FALSE(found.runs[0].whole("layers"));
}

TEST_CASE("cut and flipped logs never crash, and their numbers stay finite", "[ingest][hostile]") {
  const auto texts = all_cases();
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    auto text = texts[random() % texts.size()];
    text = text.substr(0, random() % (text.size() + 1));
    for (int i = 0; i < 40 && !text.empty(); ++i) {
      const auto at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, random() % 50);
          break;
        case 2:
          text.insert(at, "\n");
          break;
        default: {
          const auto from = random() % text.size();
          text.insert(at, text.substr(from, random() % 200));
        }
      }
    }
    for (const auto& run : read_text(text).runs) {
      const auto& measured = run.measured;
      if (measured.step_seconds) CHECK(measured.step_seconds->value > 0);
      for (const auto& point : measured.losses) REQUIRE(std::isfinite(point.loss));
      CHECK(measured.steps >= 0);
    }
  }
}

TEST_CASE("a value that was cut is never taken for a whole one", "[ingest][hostile]") {
  const std::string line = iteration(2, 10, 54321.5, 7.654321);
  const std::string before = iteration(1, 10, 1000, 2);
  for (std::size_t cut = 1; cut + 1 < line.size(); ++cut) {
    // Behind the cut is the end of the file, another record, or the rest of the record.
    const auto ended = read_text(before + line.substr(0, cut));
    const auto other =
        read_text(before + line.substr(0, cut) + "\n" + iteration(3, 10, 54321.5, 2));
    const auto whole = read_text(before + line.substr(0, cut) + "\n" + line.substr(cut));
    INFO(line.substr(0, cut));
    for (const auto* found : {&ended, &other, &whole}) {
      REQUIRE(found->runs.size() == 1);
      for (const auto& point : found->runs[0].measured.losses)
        CHECK((point.loss == 2 || point.loss == 7.654321));
      const double seconds = found->runs[0].measured.step_seconds->value;
      CHECK((seconds == 1.0 || seconds == 54.3215));
      CHECK(found->runs[0].whole("global_batch") == 64);
    }
  }
}

TEST_CASE("memory does not grow with the number of steps", "[ingest][hostile]") {
  const LogFolder folder;
  const auto patterns = shipped();
  const auto write = [&](const std::string& name, long steps) {
    std::ofstream file(folder.path() / name);
    for (long i = 1; i <= steps; ++i)
      file << iteration(i, steps, 1000.0 + static_cast<double>(i % 10), 2);
    return (folder.path() / name).string();
  };
  const auto small = write("small", 100'000), large = write("large", 600'000);
  REQUIRE(ingest({small}, patterns).has_value());
  const auto before = peak_kilobytes();
  const auto found = ingest({large}, patterns);
  // Keeping all steps would take 14 MB.
  CHECK(peak_kilobytes() - before < 8192);
  REQUIRE(found->runs.size() == 1);
  CHECK(found->runs[0].measured.steps == 600'000);
  CHECK(found->runs[0].measured.window.rule.find("every 16th was kept") != std::string::npos);
}

TEST_CASE("thousands of starts in one log do not fill the memory", "[ingest][hostile]") {
  std::string text;
  for (int i = 1; i <= 3000; ++i)
    text += "using world size: " + std::to_string(i) +
            ", data-parallel-size: " + std::to_string(i) +
            ", tensor-model-parallel size: 1, pipeline-model-parallel size: 1 \n" +
            iteration(1, 10, 1000, 2);
  const auto found = read_text(text);
  CHECK(found.runs.size() == 1000);
  REQUIRE(found.passed.size() == 1);
  CHECK(found.passed[0].reason.starts_with("2000 more runs"));
}

}  // namespace orch::ingest
