// Random layouts: each trains a few steps, compared with one process, saves, is loaded in another
// random layout, and both are exported (drawn_case.cpp). Case K follows from the seed and K alone,
// so that it can be repeated.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include "tests/trainers/drawn_case.h"

namespace orch::test {
namespace {

struct RandomOptions {
  std::uint64_t seed = 1;
  int layouts = 100;
  std::optional<int> only;
  int jobs = 2;
};

// A feature in the summary: in how many cases at least one layout has it.
struct Feature {
  const char* name;
  const char* text;  // of an experiment file
};
constexpr std::array kFeatures{Feature{"interleave", "interleave = "},
                               Feature{"stage_layers", "stage_layers = "},
                               Feature{"stage_partition", "stage_partition = "},
                               Feature{"fill_bubbles", "fill_bubbles = true"},
                               Feature{"sequence_parallel", "sequence_parallel = true"},
                               Feature{"ZeRO-1", "stage = 1"},
                               Feature{"ZeRO-2", "stage = 2"},
                               Feature{"zero3", "zero3"},
                               Feature{"fsdp", "fsdp"},
                               Feature{"hybrid", "hybrid"},
                               Feature{"recompute", "recompute = \"full"},
                               Feature{"selective", "recompute = \"selective"},
                               Feature{"optimizer on the host", "offload = \"optimizer"},
                               Feature{"all on the host", "offload = \"full"},
                               Feature{"dropout", "dropout = 0.1"},
                               Feature{"adafactor", "adafactor"},
                               Feature{"bf16", "bf16"},
                               Feature{"fp16", "fp16"}};

// The result of a case, sent from the process that runs it to the one that counts.
struct RandomReport {
  DrawnOutcome outcome;
  bool is_exact = false, failed = false;
  std::array<bool, kFeatures.size()> has = {};
};

RandomReport try_case(Planner& planner, const RandomOptions& options, int number) {
  const auto began = std::chrono::steady_clock::now();
  DrawnCase one(planner, options.seed, number);
  RandomReport report;
  std::string line, why;
  try {
    one.run();
    const auto& [drawn, refused, exported, single, resumed] = one.outcome();
    line = fmt::format("{:.0e} {:.0e} {:.0e}  {:.0e} {:.0e} {:.0e}  {:<8}", single.loss,
                       single.weights, single.states, resumed.loss, resumed.weights, resumed.states,
                       exported ? "exported" : "");
  } catch (const std::exception& error) {
    report.failed = true;
    line = "FAILED";
    why = fmt::format("  {}\n  tests/trainers/random --seed {} --only {}\n{}", error.what(),
                      options.seed, number, one.files());
  }
  report.outcome = one.outcome();
  report.is_exact = one.is_exact();
  for (std::size_t i = 0; i < kFeatures.size(); ++i)
    report.has[i] = one.files().find(kFeatures[i].text) != std::string::npos;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto text =
      fmt::format("{:>4} {} {} {:.1f} s\n{}", number, one.row(), line, took.count(), why);
  (void)!::write(1, text.data(), text.size());  // one write: others write too
  return report;
}

// Cases job + 1, job + 1 + jobs, ...
void try_share(const RandomOptions& options, int job, int reports_to) {
  Planner planner;
  for (int number = 1 + job; number <= options.layouts; number += options.jobs) {
    const auto report = try_case(planner, options, number);
    if (::write(reports_to, &report, sizeof report) != sizeof report) return;
  }
}

std::vector<RandomReport> try_all(const RandomOptions& options) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::vector<pid_t> children;
  for (int job = 0; job < options.jobs; ++job) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    try_share(options, job, ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::vector<RandomReport> reports;
  for (RandomReport report; ::read(ends[0], &report, sizeof report) == sizeof report;)
    reports.push_back(report);
  for (const auto child : children) ::waitpid(child, nullptr, 0);
  return reports;
}

int summarize(const RandomOptions& options, const std::vector<RandomReport>& reports,
              double seconds) {
  int drawn = 0, refused = 0, exported = 0, failed = 0;
  double single = 0, resumed = 0;
  std::array<int, kFeatures.size()> counts = {};
  for (const auto& [outcome, is_exact, has_failed, has] : reports) {
    for (std::size_t i = 0; i < has.size(); ++i) counts[i] += has[i] ? 1 : 0;
    drawn += outcome.drawn, refused += outcome.refused;
    exported += outcome.is_exported ? 1 : 0, failed += has_failed ? 1 : 0;
    if (!is_exact || has_failed) continue;
    single = std::max(single, outcome.single.loss),
    resumed = std::max(resumed, outcome.resumed.loss);
  }
  fmt::print(
      "seed {}: {} of {} cases failed; {} exported; {} of {} drawn layouts refused; losses in fp32 "
      "within {:.0e} of "
      "one process, {:.0e} after loading; {:.0f} s\n",
      options.seed, failed, reports.size(), exported, refused, drawn, single, resumed, seconds);
  for (std::size_t i = 0; i < counts.size(); ++i)
    fmt::print("{}{} {}", i == 0 ? "cases with " : ", ", kFeatures[i].name, counts[i]);
  fmt::print("\n");
  const auto asked = options.only ? 1 : options.layouts;
  if (static_cast<int>(reports.size()) != asked)
    fmt::print("{} cases were asked for: a process has died\n", asked);
  else if (refused > 3 * drawn / 4)
    fmt::print(
        "too many layouts are refused: draw.cpp draws what orch cannot do, or orch refuses what it "
        "could\n");
  else
    return failed > 0 ? 1 : 0;
  return 1;
}

std::optional<RandomOptions> parse(int argc, char** argv) {
  RandomOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (++i == argc) return std::nullopt;
    const auto number = std::atoll(argv[i]);
    if (number < 1) return std::nullopt;
    if (name == "--seed")
      options.seed = static_cast<std::uint64_t>(number);
    else if (name == "--layouts")
      options.layouts = static_cast<int>(number);
    else if (name == "--only")
      options.only = static_cast<int>(number);
    else if (name == "--jobs")
      options.jobs = static_cast<int>(number);
    else
      return std::nullopt;
  }
  return options;
}

int run(const RandomOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  fmt::print(
      "case family      dtype optimizer first layout (tensor x pipeline x data) and the one that "
      "loads; losses, "
      "weights and states\n     against one process, then those after loading against none\n");
  std::fflush(stdout);
  std::vector<RandomReport> reports;
  if (options.only) {
    Planner planner;
    reports.push_back(try_case(planner, options, *options.only));
  } else {
    reports = try_all(options);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  return summarize(options, reports, took.count());
}

}  // namespace
}  // namespace orch::test

int main(int argc, char** argv) {
  const auto options = orch::test::parse(argc, argv);
  if (options) return orch::test::run(*options);
  fmt::print(stderr, "usage: {} [--seed N] [--layouts 100] [--only CASE] [--jobs 2]\n", argv[0]);
  return 2;
}
